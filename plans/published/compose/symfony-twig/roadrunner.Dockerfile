ARG PHP_VERSION=8.4

FROM composer:2 AS code
ARG PHP_VERSION
WORKDIR /app
COPY apps/symfony-twig /app
# A vendor directory that is there is used. The packages are for this PHP, not for Composer's own.
RUN test -f vendor/autoload.php || { composer config platform.php ${PHP_VERSION}.99 && \
    composer install --no-dev --no-interaction --no-progress '--ignore-platform-req=ext-*'; }

FROM php:${PHP_VERSION}-cli
RUN php -m | grep -q 'Zend OPcache' || docker-php-ext-install opcache
COPY --from=code /app /app
RUN APP_ENV=prod php /app/prepare.php && chown -R www-data: /app/var
COPY plans/published/compose/symfony-twig/php.ini /etc/article/php.ini
ENV PHP_INI_SCAN_DIR=:/etc/article APP_ENV=prod APP_DEBUG=0
COPY php /library
COPY plans/published/compose/worker.php /worker/worker.php
RUN mkdir -p /worker/tmp && chown -R www-data: /worker
COPY --from=ghcr.io/roadrunner-server/roadrunner:2025 /usr/bin/rr /usr/bin/rr
COPY plans/published/compose/symfony-twig/rr.yaml plans/published/compose/symfony-twig/rr-fcgi.yaml /
ENV WORKER=RoadRunner
USER www-data
CMD ["rr", "serve", "-s", "-c", "/rr.yaml"]
