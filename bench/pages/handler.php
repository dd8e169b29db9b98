<?php

declare(strict_types=1);

// Pages /0 to /999 of about 5 KB, each with a token and the time. Each tenth links to the next ten.

return static function (array $server): array {
    $path = explode('?', $server['REQUEST_URI'], 2)[0];
    $number = (int) substr($path, 1);
    $links = '';
    foreach (range($number + 1, $number + 10) as $next) {
        $links .= "<a href=\"/$next\">$next</a> ";
    }
    $words = '';
    foreach (range(1, 40) as $line) {
        $words .= "<p>Line $line of page $number says that " . $line * $number . " follows from $line and $number,"
            . " as it did before and will do again.</p>\n";
    }
    $token = bin2hex(random_bytes(16));

    return [
        'status' => 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8', 'X-Request-Id' => bin2hex(random_bytes(8))],
        'body' => "<!DOCTYPE html><title>Page $number</title><input name=\"token\" value=\"$token\">"
            . '<p>' . date('H:i:s') . "</p>\n$words<nav>$links</nav>\n",
    ];
};
