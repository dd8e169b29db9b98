<?php

declare(strict_types=1);

// What needs cookies and a session; the article's app has nothing of it.
