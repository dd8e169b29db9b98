ARG PHP_VERSION=8.3

FROM composer:2 AS code
ARG PHP_VERSION
ARG APP=laravel
WORKDIR /app
COPY apps/${APP} /app
# A vendor directory that is there is used. The packages are for this PHP, not for Composer's own.
RUN test -f vendor/autoload.php || { composer config platform.php ${PHP_VERSION}.99 && \
    composer install --no-dev --no-interaction --no-progress '--ignore-platform-req=ext-*'; }

FROM php:${PHP_VERSION}-fpm
RUN php -m | grep -q 'Zend OPcache' || docker-php-ext-install opcache
COPY --from=code /app /app
COPY plans/published/compose/laravel-octane/php.ini /etc/article/php.ini
ENV PHP_INI_SCAN_DIR=:/etc/article APP_ENV=prod APP_DEBUG=0
WORKDIR /app
RUN mkdir -p storage bootstrap/cache && { test ! -f prepare.php || php prepare.php; } && chown -R www-data: storage bootstrap/cache
COPY plans/published/compose/laravel-octane/pool.conf /etc/article/pool.conf
CMD ["php-fpm", "--nodaemonize", "--fpm-config", "/etc/article/pool.conf"]
