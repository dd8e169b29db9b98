<?php

declare(strict_types=1);

$router->get('/', 'HomeController');
$router->post('/form', 'KindController@form');
$router->get('/cookies', 'KindController@cookies');
$router->post('/upload', 'KindController@upload');
