<?php

declare(strict_types=1);

// Planted fault: /staging sets an environment variable, which changes / from then on.

return [
    '/' => static fn (): string => 'The ' . (getenv('SHOP_STAGE') ?: 'real') . ' shop.',
    '/staging' => static fn (): string => putenv('SHOP_STAGE=staging') ? 'As on the staging machine.' : '',
];
