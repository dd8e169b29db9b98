<?php

declare(strict_types=1);

// Routes that need cookies and a session; the article's app has none.
