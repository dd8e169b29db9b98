<?php

declare(strict_types=1);

// Planted fault: /files works in another directory and does not go back.

return [
    '/files' => static fn (): string => chdir(sys_get_temp_dir()) ? 'Files are kept elsewhere.' : '',
];
