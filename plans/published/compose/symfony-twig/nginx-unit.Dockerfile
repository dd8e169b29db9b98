ARG PHP_VERSION=8.4

FROM composer:2 AS code
ARG PHP_VERSION
WORKDIR /app
COPY apps/symfony-twig /app
# A vendor directory that is there is used. The packages are for this PHP, not for Composer's own.
RUN test -f vendor/autoload.php || { composer config platform.php ${PHP_VERSION}.99 && \
    composer install --no-dev --no-interaction --no-progress '--ignore-platform-req=ext-*'; }

FROM unit:php${PHP_VERSION}
RUN php -m | grep -q 'Zend OPcache' || docker-php-ext-install opcache
COPY --from=code /app /app
RUN APP_ENV=prod php /app/prepare.php && chown -R www-data: /app/var
COPY plans/published/compose/symfony-twig/php.ini /etc/article/php.ini
ENV PHP_INI_SCAN_DIR=:/etc/article APP_ENV=prod APP_DEBUG=0
# Unit's own state: it serves this configuration from its start.
COPY plans/published/compose/symfony-twig/unit.json /var/lib/unit/conf.json
