# Gets an extension's official archive from PECL, checks it and builds it for the runtimes' PHP.
# $PHP is that PHP; $CURL, $PHPIZE and $MAKE are tools. Creates $OUT/NAME.so.
#
# pecl NAME VERSION SUM OPTION...   SUM as sha256sum or sha512sum print it
pecl() {
    local name=$1 version=$2 sum=$3 from config digest=sha256sum
    shift 3
    from=https://pecl.php.net/get/$name-$version.tgz
    # phpize and php-config are a pair: phpize8.2 needs php-config8.2.
    config=${PHPIZE%phpize*}php-config${PHPIZE##*phpize}
    [[ -x $config ]] || fail "there is no $config beside $PHPIZE"
    same_php "$config"

    "$CURL" -fsSL --retry 2 --connect-timeout 15 -o archive.tgz "$from" ||
        fail "$from could not be had"
    ((${#sum} == 128)) && digest=sha512sum
    echo "$sum  archive.tgz" | "$digest" --check --status ||
        fail "$from is not what it was: its checksum is another"
    tar -xzf archive.tgz

    cd "$name-$version"
    quietly "$PHPIZE"
    CFLAGS=-O2 CXXFLAGS=-O2 quietly ./configure "--with-php-config=$config" "$@"
    quietly "$MAKE" "-j$(nproc)"
    cp "modules/$name.so" "$OUT/"
    "$PHP" -n -d "extension=$OUT/$name.so" -r "exit(extension_loaded('$name') ? 0 : 1);" ||
        fail "$name $version was built, but $PHP does not load it"
}

# An extension works with one minor version of PHP only.
same_php() {
    local wanted built
    wanted=$("$PHP" -n -r 'echo PHP_MAJOR_VERSION . "." . PHP_MINOR_VERSION;')
    built=$("$1" --version)
    [[ $built == "$wanted".* ]] ||
        fail "$PHPIZE is for PHP $built, and $PHP is $wanted: install php$wanted-dev"
}

# Runs a command and shows its output only if it fails.
quietly() {
    "$@" >build.log 2>&1 || {
        tail -n 30 build.log >&2
        fail "${1##*/} failed in $PWD"
    }
}

fail() {
    echo "$*" >&2
    exit 1
}
