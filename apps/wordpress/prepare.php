<?php

// Runs WordPress's own installation into the database, and adds what the front page shows.
$_SERVER += ['HTTP_HOST' => 'localhost', 'REQUEST_URI' => '/', 'REQUEST_METHOD' => 'GET', 'SERVER_PROTOCOL' => 'HTTP/1.1'];
define('WP_INSTALLING', true);

/** Sends no e-mail about the new site. */
function wp_new_blog_notification() {}

/** Adds no sample posts, because they have today's date. */
function wp_install_defaults() {}

require __DIR__ . '/wp-config.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';

// WordPress would send itself a request to see whether the web server rewrites addresses.
add_filter('pre_http_request', static fn () => new WP_Error('no_network'));
$installed = wp_install('Stampede', 'stampede', 'nobody@example.org', false, '', 'stampede');
if (!is_array($installed)) {
    fwrite(STDERR, "WordPress was not installed\n");
    exit(1);
}
update_option('permalink_structure', '');
switch_theme('stampede');
wp_insert_term('News', 'category');
for ($number = 1; $number <= 10; $number++) {
    $date = sprintf('2024-01-%02d 12:00:00', $number);
    $post = wp_insert_post([
        'post_title' => "Post number $number",
        'post_content' => "<p>The text of post $number.</p>\n\n<p>It has a second paragraph.</p>",
        'post_status' => 'publish',
        'post_date' => $date,
        'post_date_gmt' => $date,
        'post_author' => $installed['user_id'],
    ], true);
    if (is_wp_error($post)) {
        fwrite(STDERR, $post->get_error_message() . "\n");
        exit(1);
    }
}
