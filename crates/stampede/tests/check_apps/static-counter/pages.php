<?php

declare(strict_types=1);

// Planted fault: /visits counts up for as long as the process lives.

return [
    '/visits' => static function (): string {
        static $visits = 0;

        return 'Visitor number ' . ++$visits;
    },
];
