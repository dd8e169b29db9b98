<?php

declare(strict_types=1);

$answer = (require __DIR__ . '/../handler.php')($_SERVER, (string) file_get_contents('php://input'));
http_response_code($answer['status']);
foreach ($answer['headers'] as $name => $values) {
    foreach ((array) $values as $at => $value) {
        header("$name: $value", $at === 0);
    }
}
foreach ((array) $answer['body'] as $piece) {
    echo $piece;
    if (is_array($answer['body'])) {
        flush();
    }
}
