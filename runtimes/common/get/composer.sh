# From Packagist, in exactly the versions of composer.json: it names all that is needed. $COMPOSER is
# a tool. Makes $OUT/vendor.
#
# composer TITLE
composer() {
    local program=$COMPOSER
    unset COMPOSER                  # by this name Composer itself looks for composer.json
    export COMPOSER_HOME=$PWD/home COMPOSER_ALLOW_SUPERUSER=1
    cp composer.json "$OUT/"
    "$program" install --working-dir="$OUT" --no-interaction --no-progress --no-dev --optimize-autoloader || {
        echo "Composer could not get $1: is repo.packagist.org reachable, and api.github.com?" >&2
        exit 1
    }
}
