<?php

declare(strict_types=1);

// Planted fault: /preview sets a value of $_ENV, and / shows drafts to everyone from then on.

return [
    '/' => static fn (): string => ($_ENV['SHOP_DRAFTS'] ?? 'no') === 'yes' ? 'Drafts.' : 'What is published.',
    '/preview' => static fn (): string => ($_ENV['SHOP_DRAFTS'] = 'yes') ? 'A preview.' : '',
];
