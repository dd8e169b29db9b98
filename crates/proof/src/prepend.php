<?php

// Says what this PHP is, to a request that has the token of this start; and writes it once for each
// process, for workers that take their requests from another program. All else goes on as without it.
$stampede = static function () {
    // A file that the project's own php.ini prepends.
    $before = static function () {
        $prepended = '';
        $files = array_map('trim', explode(',', (string) php_ini_scanned_files()));
        foreach (array_merge([(string) php_ini_loaded_file()], $files) as $file) {
            if ($file === '' || strpos($file, '/stampede/') === 0 || !is_readable($file)) {
                continue;
            }
            $values = @parse_ini_file($file, false, INI_SCANNER_RAW);
            if (is_array($values) && isset($values['auto_prepend_file'])) {
                $prepended = trim((string) $values['auto_prepend_file'], "\"' \t");
            }
        }
        return $prepended;
    };
    $facts = static function ($prepended) {
        $opcache = function_exists('opcache_get_status') ? @opcache_get_status(false) : false;
        $global = static function (array $entry) {
            return (string) $entry['global_value'];
        };
        $ini = array_map($global, ini_get_all());
        $ini['auto_prepend_file'] = $prepended;
        $directories = [PHP_CONFIG_FILE_PATH, dirname((string) php_ini_loaded_file())];
        $scanned = getenv('PHP_INI_SCAN_DIR');
        foreach (explode(PATH_SEPARATOR, $scanned === false ? '' : $scanned) as $directory) {
            $directories[] = $directory === '' ? PHP_CONFIG_FILE_SCAN_DIR : $directory;
        }
        foreach (explode(',', (string) php_ini_scanned_files()) as $file) {
            $directories[] = dirname(trim($file));
        }
        $outside = static function ($directory) {
            return strpos($directory, '/') === 0 && strpos($directory, '/stampede/') !== 0;
        };
        return json_encode([
            'service' => '{{ service }}',
            'pid' => getmypid(),
            'php_version' => PHP_VERSION,
            'sapi' => PHP_SAPI,
            'thread_safe' => (bool) PHP_ZTS,
            'extensions' => array_merge(get_loaded_extensions(), get_loaded_extensions(true)),
            'ini' => (object) $ini,
            'ini_directories' => array_values(array_unique(array_filter($directories, $outside))),
            'opcache' => (bool) ($opcache['opcache_enabled'] ?? false),
            'jit' => (bool) ($opcache['jit']['on'] ?? false),
            'preloaded' => count($opcache['preload_statistics']['scripts'] ?? []),
        ], JSON_INVALID_UTF8_SUBSTITUTE);
    };
    $prepended = $before();
    if (hash_equals('{{ token }}', (string) ($_SERVER['HTTP_X_STAMPEDE_PROOF'] ?? ''))) {
        header('Content-Type: application/json');
        header('Cache-Control: no-store');
        echo $facts($prepended);
        exit;
    }
    $file = '/stampede/started/' . getmypid() . '.json';
    if (!file_exists($file)) {
        @file_put_contents($file, $facts($prepended), LOCK_EX);
    }
    return $prepended;
};
$stampede = $stampede();
if ($stampede !== '') {
    require $stampede;
}
unset($stampede);
