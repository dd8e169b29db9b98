<?php

// Does what WordPress's own front controller does, with our configuration.
define('WP_USE_THEMES', true);
require __DIR__ . '/../wp-config.php';
wp();
require ABSPATH . WPINC . '/template-loader.php';
