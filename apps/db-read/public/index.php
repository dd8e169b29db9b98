<?php

declare(strict_types=1);

// The front controller of per-request runtimes: one call, one answer.
$handle = require __DIR__ . '/../handler.php';
$answer = $handle($_SERVER);
http_response_code($answer['status']);
foreach ($answer['headers'] as $name => $value) {
    header("$name: $value");
}
echo $answer['body'];
