<?php

declare(strict_types=1);

// Writes to PHP's own log, which every runtime keeps.
return [
    'default' => 'errorlog',
    'channels' => ['errorlog' => ['driver' => 'errorlog', 'level' => 'error']],
];
