<?php

declare(strict_types=1);

// Planted fault: /files changes the working directory and does not change it back.

return [
    '/files' => static fn (): string => chdir(sys_get_temp_dir()) ? 'Files are kept elsewhere.' : '',
];
