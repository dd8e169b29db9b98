<?php

declare(strict_types=1);

// Serves `pages.php`, which has functions by their paths. Each function gets `$_SERVER`.

$welcome = ['/' => static fn (): string => 'Welcome.', '/about' => static fn (): string => 'About us.'];
$pages = array_replace($welcome, require __DIR__ . '/pages.php');

return static function (array $server) use ($pages): array {
    $page = $pages[explode('?', $server['REQUEST_URI'], 2)[0]] ?? null;
    $text = $page === null ? 'No such page.' : $page($server);
    $links = '';
    foreach (array_keys($pages) as $path) {
        $links .= "<a href=\"$path\">$path</a> ";
    }

    return [
        'status' => $page === null ? 404 : 200,
        'headers' => ['Content-Type' => 'text/html; charset=UTF-8'],
        'body' => "<!DOCTYPE html><title>A site</title><p>$text</p><nav>$links</nav>\n",
    ];
};
