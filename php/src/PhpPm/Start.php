<?php

declare(strict_types=1);

namespace Stampede\Worker\PhpPm;

use PHPPM\ProcessManager;
use Stampede\Worker\AppFactory;
use Stampede\Worker\CallbackWorker;
use Stampede\Worker\Library;
use Stampede\Worker\Pool\FirstBoot;
use Stampede\Worker\Setup;
use Symfony\Component\Console\Output\StreamOutput;

/** Starts PHP-PM's master. `ppm start` takes what is set here as options. */
final class Start
{
    /** Namespaces of which PHP-PM works with its own version only. */
    private const OWN = '/^(PHPPM|React|RingCentral|Evenement|Fig)\\\\/';
    /** In a worker: the choices of the plan. */
    public static Setup $setup;

    public static function worker(Setup $setup): void
    {
        self::showErrorsOnStandardError();
        Library::load($setup, 'php_ppm', 'PHPPM\ProcessManager');
        $boot = new FirstBoot($setup->dir);
        self::prepare($setup);
        $output = new StreamOutput(STDERR);
        $workers = $setup->integer('workers', 1);
        $master = new ProcessManager($output, $setup->port, $setup->host, $workers);
        $master->setBridge(Bridge::class);
        $master->setAppBootstrap('');
        $master->setAppEnv((string) getenv('APP_ENV'));
        $master->setDebug(false);
        $master->setLogging($setup->isOn('access_log'));
        $master->setPhpCgiExecutable($setup->needs['php_cgi'] ?? 'php-cgi');
        $master->setSocketPath("{$setup->dir}/tmp/");
        $master->setPidFile("{$setup->dir}/tmp/ppm.pid");
        $master->setReloadTimeout(30);
        $master->setStaticDirectory('');
        $master->setPopulateServer(false);
        $master->setRequestBodyBuffer((string) CallbackWorker::BODY);
        // 0 would end a worker after each request.
        $master->setMaxRequests($setup->integer('max_requests') ?: PHP_INT_MAX);
        $master->setMaxExecutionTime(0);
        $master->setMemoryLimit(-1);
        register_shutdown_function([$boot, 'reportFailure']);
        $master->run();
    }

    /**
     * PHP-PM sets php.ini values when it begins, and ends if anything was printed before: a deprecation of its
     * old code, for example. It makes PHP print errors, unless they are logged on standard error.
     */
    private static function showErrorsOnStandardError(): void
    {
        ini_set('display_errors', '0');
        ini_set('log_errors', '1');
        ini_set('error_log', '');
    }

    /**
     * Called when a worker begins, before PHP-PM's own script. The first version loaded stays.
     * PSR-7 and PHP-PM's own classes are loaded in PHP-PM's version. Symfony's components and
     * `psr/log` come in the app's version, since PHP-PM accepts several.
     */
    public static function begin(Setup $setup): void
    {
        self::$setup = $setup;
        Library::load($setup, 'php_ppm', 'PHPPM\ProcessSlave');
        Library::loadPsr7();
        $others = spl_autoload_functions();
        (new FirstBoot($setup->dir))->runPart(static fn () => AppFactory::loadClasses($setup->app), SIGTERM);
        $own = static fn (string $class): bool => (bool) preg_match(self::OWN, $class);
        spl_autoload_register(static function (string $class) use ($others, $own): void {
            foreach ($own($class) ? $others : [] as $loader) {
                $loader($class);
            }
        }, true, true);
    }

    /**
     * PHP-PM writes the script of its workers itself, so only php.ini can load this library there:
     * the php.ini of the working directory, and one beside it.
     */
    private static function prepare(Setup $setup): void
    {
        $directory = "{$setup->dir}/tmp/php-cgi";
        if (!is_dir($directory)) {
            mkdir($directory);
        }
        $library = var_export(dirname(__DIR__, 2) . '/autoload.php', true);
        // PHP-PM itself counts requests and closes connections.
        $plan = clone $setup;
        $plan->settings = array_merge($setup->settings, ['max_requests' => 0, 'keep_alive' => true]);
        $plan = var_export(serialize($plan), true);
        file_put_contents("$directory/begin.php", "<?php\nrequire_once $library;\n"
            . self::class . "::begin(unserialize($plan));\n");
        file_put_contents("$directory/begin.ini", "auto_prepend_file=\"$directory/begin.php\"\n");
        // PHP-PM reads this file when it ends, even if it ends before it has written it.
        touch("{$setup->dir}/tmp/ppm.pid");
        putenv("PHPRC={$setup->dir}");
        putenv("PHP_INI_SCAN_DIR=$directory");
    }
}
