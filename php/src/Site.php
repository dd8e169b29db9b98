<?php

declare(strict_types=1);

namespace Stampede\Worker;

use Stampede\Worker\Check\StateRecorder;

/**
 * Serves the docroot: the app, and the scripts beside its front controller. Its methods do not
 * throw once it is booted.
 */
final class Site
{
    public Output $output;
    /** @var list<string> classes that `exit` throws, where it does not end the process */
    public array $exits = [];
    /** Whether the app called `exit` in the last request. */
    public bool $exited = false;
    /** @var array<mixed> */
    private array $base;
    /** @var array<mixed> */
    private array $env;
    /** @var callable(string): void */
    private $log;
    private bool $appHandled = false;
    /** The recorder of `stampede check`; null without it. */
    private ?StateRecorder $recorder = null;

    /** @param ?callable(string): void $log takes a line; by default it goes to standard error */
    public function __construct(
        private App $app,
        private string $docroot,
        private string $index = 'index.php',
        private bool $reboot = false,
        ?callable $log = null,
    ) {
        $this->output = new Output();
        $this->log = $log ?? [Main::class, 'log'];
        $own = ['argv', 'argc', 'PHP_SELF', 'SCRIPT_NAME', 'SCRIPT_FILENAME', 'PATH_TRANSLATED'];
        $this->env = $_ENV;
        $this->base = array_diff_key($_SERVER, array_flip($own));
    }

    /** @throws Problem if the app cannot be booted with what is there */
    public static function boot(Setup $setup): self
    {
        $front = "{$setup->docroot}/{$setup->index}";
        $app = AppFactory::boot($setup->app, $setup->kind, $setup->string('adapter', 'own'), $front);

        $site = new self($app, $setup->docroot, $setup->index, $setup->isOn('reboot_kernel'));
        $site->recorder = StateRecorder::create($setup, $app, $site->output, $site->base);

        return $site;
    }

    public function answer(Request $request): Response
    {
        $this->recorder?->beginRequest($request);
        [$script, $pathInfo] = $this->findScript($request);
        $this->setSuperglobals($request, $script ?? "/{$this->index}", $pathInfo);
        $this->recorder?->enterDirectory();
        $this->appHandled = $script === null;
        $this->exited = false;
        try {
            $response = $this->output->capture(
                fn (): Response => $script === null
                    ? $this->app->handle($request)
                    : $this->runScript($this->docroot . $script),
            );
        } catch (\Throwable $error) {
            $this->exited = in_array(get_class($error), $this->exits, true);
            $response = $this->exited ? self::answerExit($error) : new Response(500);
            if (!$this->exited) {
                $this->logError("{$request->method} {$request->target}", $error);
            }
        }
        $response->body = $this->output->takePrinted() . $response->body;
        if ($script !== null) {
            $response->ensureType(self::guessType($response->body));
        }

        return $response->ensureType();
    }

    /**
     * Returns the answer when the app has ended PHP, by `exit` or an error that nobody can catch.
     */
    public function answerAfterExit(): Response
    {
        $fatal = E_ERROR | E_PARSE | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR;
        $failed = ((error_get_last()['type'] ?? 0) & $fatal) !== 0;
        $status = $failed ? 500 : ((int) http_response_code() ?: 200);

        return (new Response($status, [], $this->output->takePrinted()))->ensureType();
    }

    /**
     * Gives the body of a streamed answer to `$send` piece by piece. An exception in between is
     * logged; the client has then got what came before.
     *
     * @param \Closure(string): void $send
     */
    public function stream(Response $response, \Closure $send): void
    {
        $body = $response->body;
        if ($body !== '') {
            $send($body);
        }
        try {
            $this->output->pass($send, $response->stream ?? static function (): void {
            });
        } catch (\Throwable $error) {
            $this->logError('while the answer was streamed', $error);
        }
    }

    /** Prints what of an answer is streamed, where printed text goes to the client. */
    public function print(Response $response): void
    {
        if ($response->stream === null) {
            return;
        }
        try {
            ($response->stream)(static function (string $piece): void {
                echo $piece;
            });
        } catch (\Throwable $error) {
            $this->logError('while the answer was streamed', $error);
        }
    }

