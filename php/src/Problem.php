<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** Tells the user why a worker cannot begin or cannot go on. */
final class Problem extends \RuntimeException
{
}
