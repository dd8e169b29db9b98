<?php

// WordPress is in this directory or in Debian's package, whose own wp-config.php is not read.
define('ABSPATH', (is_file(__DIR__ . '/wordpress/wp-settings.php') ? __DIR__ . '/wordpress' : '/usr/share/wordpress') . '/');

// `mysql:unix_socket=…;dbname=…`
preg_match('/^mysql:unix_socket=([^;]+);dbname=([^;]+)$/', (string) getenv('DATABASE_DSN'), $dsn);
define('DB_HOST', 'localhost:' . $dsn[1]);
define('DB_NAME', $dsn[2]);
define('DB_USER', (string) getenv('DATABASE_USER'));
define('DB_PASSWORD', '');
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
$table_prefix = 'wp_';

// The page has links, so the address is the same for all runtimes, without a port.
define('WP_HOME', 'http://localhost');
define('WP_SITEURL', 'http://localhost');
define('WP_CONTENT_DIR', __DIR__ . '/content');
define('WP_CONTENT_URL', 'http://localhost/content');

// No background tasks, no requests to other hosts, and no changes to files by a request.
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('DISALLOW_FILE_MODS', true);
define('WP_DEBUG', false);

// Fixed keys, because nothing signed with them is sent anywhere.
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $name) {
    define("{$name}_KEY", 'stampede');
    define("{$name}_SALT", 'stampede');
}

require ABSPATH . 'wp-settings.php';
