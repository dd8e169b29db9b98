<?php

declare(strict_types=1);

// The front controller for per-request runtimes. Workers run `handler.php` directly.
$handle = require __DIR__ . '/../handler.php';
$answer = $handle($_SERVER, (string) file_get_contents('php://input'));
http_response_code($answer['status']);
foreach ($answer['headers'] as $name => $value) {
    header("$name: $value");
}
echo $answer['body'];
