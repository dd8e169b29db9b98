<?php
// Shows what this SAPI really is. Put beside the app's front controller in the work
// directory's copy, under a name that nobody can guess; the app itself is unchanged.
$stampede = ['seen' => []];
// What an earlier request planted must be gone.
foreach ([
    'global' => isset($GLOBALS['stampede_canary']),
    'server' => isset($_SERVER['STAMPEDE_CANARY']),
    'environment' => getenv('STAMPEDE_CANARY') !== false,
    'constant' => defined('STAMPEDE_CANARY'),
    'php.ini' => ini_get('user_agent') === 'stampede-canary',
    'function' => function_exists('stampede_canary'),
    'class' => class_exists('StampedeCanary', false),
    'header' => (bool) preg_grep('/^X-Stampede-Canary:/i', headers_list()),
    'working directory' => getcwd() === sys_get_temp_dir(),
] as $name => $visible) {
    if ($visible) {
        $stampede['seen'][] = $name;
    }
}
// A worker keeps what was planted: what can be taken back is, before it says what it is.
putenv('STAMPEDE_CANARY');
ini_restore('user_agent');
unset($GLOBALS['stampede_canary']);
$stampede['pid'] = getmypid();
if (isset($_GET['sleep_ms'])) {
    usleep(1000 * min(2000, (int) $_GET['sleep_ms']));
}
if (isset($_GET['show'])) {
    $opcache = function_exists('opcache_get_status') ? @opcache_get_status(false) : false;
    $stampede['php_version'] = PHP_VERSION;
    $stampede['sapi'] = PHP_SAPI;
    $stampede['thread_safe'] = (bool) PHP_ZTS;
    $stampede['extensions'] = array_merge(get_loaded_extensions(), get_loaded_extensions(true));
    // Not the values of now: an app that stays in memory has set some for itself.
    $global = static function (array $entry) { return (string) $entry['global_value']; };
    // `Locale::setDefault` sets this one for good: it is the app's, and not of php.ini.
    $ini = array_diff_key(ini_get_all(), ['intl.default_locale' => 0]);
    $stampede['ini'] = (object) array_map($global, $ini);
    $stampede['opcache'] = (bool) ($opcache['opcache_enabled'] ?? false);
    $stampede['preloaded'] = count($opcache['preload_statistics']['scripts'] ?? []);
    if ($opcache) {
        $memory = $opcache['memory_usage'] ?? [];
        $kept = $opcache['opcache_statistics'] ?? [];
        $number = static function (array $from, $key) { return (int) ($from[$key] ?? 0); };
        $used = $number($memory, 'used_memory') + $number($memory, 'wasted_memory');
        $files = $number($kept, 'num_cached_keys');
        $most = $number($kept, 'max_cached_keys');
        $stampede['opcache_state'] = [
            'full' => !empty($opcache['cache_full']) || ($most > 0 && $files >= $most),
            'used_bytes' => $used,
            'memory_bytes' => $used + $number($memory, 'free_memory'),
            'files' => $files,
            'files_max' => $most,
            'misses' => $number($kept, 'misses'),
            'restarts' => $number($kept, 'oom_restarts') + $number($kept, 'hash_restarts'),
        ];
    }
    $stampede['jit'] = (bool) ($opcache['jit']['on'] ?? false);
}
if (isset($_GET['plant'])) {
    $GLOBALS['stampede_canary'] = $_SERVER['STAMPEDE_CANARY'] = 1;
    putenv('STAMPEDE_CANARY=1');
    ini_set('user_agent', 'stampede-canary');
    // Where a worker keeps them, a second declaration would end it before it could say so.
    defined('STAMPEDE_CANARY') || define('STAMPEDE_CANARY', 1);
    if (!function_exists('stampede_canary')) {
        function stampede_canary() {}
    }
    if (!class_exists('StampedeCanary', false)) {
        class StampedeCanary {}
    }
    header('X-Stampede-Canary: 1');
    chdir(sys_get_temp_dir());
}
header('Content-Type: application/json');
echo json_encode($stampede, JSON_INVALID_UTF8_SUBSTITUTE);
