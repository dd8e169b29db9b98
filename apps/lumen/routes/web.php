<?php

declare(strict_types=1);

$router->get('/', 'HomeController');
