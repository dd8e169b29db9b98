<?php

declare(strict_types=1);

// To PHP's own log, which every runtime keeps.
return [
    'default' => 'errorlog',
    'channels' => ['errorlog' => ['driver' => 'errorlog', 'level' => 'error']],
];
