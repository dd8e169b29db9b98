. ./composer.sh
composer PHP-PM
