<?php

declare(strict_types=1);

$handle = require __DIR__ . '/../handler.php';
$answer = $handle($_SERVER);
http_response_code($answer['status']);
foreach ($answer['headers'] as $name => $values) {
    foreach ((array) $values as $value) {
        header("$name: $value", false);
    }
}
echo $answer['body'];