    /** Returns a streamed answer as a whole, for a server that takes no pieces. */
    public function collect(Response $response): Response
    {
        $body = '';
        $this->stream($response, static function (string $piece) use (&$body): void {
            $body .= $piece;
        });

        return new Response($response->status, $response->headers, $body);
    }

    /** Does what follows after the answer was sent. */
    public function cleanUp(): void
    {
        if ($this->appHandled) {
            $this->runGuarded('after the answer', fn () => $this->app->terminate());
            if ($this->reboot) {
                $this->runGuarded('reboot', fn () => $this->app->reboot());
            }
        }
        $_GET = $_POST = $_COOKIE = $_FILES = $_REQUEST = [];
        $_SERVER = $this->base;
        $this->recorder?->endRequest();
    }

    /** Returns the answer of an app that called `exit`. A text given to `exit` is printed last. */
    private static function answerExit(object $exit): Response
    {
        $text = method_exists($exit, 'getStatus') ? $exit->getStatus() : null;

        return new Response((int) http_response_code() ?: 200, [], is_string($text) ? $text : '');
    }

    private function runGuarded(string $when, callable $work): void
    {
        try {
            $this->output->capture($work);
        } catch (\Throwable $error) {
            $this->logError($when, $error);
        }
    }

    private function logError(string $when, \Throwable $error): void
    {
        $text = strtr($error->getMessage(), ["\r" => ' ', "\n" => ' ']);
        $place = $error->getFile() . ':' . $error->getLine();
        ($this->log)("stampede: $when: " . get_class($error) . ": $text in $place");
    }

    /**
     * Returns an existing PHP file of the docroot that the request names, relative to the docroot,
     * and what follows it in the path. The front controller is none: it is the app.
     *
     * @return array{?string, string}
     */
    private function findScript(Request $request): array
    {
        $path = rawurldecode($request->path());
        if (preg_match('~^(.+?\.php)(/.*)?$~sD', $path, $found) !== 1 || str_contains($path, "\0")) {
            return [null, ''];
        }
        $root = realpath($this->docroot);
        $file = realpath($this->docroot . $found[1]);
        $inside = $root !== false && $file !== false && str_starts_with($file, "$root/");
        if (!$inside || is_dir($file)) {
            return [null, ''];
        }
        $isFront = $file === realpath("{$this->docroot}/{$this->index}");

        return [$isFront ? null : substr($file, strlen($root)), $found[2] ?? ''];
    }

    /** Sets superglobals and the working directory, as a web server does for a script. */
    private function setSuperglobals(Request $request, string $script, string $pathInfo): void
    {
        $_GET = $request->query();
        $_POST = $request->form;
        $_COOKIE = $request->cookies;
        $_FILES = Uploads::superglobal($request->files);
        $_REQUEST = self::mergeRequest();
        // FrankenPHP empties `$_ENV`, which also holds what the app read from its `.env` at boot.
        $_ENV += $this->env;
        $_SERVER = ServerVariables::build($request, $this->base, $this->docroot, $script, $pathInfo);
        chdir(dirname($this->docroot . $script));
    }

    /** @return array<mixed> `$_REQUEST`, in the order that php.ini wants */
    private static function mergeRequest(): array
    {
        $sources = ['G' => $_GET, 'P' => $_POST, 'C' => $_COOKIE];
        $merged = [];
        foreach (str_split(strtoupper(ini_get('request_order') ?: (string) ini_get('variables_order'))) as $source) {
            $merged = array_replace_recursive($merged, $sources[$source] ?? []);
        }

        return $merged;
    }

    private function runScript(string $file): Response
    {
        http_response_code(200);
        (static function (string $__file): void {
            include $__file;
        })($file);

        return new Response((int) http_response_code() ?: 200);
    }

    /** The CLI keeps no headers that a script sets, so the type must be guessed from the text. */
    private static function guessType(string $body): string
    {
        $json = ($body[0] ?? '') === '{' && json_decode($body) !== null;

        return $json ? 'application/json' : 'text/html; charset=UTF-8';
    }
}
