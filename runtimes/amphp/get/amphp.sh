# AMPHP from Packagist, in exactly the versions of composer.json, of everything that it needs.
composer=$COMPOSER
unset COMPOSER                      # by this name Composer itself looks for composer.json
export COMPOSER_HOME=$PWD/home COMPOSER_ALLOW_SUPERUSER=1
cp composer.json "$OUT/"
"$composer" install --working-dir="$OUT" --no-interaction --no-progress --no-dev --optimize-autoloader || {
    echo "Composer could not get AMPHP: is repo.packagist.org reachable, and api.github.com?" >&2
    exit 1
}
