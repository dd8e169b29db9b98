<?php

declare(strict_types=1);

namespace Stampede\Worker\App;

use Stampede\Worker\AppRequirements;
use Stampede\Worker\Psr7;
use Stampede\Worker\Query;
use Stampede\Worker\Request;
use Stampede\Worker\Response;
use Stampede\Worker\Uploads;
use Symfony\Component\HttpFoundation\File\UploadedFile;
use Symfony\Component\HttpFoundation\Request as SymfonyRequest;
use Symfony\Component\HttpFoundation\Response as SymfonyResponse;

/** Converts requests and answers for Symfony, Laravel and Lumen: directly or by way of PSR-7. */
final class HttpFoundation
{
    private const BRIDGE = 'Symfony\Bridge\PsrHttpMessage\Factory';
    private ?Psr7 $psr7 = null;
    /** @var ?\Symfony\Bridge\PsrHttpMessage\Factory\HttpFoundationFactory */
    private ?object $toFoundation = null;
    /** @var ?\Symfony\Bridge\PsrHttpMessage\Factory\PsrHttpFactory */
    private ?object $toPsr = null;

    public function __construct(string $adapter)
    {
        if ($adapter !== 'psr7') {
            return;
        }
        $this->psr7 = new Psr7('adapter `psr7`');
        [$factory, $class] = [$this->psr7->factory, self::BRIDGE . '\HttpFoundationFactory'];
        AppRequirements::checkType($class, 'symfony/psr-http-message-bridge', 'adapter `psr7`');
        $this->toFoundation = new $class();
        $class = self::BRIDGE . '\PsrHttpFactory';
        $this->toPsr = new $class($factory, $factory, $factory, $factory);
    }

    public function request(Request $request): SymfonyRequest
    {
        if ($this->psr7 !== null && $this->toFoundation !== null) {
            return $this->toFoundation->createRequest($this->psr7->request($request));
        }

        return new SymfonyRequest(
            $request->query(),
            self::form($request),
            [],
            $request->cookies,
            self::files($request->files),
            $_SERVER,
            $request->body,
        );
    }

    /**
     * PHP takes a form from POST only. Symfony's `createFromGlobals` takes one from these methods too.
     *
     * @return array<mixed>
     */
    private static function form(Request $request): array
    {
        $takes = in_array($request->method, ['PUT', 'DELETE', 'PATCH'], true)
            && str_starts_with($request->header('Content-Type') ?? '', 'application/x-www-form-urlencoded');

        return $takes ? Query::parse($request->body) : $request->form;
    }

    public function response(SymfonyResponse $response): Response
    {
        if ($this->psr7 !== null && $this->toPsr !== null) {
            return $this->psr7->response($this->toPsr->createResponse($response));
        }
        $headers = Response::normalizeHeaders($response->headers->allPreserveCaseWithoutCookies());
        foreach ($response->headers->getCookies() as $cookie) {
            $headers['Set-Cookie'][] = (string) $cookie;
        }
        $body = $response->getContent();
        // A streamed answer prints its body itself. So does a file.
        $stream = $body !== false ? null : static function () use ($response): void {
            $response->sendContent();
        };

        return new Response($response->getStatusCode(), $headers, (string) $body, $stream);
    }

    /**
     * @param array<mixed> $tree
     * @return array<mixed>
     */
    private static function files(array $tree): array
    {
        return array_map(static function (mixed $node): mixed {
            if (!Uploads::isFile($node)) {
                return self::files((array) $node);
            }
            // `true` (test mode): PHP took no upload here, so it would say that this file is none.
            [$path, $name, $type] = [$node['tmp_name'], $node['name'] ?? '', $node['type'] ?? null];

            return new UploadedFile($path, $name, $type, $node['error'], true);
        }, $tree);
    }
}
