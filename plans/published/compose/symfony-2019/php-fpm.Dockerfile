ARG PHP_VERSION=8.4

FROM composer:2 AS code
WORKDIR /app
COPY apps/symfony /app
# A vendor directory that is there is used.
RUN test -f vendor/autoload.php || composer install --no-dev --no-interaction --no-progress --ignore-platform-reqs

FROM php:${PHP_VERSION}-fpm
RUN php -m | grep -q 'Zend OPcache' || docker-php-ext-install opcache
COPY --from=code /app /app
COPY plans/published/compose/symfony-2019/php.ini /etc/article/php.ini
ENV PHP_INI_SCAN_DIR=:/etc/article APP_ENV=prod APP_DEBUG=0
RUN php /app/prepare.php && chown -R www-data: /app/var
COPY plans/published/compose/symfony-2019/pool.conf /etc/article/pool.conf
CMD ["php-fpm", "--nodaemonize", "--fpm-config", "/etc/article/pool.conf"]
