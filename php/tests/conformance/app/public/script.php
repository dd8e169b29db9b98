<?php

declare(strict_types=1);

// Not JSON at its first byte: a worker guesses the type of a script's text from it.
echo ' ', (require __DIR__ . '/../handler.php')($_SERVER, (string) file_get_contents('php://input'))['body'];
