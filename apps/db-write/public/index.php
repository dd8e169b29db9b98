<?php

declare(strict_types=1);

// The front controller for per-request runtimes: one call gives one answer.
$handle = require __DIR__ . '/../handler.php';
$answer = $handle($_SERVER);
http_response_code($answer['status']);
foreach ($answer['headers'] as $name => $value) {
    header("$name: $value");
}
echo $answer['body'];
