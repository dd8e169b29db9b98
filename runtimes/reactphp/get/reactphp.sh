. ./composer.sh
composer ReactPHP
