#!/bin/sh
# Installs stampede's static binary, its man page and its completions below a prefix.
#
#   sh install.sh FROM [--prefix DIR]      FROM: a directory or URL with the files of a release
#   sh install.sh --uninstall [--prefix DIR]
#
# The binary must have the SHA-256 sum in FROM/SHA256SUMS. The prefix is /usr/local if none is given.
set -eu; umask 022

fail() { printf 'error: %s\n' "$1" >&2; exit 1; }
get() { # copies a file of the release into the working directory
    case $from in
        http*://*) curl -fsSL -o "$work/$1" "$from/$1" 2>/dev/null || wget -qO "$work/$1" "$from/$1" ;;
        *) cp "$from/$1" "$work/$1" ;;
    esac || fail "cannot get \`$from/$1\`"
}
directory() { # makes a directory, and notes each one that is new
    [ -d "$1" ] || { directory "$(dirname "$1")"; mkdir "$1"; echo "$1/" >>"$work/list"; }
}
put() { # copies a file of the working directory below the prefix, and notes it
    directory "$(dirname "$prefix/$3")"
    echo "$prefix/$3" | tee -a "$work/list"
    install -m "$1" "$work/$2" "$prefix/$3"
}

prefix=/usr/local from='' remove=no
while [ $# -gt 0 ]; do
    case $1 in
        --prefix) [ $# -gt 1 ] || fail '--prefix needs a directory'; shift; prefix=${1%/} ;;
        --uninstall) remove=yes ;;
        -*) fail "there is no option $1" ;;
        *) from=${1%/} ;;
    esac
    shift
done
case $prefix in /* | '') ;; *) prefix=$PWD/$prefix ;; esac
list=$prefix/share/stampede/installed
if [ $remove = yes ]; then
    [ -f "$list" ] || fail "\`$list\` is missing: this script installed nothing there"
    LC_ALL=C sort -ru "$list" | while read -r path; do # what is in a directory goes before it
        case $path in */) rmdir "$path" 2>/dev/null || true ;; *) rm -f "$path" ;; esac
    done
    exit
fi
[ -n "$from" ] || fail 'from where? sh install.sh DIRECTORY-OR-URL'
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
get SHA256SUMS
name=$(sed -n "s/^[0-9a-f]*  \(stampede-[^ /]*-$(uname -m)-linux\)\$/\1/p" "$work/SHA256SUMS")
[ "$(echo "$name" | wc -w)" = 1 ] || fail "\`$from/SHA256SUMS\` names not one binary for $(uname -m)"
get "$name"
(cd "$work" && grep "  $name\$" SHA256SUMS | sha256sum -c - >&2) || fail "\`$name\` has another sum"
[ ! -f "$list" ] || cp "$list" "$work/list"
chmod 755 "$work/$name" && "$work/$name" man >"$work/man"
for shell in bash zsh fish; do "$work/$name" completions $shell >"$work/$shell"; done
put 755 "$name" bin/stampede
put 644 man share/man/man1/stampede.1
put 644 bash share/bash-completion/completions/stampede
put 644 zsh share/zsh/site-functions/_stampede
put 644 fish share/fish/vendor_completions.d/stampede.fish
put 644 list share/stampede/installed
