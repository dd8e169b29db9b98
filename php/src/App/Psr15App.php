<?php

declare(strict_types=1);

namespace Stampede\Worker\App;

use Psr\Http\Server\RequestHandlerInterface;
use Stampede\Worker\App;
use Stampede\Worker\AppRequirements;
use Stampede\Worker\Problem;
use Stampede\Worker\Psr7;
use Stampede\Worker\Request;
use Stampede\Worker\Response;

/** An app whose `handler.php` returns a `RequestHandlerInterface`. */
final class Psr15App implements App
{
    private RequestHandlerInterface $handler;
    private Psr7 $psr7;

    public function __construct(private string $file)
    {
        AppRequirements::checkType(RequestHandlerInterface::class, 'psr/http-server-handler', 'kind `psr15`');
        $this->psr7 = new Psr7('kind `psr15`');
    }

    public static function adapters(): array
    {
        return ['psr7'];
    }

    public function handle(Request $request): Response
    {
        return $this->psr7->response($this->handler->handle($this->psr7->request($request)));
    }

    public function terminate(): void
    {
    }

    public function reboot(): void
    {
        $handler = AppRequirements::loadFile($this->file, 'an app of kind `psr15`');
        if (!$handler instanceof RequestHandlerInterface) {
            throw new Problem("`{$this->file}` returns no RequestHandlerInterface");
        }
        $this->handler = $handler;
    }
}
