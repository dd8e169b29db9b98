<?php

declare(strict_types=1);

namespace Stampede\Worker;

use Stampede\Worker\Check\Watch;

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
    /** @var array<string, mixed> */
    private array $base;
    /** @var array<string, mixed> */
    private array $env;
    /** @var callable(string): void */
    private $log;
    private bool $reached = false;
    /** The watch of `stampede check`; null without it. */
    private ?Watch $watch = null;

    /** @param ?callable(string): void $log takes a line; by default it goes to standard error */
    public function __construct(
        private App $app,
        private string $docroot,
        private string $index = 'index.php',
        private bool $reboot = false,
        ?callable $log = null,
    ) {
        $this->output = new Output();
        $this->log = $log ?? [Ends::class, 'say'];
        $own = ['argv', 'argc', 'PHP_SELF', 'SCRIPT_NAME', 'SCRIPT_FILENAME', 'PATH_TRANSLATED'];
        $this->env = $_ENV;
        $this->base = array_diff_key($_SERVER, array_flip($own));
    }

    /** @throws Problem if the app cannot be booted with what is there */
    public static function boot(Setup $setup): self
    {
        $front = "{$setup->docroot}/{$setup->index}";
        $app = Apps::boot($setup->app, $setup->kind, $setup->word('adapter', 'own'), $front);

        $site = new self($app, $setup->docroot, $setup->index, $setup->isOn('reboot_kernel'));
        $site->watch = Watch::over($setup, $app, $site->output, $site->base);

        return $site;
    }

    public function answer(Request $request): Response
    {
        $this->watch?->begin($request);
        $script = $this->script($request);
        $this->enter($request, $script ?? "/{$this->index}");
        $this->watch?->entered();
        $this->reached = $script === null;
        $this->exited = false;
        try {
            $response = $this->output->during(
                fn (): Response => $script === null
                    ? $this->app->handle($request)
                    : $this->run($this->docroot . $script),
            );
        } catch (\Throwable $error) {
            $this->exited = in_array(get_class($error), $this->exits, true);
            $response = $this->exited ? self::left($error) : new Response(500);
            $this->exited || $this->say("{$request->method} {$request->target}", $error);
        }
        $response->body = $this->output->taken() . $response->body;
        if ($script !== null) {
            $response->typed(self::looksLike($response->body));
        }

        return $response->typed();
    }

    /**
     * Returns the answer when the app has ended PHP, by `exit` or an error that nobody can catch.
     */
    public function ended(): Response
    {
        $fatal = E_ERROR | E_PARSE | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR;
        $failed = ((error_get_last()['type'] ?? 0) & $fatal) !== 0;
        $status = $failed ? 500 : ((int) http_response_code() ?: 200);

        return (new Response($status, [], $this->output->taken()))->typed();
    }

    /** Does what follows after the answer was sent. */
    public function after(): void
    {
        if ($this->reached) {
            $this->guarded('after the answer', fn () => $this->app->terminate());
            if ($this->reboot) {
                $this->guarded('reboot', fn () => $this->app->reboot());
            }
        }
        $_GET = $_POST = $_COOKIE = $_FILES = $_REQUEST = [];
        $_SERVER = $this->base;
        $this->watch?->end();
    }

    /** Returns the answer of an app that called `exit`. A text given to `exit` is printed last. */
    private static function left(object $exit): Response
    {
        $text = $exit->getStatus();

        return new Response((int) http_response_code() ?: 200, [], is_string($text) ? $text : '');
    }

    private function guarded(string $when, callable $work): void
    {
        try {
            $this->output->during($work);
        } catch (\Throwable $error) {
            $this->say($when, $error);
        }
    }

    private function say(string $when, \Throwable $error): void
    {
        $text = strtr($error->getMessage(), ["\r" => ' ', "\n" => ' ']);
        $place = $error->getFile() . ':' . $error->getLine();
        ($this->log)("stampede: $when: " . get_class($error) . ": $text in $place");
    }

    /**
     * Returns an existing PHP file of the docroot that the request names, relative to the docroot.
     */
    private function script(Request $request): ?string
    {
        $path = rawurldecode($request->path());
        if (!str_ends_with($path, '.php') || str_contains($path, "\0")) {
            return null;
        }
        $root = realpath($this->docroot);
        $file = realpath($this->docroot . $path);
        $inside = $root !== false && $file !== false && str_starts_with($file, "$root/");
        if (!$inside || $file === realpath("{$this->docroot}/{$this->index}")) {
            return null;
        }

        return substr($file, strlen($root));
    }

    /** Sets superglobals and the working directory, as a web server does for a script. */
    private function enter(Request $request, string $script): void
    {
        $_GET = $request->query();
        $_POST = $request->form;
        $_COOKIE = $request->cookies;
        $_FILES = $request->phpFiles();
        $_REQUEST = array_merge($_GET, $_POST);
        // FrankenPHP empties `$_ENV`, which also holds what the app read from its `.env` at boot.
        $_ENV += $this->env;
        $_SERVER = $request->server($this->base, $this->docroot, $script);
        chdir(dirname($this->docroot . $script));
    }

    private function run(string $file): Response
    {
        http_response_code(200);
        (static function (string $__file): void {
            include $__file;
        })($file);

        return new Response((int) http_response_code() ?: 200);
    }

    /** The CLI keeps no headers that a script sets, so the type must be guessed from the text. */
    private static function looksLike(string $body): string
    {
        $json = ($body[0] ?? '') === '{' && json_decode($body) !== null;

        return $json ? 'application/json' : 'text/html; charset=UTF-8';
    }
}
