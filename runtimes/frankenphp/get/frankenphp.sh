# Builds FrankenPHP from its Go library, with a thread-safe PHP from the source of this machine's
# PHP package. Creates $OUT/frankenphp and, beside it, the extensions that are shared there too.
#
# $PHP is the PHP that other runtimes run; $GO is Go. The system is not changed: apt uses separate
# package lists.
export LC_ALL=C

fail() {
    echo "$*" >&2
    exit 1
}

here=$PWD
jobs=$(nproc)
minor=$("$PHP" -n -r 'echo PHP_MAJOR_VERSION . "." . PHP_MINOR_VERSION;')
"$PHP" -n -r 'exit(PHP_VERSION_ID >= 80200 ? 0 : 1);' ||
    fail "FrankenPHP needs PHP 8.2 or newer, and this machine's is $minor"

# --- the source of that PHP ---------------------------------------------------------------------

owner=$(dpkg-query -S "$(readlink -f "$PHP")" 2>/dev/null | head -n 1 | cut -d: -f1) ||
    fail "$PHP belongs to no Debian package, so its source is not known"
package=$(dpkg-query -W -f '${source:Package}' "$owner")
wanted=$(dpkg-query -W -f '${source:Version}' "$owner")

# The sources of every repository that packages come from.
mkdir -p apt/parts apt/lists/partial apt/cache/archives/partial
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [[ -f $list ]] || continue
    sed -nE 's/^[[:space:]]*deb[[:space:]]/deb-src /p' "$list" >>apt/parts/sources.list
done
for list in /etc/apt/sources.list.d/*.sources; do
    [[ -f $list ]] || continue
    sed -E 's/^[Tt]ypes:.*/Types: deb-src/' "$list" >"apt/parts/${list##*/}"
done

apt_with() {
    local program=$1
    shift
    "$program" -qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$here/apt/parts" \
        -o "Dir::State::lists=$here/apt/lists" -o "Dir::Cache=$here/apt/cache" \
        -o APT::Sandbox::User="$(id -un)" "$@"
}

known_versions() {
    apt_with apt-cache showsrc --only-source "$package" 2>/dev/null |
        sed -n 's/^Version: //p' | sort -rVu
}

# The exact version comes first: with another one, the comparison reports a different PHP. A
# repository may list versions that it does not have.
fetch() {
    for version in "$wanted" $(known_versions | grep -vxF "$wanted"); do
        if apt_with apt-get source --download-only --only-source "$package=$version" >&2; then
            [[ $version == "$wanted" ]] || echo "warning: there is no source of $package $wanted here; $version is built, and comparisons will say that it is another PHP" >&2
            return
        fi
    done
    fail "no source of $package could be had from this machine's package repositories"
}

echo "getting the source of $package $wanted" >&2
# A repository without sources fails here, but is not needed.
apt_with apt-get update >&2 || true
fetch
dpkg-source --no-check -x "${package}_${version#*:}.dsc" php >/dev/null

# --- PHP, thread-safe, as a static library ------------------------------------------------------

# Debian's flags, without debugging symbols.
flags() {
    DEB_BUILD_MAINT_OPTIONS="hardening=+all optimize=-lto" dpkg-buildflags --get "$1" |
        sed -E 's/(^| )-g( |$)/ /; s|-ffile-prefix-map=[^ ]*||'
}

# Extensions are built in or shared as in Debian. If a library is missing here, its extensions are
# left out.
configuration() {
    printf '%s\n' --prefix=/usr --libdir=/usr/lib/php "--datadir=/usr/share/php/$minor" \
        --sysconfdir=/etc --localstatedir=/var "--with-config-file-path=/etc/php/$minor/embed" \
        --disable-all --disable-debug --disable-rpath --with-pic --with-layout=GNU --without-pear \
        --disable-cli --disable-cgi --disable-phpdbg \
        --enable-embed=static --enable-zts --disable-zend-signals --enable-zend-max-execution-timers \
        --enable-filter --with-openssl --with-password-argon2=/usr --with-external-pcre \
        --with-mhash=/usr --with-libxml --enable-session --with-sodium --with-zlib
    grep -q with-system-tzdata configure && echo --with-system-tzdata
    local name
    for name in calendar ctype dom exif fileinfo ftp mbstring mysqlnd opcache pdo phar posix shmop \
        simplexml sockets sysvmsg sysvsem sysvshm tokenizer xml xmlreader xmlwriter; do
        echo "--enable-$name=shared"
    done
    printf '%s\n' --with-gettext=shared --with-iconv=shared --with-mysqli=shared \
        --with-pdo-mysql=shared --with-ffi=shared
    pkg-config --exists libcurl && echo --with-curl=shared
    pkg-config --exists libzip && echo --with-zip=shared
    pkg-config --exists sqlite3 && printf '%s\n' --with-sqlite3=shared --with-pdo-sqlite=shared
    pkg-config --exists libpq && printf '%s\n' --with-pgsql=shared --with-pdo-pgsql=shared
    pkg-config --exists icu-i18n && echo --enable-intl=shared
    return 0
}

echo "building PHP $minor, thread-safe" >&2
# Runs a step in PHP's directory, and shows its last lines if it fails.
step() {
    (cd php && "$@") >php.log 2>&1 || {
        tail -n 20 php.log >&2
        fail "PHP could not be built: $1 failed"
    }
}

step ./buildconf --force
mapfile -t options < <(cd php && configuration)
CFLAGS="$(flags CFLAGS) -fsigned-char -fno-strict-aliasing -DOPENSSL_SUPPRESS_DEPRECATED"
CXXFLAGS=$(flags CXXFLAGS)
CPPFLAGS=$(flags CPPFLAGS)
LDFLAGS="$(flags LDFLAGS) -Wl,--as-needed"
export CFLAGS CXXFLAGS CPPFLAGS LDFLAGS PROG_SENDMAIL=/usr/sbin/sendmail
step ./configure "${options[@]}"
unset CFLAGS CXXFLAGS CPPFLAGS LDFLAGS
step make -j"$jobs"

# --- FrankenPHP ---------------------------------------------------------------------------------

# Lists the libraries that libphp.a needs, from PHP's own Makefile.
libraries() {
    sed -nE 's/^(EXTRA_LIBS|PHP_LDFLAGS|EXTRA_LDFLAGS_PROGRAM) = //p' php/Makefile | tr '\n' ' '
}

echo "building FrankenPHP" >&2
# Links all of libphp and exports all of it: extensions that are loaded later use symbols that
# FrankenPHP does not. This happens once. FrankenPHP's own `-lphp`, which comes with each of its
# packages, finds an empty library.
mkdir empty
ar rc empty/libphp.a
whole="-Wl,--export-dynamic -Wl,--whole-archive $here/php/libs/libphp.a -Wl,--no-whole-archive"
export CGO_ENABLED=1 CGO_LDFLAGS=-L$here/empty GOFLAGS=-mod=readonly GOWORK=off
export CGO_CFLAGS="-O2 -I$here/php -I$here/php/main -I$here/php/Zend -I$here/php/TSRM"
"$GO" build -p "$jobs" -trimpath -tags nowatcher -o "$OUT/frankenphp" \
    -ldflags "-s -w -linkmode external -extldflags '$whole $(libraries)'" . ||
    fail "FrankenPHP could not be built; are Go's modules in reach?"

mkdir "$OUT/extensions"
for file in php/modules/*.so; do
    strip --strip-unneeded -o "$OUT/extensions/${file##*/}" "$file"
done
"$OUT/frankenphp" version || fail "the FrankenPHP that was built does not start"
