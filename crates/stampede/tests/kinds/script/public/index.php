<?php

declare(strict_types=1);

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$file = $_FILES['file'] ?? null;
if ($path === '/cookies') {
    header('Set-Cookie: first=1; path=/', false);
    header('Set-Cookie: second=2; path=/', false);
}
if ($path === '/session') {
    session_start();
    $_SESSION['asked'] = ($_SESSION['asked'] ?? 0) + 1;
}
$body = match ($path) {
    '/' => [],
    '/form' => ['form' => $_POST, 'query' => $_GET],
    '/cookies' => ['cookies' => $_COOKIE],
    '/session' => ['asked' => $_SESSION['asked']],
    '/upload' => [
        'name' => $file['name'],
        'bytes' => $file['size'],
        'sha256' => hash_file('sha256', $file['tmp_name']),
    ],
    default => null,
};
http_response_code($body === null ? 404 : 200);
header('Content-Type: application/json');
echo json_encode($body);
