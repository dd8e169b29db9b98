ARG PHP_VERSION=8.3

FROM composer:2 AS code
ARG PHP_VERSION
ARG APP=laravel
WORKDIR /app
COPY apps/${APP} /app
# A vendor directory that is there is used. The packages are for this PHP, not for Composer's own.
RUN test -f vendor/autoload.php || { composer config platform.php ${PHP_VERSION}.99 && \
    composer require laravel/octane --update-no-dev --no-interaction --no-progress '--ignore-platform-req=ext-*'; }

FROM phpswoole/swoole:php${PHP_VERSION}
RUN php -m | grep -q 'Zend OPcache' || docker-php-ext-install opcache
COPY --from=code /app /app
COPY plans/published/compose/laravel-octane/php.ini /etc/article/php.ini
ENV PHP_INI_SCAN_DIR=:/etc/article APP_ENV=prod APP_DEBUG=0
WORKDIR /app
RUN mkdir -p storage bootstrap/cache && { test ! -f prepare.php || php prepare.php; } && chown -R www-data: storage bootstrap/cache
COPY php /library
COPY plans/published/compose/worker.php /worker/worker.php
RUN mkdir -p /worker/tmp && chown -R www-data: /worker
ENV WORKER=Octane KIND=laravel WORKERS=16 MAX_REQUESTS=1000 APP_BASE_PATH=/app LARAVEL_OCTANE=1
USER www-data
ENTRYPOINT ["php", "/worker/worker.php"]
CMD []
