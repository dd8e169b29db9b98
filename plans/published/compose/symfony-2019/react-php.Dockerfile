ARG PHP_VERSION=8.4

FROM composer:2 AS code
ARG PHP_VERSION
WORKDIR /app
COPY apps/symfony /app
# A vendor directory that is there is used. The packages are for this PHP, not for Composer's own.
RUN test -f vendor/autoload.php || { composer config platform.php ${PHP_VERSION}.99 && \
    composer install --no-dev --no-interaction --no-progress '--ignore-platform-req=ext-*'; }
COPY runtimes/reactphp/get /react
RUN test -f /react/vendor/autoload.php || composer -d /react install --no-dev --no-interaction --no-progress --ignore-platform-reqs

FROM php:${PHP_VERSION}-cli
RUN php -m | grep -q 'Zend OPcache' || docker-php-ext-install opcache
RUN php -m | grep -qx pcntl || docker-php-ext-install pcntl
COPY --from=code /app /app
COPY plans/published/compose/symfony-2019/php.ini /etc/article/php.ini
ENV PHP_INI_SCAN_DIR=:/etc/article APP_ENV=prod APP_DEBUG=0
RUN php /app/prepare.php && chown -R www-data: /app/var
COPY php /library
COPY plans/published/compose/worker.php /worker/worker.php
RUN mkdir -p /worker/tmp && chown -R www-data: /worker
COPY --from=code /react /react
ENV WORKER=ReactPhp
USER www-data
CMD ["php", "/worker/worker.php"]
