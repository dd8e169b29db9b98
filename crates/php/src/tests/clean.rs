//! Code without suspects: modern syntax, and the project's own apps.

use std::path::Path;

use super::*;

/// A controller, a service and an enum with the syntax of PHP 8.1 to 8.4.
const MODERN: &str = r#"<?php

declare(strict_types=1);

namespace App\Controller;

use Symfony\Component\HttpFoundation\{JsonResponse, Request, RequestStack, Response};
use function array_map;
use const PHP_EOL;

#[Route('/cart', name: 'cart', methods: ['GET', 'POST'])]
final readonly class CartController extends AbstractController
{
    public const string LIST = 'list';

    public function __construct(
        private CartRepository $carts,
        private RequestStack $requests,
        #[Autowire('%kernel.debug%')] private bool $debug = false,
    ) {
    }

    public function __invoke(Request $request, ?User $user = null): Response
    {
        $format = strtoupper(...);
        $lines = array_map(static fn (Line $line): string => $format($line->name), $this->carts->all());
        $state = match (true) {
            $lines === [] => State::Empty,
            count($lines) > 10, $user?->isVip() => State::Large,
            default => throw new \LogicException(message: 'no state'),
        };
        $text = <<<TEXT
            Hello {$user?->name}, exit is no word here; header('a') neither.
              Total: ${lines}
            TEXT;
        $raw = <<<'RAW'
            die; $_SESSION['a'] = 1;
            RAW;

        return new JsonResponse(['state' => $state->value, ...$lines, 'text' => $text . PHP_EOL . $raw]);
    }
}

enum State: string implements HasLabel
{
    case Empty = 'empty';
    case Large = 'large';

    public static function fallback(): self => self::Empty;
}
"#;

const HOOKS: &str = r#"<?php
namespace App;

final class Product
{
    public string $name {
        get => ucfirst($this->name);
        set (string $value) {
            if ($value === '') {
                throw new \ValueError();
            }
            $this->name = $value;
        }
    }

    public private(set) int $price = 0;

    abstract public string $sku { get; }

    public function next(): ?self
    {
        return new Product()->first()?->next ?? $this->other |> strtolower(...);
    }
}
"#;

#[test]
fn a_modern_controller_has_no_suspects() {
    let code = MODERN.replace(" => self::Empty;", " { return self::Empty; }");
    assert_eq!(
        suspects_of_file(AppKind::Symfony, "src/Controller/CartController.php", &code),
        [""; 0]
    );
}

#[test]
fn property_hooks_are_methods() {
    let code = HOOKS.replace(" |> strtolower(...)", "");
    assert_eq!(suspects_of_file(AppKind::Symfony, "src/Product.php", &code), [""; 0]);
    let code = code.replace("$this->name = $value;", "self::$names[] = $value;");
    assert_eq!(
        suspects_of_file(AppKind::Symfony, "src/Product.php", &code),
        ["12 static-written App\\Product::$names[] (grows) @ App\\Product::set"]
    );
}

#[test]
fn php_within_html_is_read() {
    let page = "<html><?php foreach ($lines as $line): ?>\n<b><?= $_GET['a'] ?></b>\n\
                <?php endforeach; if ($a): ?>x<?php exit; endif ?>\n</html>";
    assert_eq!(
        suspects_of_file(AppKind::Symfony, "templates/page.php", page),
        ["2 superglobal $_GET", "3 exit exit"]
    );
    let old = "<?php function show() { ?><b><?php echo 1; ?></b><?php }";
    assert_eq!(suspects_of_file(AppKind::Symfony, "templates/old.php", old), [""; 0]);
}

#[test]
fn names_are_resolved_in_each_namespace_of_a_file() {
    let code = "<?php\nnamespace A { use L\\C; function f() { C::$x = g(); } }\n\
                namespace { class D { static $x; static function f() { self::$x = g(); C::$y = g(); } } }";
    assert_eq!(
        suspects_of_file(AppKind::Symfony, "src/a.php", code),
        [
            "2 static-written L\\C::$x @ A\\f",
            "3 static-written D::$x @ D::f",
            "3 static-written C::$y @ D::f",
        ]
    );
}

#[test]
fn suspects_in_anonymous_classes_and_closures_have_a_location() {
    let code = "<?php namespace A;\nRoute::get('/', function () { exit; });\n\
                function f() { return new class { static $x; function g() { self::$x = h(); } }; }\n\
                trait T { static $t; function g() { static::$t[] = h(); } }";
    assert_eq!(
        suspects_of_file(AppKind::Laravel, "routes/web.php", code),
        [
            "2 exit exit @ {closure}",
            "3 static-written class@anonymous::$x @ class@anonymous::g",
            "4 static-written A\\T::$t[] (grows) @ A\\T::g",
        ]
    );
}

#[test]
fn the_bundled_apps_have_no_suspects() {
    let apps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps");
    for (app, kind) in [
        ("cpu", AppKind::Callable),
        ("db-read", AppKind::Callable),
        ("db-write", AppKind::Callable),
        ("download", AppKind::Callable),
        ("hello", AppKind::Callable),
        ("laravel", AppKind::Laravel),
        ("lumen", AppKind::Lumen),
        ("memory", AppKind::Callable),
        ("sleep", AppKind::Callable),
        ("symfony", AppKind::Symfony),
        ("symfony-db", AppKind::Symfony),
        ("symfony-twig", AppKind::Symfony),
        ("upload", AppKind::Callable),
    ] {
        let scan = scan(&apps.join(app), kind);
        assert!(scan.files > 0, "{app}");
        assert_eq!((scan.suspects, scan.unread), (vec![], vec![]), "{app}");
    }
}
