<?php

declare(strict_types=1);

use Illuminate\Contracts\Console\Kernel;

// Makes the directories of a new project, and then the caches of `artisan optimize`.
foreach (['app', 'framework/cache/data', 'framework/sessions', 'framework/views', 'logs'] as $directory) {
    is_dir(__DIR__ . "/storage/$directory") || mkdir(__DIR__ . "/storage/$directory", 0750, true);
}
$app = require __DIR__ . '/bootstrap/app.php';
$artisan = $app->make(Kernel::class);
foreach (['config:cache', 'route:cache'] as $command) {
    if ($artisan->call($command) !== 0) {
        fwrite(STDERR, $artisan->output());
        exit(1);
    }
}
$db = new PDO('sqlite:' . __DIR__ . '/storage/app/shop.db');
$db->exec('CREATE TABLE teas (name TEXT PRIMARY KEY)');
$db->exec("INSERT INTO teas VALUES ('Assam'), ('Sencha'), ('Oolong')");
$db->exec('CREATE TABLE looks (id INTEGER PRIMARY KEY, tea TEXT)');
$db->exec('CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT)');
