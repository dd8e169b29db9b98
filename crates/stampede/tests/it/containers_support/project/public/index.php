<?php
// Shows a variable with a dollar sign, and does a little work whose amount a test can change.
$hash = 'stampede';
for ($i = 0; $i < (int) (getenv('ROUNDS') ?: 200); $i++) {
    $hash = hash('sha256', $hash);
}
echo 'hello from a container, price ', getenv('PRICE'), "\n";
// What the project mounts from the machine, and what an earlier request or trial wrote there.
foreach (['/data', '/mounted'] as $directory) {
    if (is_dir($directory)) {
        $before = @file_get_contents("$directory/seen") ?: 'nothing';
        @file_put_contents("$directory/seen", 'a trial wrote this');
        header('X-Seen-' . basename($directory) . ": $before");
        echo basename($directory), ' ', is_file("$directory/original") ? 'as it was' : 'empty', "\n";
    }
}
