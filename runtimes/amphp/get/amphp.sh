. ./composer.sh
composer AMPHP
