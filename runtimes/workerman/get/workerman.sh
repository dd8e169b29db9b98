. ./composer.sh
composer Workerman
