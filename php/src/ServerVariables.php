<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** Builds `$_SERVER` as PHP-FPM has it behind nginx. */
final class ServerVariables
{
    /** Headers that nginx hands on have these characters; it drops others. */
    private const NAME = '/^[A-Za-z0-9-]+$/D';

    /**
     * @param array<mixed> $base entries of every request: the environment
     * @param string $script the script that runs, relative to the docroot
     * @param string $pathInfo what follows the script in the path
     * @return array<mixed>
     */
    public static function build(
        Request $request,
        array $base,
        string $docroot,
        string $script,
        string $pathInfo = '',
    ): array {
        $isSecure = $request->scheme === 'https';
        $host = $request->header('Host') ?? 'localhost';
        $name = strtolower(rtrim((string) parse_url("//$host", PHP_URL_HOST), '.'));
        // As it is written: with a zero before it, too.
        $port = preg_match('~:(\d+)$~D', $host, $found) === 1 ? $found[1] : ($isSecure ? '443' : '80');
        $hasBody = $request->bodyBytes() > 0 || $request->header('Transfer-Encoding') !== null;
        $length = $request->header('Content-Length') ?? ($hasBody ? $request->bodyBytes() : '');
        $server = [
            'GATEWAY_INTERFACE' => 'CGI/1.1',
            'REDIRECT_STATUS' => '200',
            'SERVER_SOFTWARE' => 'stampede',
            'SERVER_PROTOCOL' => $request->protocol,
            'SERVER_ADDR' => $request->serverAddr,
            'SERVER_NAME' => $name === '' ? 'localhost' : $name,
            'SERVER_PORT' => $port,
            'REMOTE_ADDR' => $request->remoteAddr,
            'REMOTE_PORT' => (string) $request->remotePort,
            'REQUEST_SCHEME' => $request->scheme,
            'REQUEST_METHOD' => $request->method,
            'REQUEST_URI' => $request->target,
            'QUERY_STRING' => $request->queryString(),
            'CONTENT_TYPE' => $request->header('Content-Type') ?? '',
            'CONTENT_LENGTH' => (string) $length,
            'DOCUMENT_ROOT' => $docroot,
            'DOCUMENT_URI' => $script,
            'SCRIPT_NAME' => $script,
            'SCRIPT_FILENAME' => $docroot . $script,
            'PHP_SELF' => $script . $pathInfo,
            'REQUEST_TIME' => time(),
            'REQUEST_TIME_FLOAT' => microtime(true),
        ];
        $server += $pathInfo === '' ? [] : ['PATH_INFO' => $pathInfo];
        $server += $isSecure ? ['HTTPS' => 'on'] : [];
        $server += Credentials::variables($request->header('Authorization') ?? '');

        return $server + self::headers($request) + $base;
    }

    /** @return array<string, string> */
    private static function headers(Request $request): array
    {
        $variables = [];
        foreach (array_keys($request->headers) as $name) {
            $key = 'HTTP_' . strtoupper(strtr((string) $name, '-', '_'));
            // RFC 3875, section 4.1.18: programs would read a header `Proxy` as the name of a
            // proxy. In the command line's PHP some read it from here.
            if ($key !== 'HTTP_PROXY' && preg_match(self::NAME, (string) $name) === 1) {
                $variables[$key] = (string) $request->header((string) $name);
            }
        }

        return $variables;
    }
}
