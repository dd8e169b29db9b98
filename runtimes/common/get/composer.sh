# Gets packages from Packagist in exactly the versions of composer.json, which names all that are
# needed. $COMPOSER is a tool. Creates $OUT/vendor.
#
# composer TITLE
composer() {
    local program=$COMPOSER
    unset COMPOSER                  # Composer reads this variable as the name of composer.json
    export COMPOSER_HOME=$PWD/home COMPOSER_ALLOW_SUPERUSER=1
    cp composer.json "$OUT/"
    "$program" install --working-dir="$OUT" --no-interaction --no-progress --no-dev --optimize-autoloader || {
        echo "Composer could not get $1: is repo.packagist.org reachable, and api.github.com?" >&2
        exit 1
    }
}
