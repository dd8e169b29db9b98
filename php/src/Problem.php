<?php

declare(strict_types=1);

namespace Stampede\Worker;

/** Why a worker cannot begin or go on, in words for the one who set it up. */
final class Problem extends \RuntimeException
{
}
