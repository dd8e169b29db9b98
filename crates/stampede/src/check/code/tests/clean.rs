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
fn a_modern_controller_says_nothing() {
    let code = MODERN.replace(" => self::Empty;", " { return self::Empty; }");
    assert_eq!(said_of(AppKind::Symfony, "src/Controller/CartController.php", &code), [""; 0]);
}

#[test]
fn property_hooks_are_methods() {
    let code = HOOKS.replace(" |> strtolower(...)", "");
    assert_eq!(said_of(AppKind::Symfony, "src/Product.php", &code), [""; 0]);
    let code = code.replace("$this->name = $value;", "self::$names[] = $value;");
    assert_eq!(
        said_of(AppKind::Symfony, "src/Product.php", &code),
        ["12 static-written App\\Product::$names[] (grows) @ App\\Product::set"]
    );
}

#[test]
fn a_page_with_php_in_it_is_read() {
    let page = "<html><?php foreach ($lines as $line): ?>\n<b><?= $_GET['a'] ?></b>\n\
                <?php endforeach; if ($a): ?>x<?php exit; endif ?>\n</html>";
    assert_eq!(
        said_of(AppKind::Symfony, "templates/page.php", page),
        ["2 superglobal $_GET", "3 exit exit"]
    );
    let old = "<?php function show() { ?><b><?php echo 1; ?></b><?php }";
    assert_eq!(said_of(AppKind::Symfony, "templates/old.php", old), [""; 0]);
}

#[test]
fn two_namespaces_in_a_file_have_their_own_names() {
    let code = "<?php\nnamespace A { use L\\C; function f() { C::$x = g(); } }\n\
                namespace { class D { static $x; static function f() { self::$x = g(); C::$y = g(); } } }";
    assert_eq!(
        said_of(AppKind::Symfony, "src/a.php", code),
        [
            "2 static-written L\\C::$x @ A\\f",
            "3 static-written D::$x @ D::f",
            "3 static-written C::$y @ D::f",
        ]
    );
}

#[test]
fn a_class_without_a_name_and_a_closure_have_a_place() {
    let code = "<?php namespace A;\nRoute::get('/', function () { exit; });\n\
                function f() { return new class { static $x; function g() { self::$x = h(); } }; }\n\
                trait T { static $t; function g() { static::$t[] = h(); } }";
    assert_eq!(
        said_of(AppKind::Laravel, "routes/web.php", code),
        [
            "2 exit exit @ {closure}",
            "3 static-written class@anonymous::$x @ class@anonymous::g",
            "4 static-written A\\T::$t[] (grows) @ A\\T::g",
        ]
    );
}

#[test]
fn our_own_apps_say_nothing() {
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
        let look = look(&apps.join(app), kind);
        assert!(look.files > 0, "{app}");
        assert_eq!((look.suspects, look.unread), (vec![], vec![]), "{app}");
    }
}
