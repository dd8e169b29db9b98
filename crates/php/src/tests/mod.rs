//! Snippets of PHP with their suspects, kind by kind: what is reported, and what is accepted.

mod clean;
mod keeps;
mod process;
mod state;
mod torn;
mod whole;

use stampede_model::app_kind::AppKind;

use super::{SuspectKind, scan};

/// Returns the suspects of one file: `line kind what @ within`.
fn suspects_of_file(app: AppKind, file: &str, code: &str) -> Vec<String> {
    suspects_of(app, &[(file, code)])
}

/// Returns the suspects of an app with these files.
fn suspects_of(app: AppKind, files: &[(&str, &str)]) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    for (file, code) in files {
        let path = directory.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, code).unwrap();
    }
    let scan = scan(directory.path(), app);
    assert_eq!(scan.unread, [], "{files:?}");
    scan.suspects
        .iter()
        .map(|suspect| {
            let kind = serde_json::to_value(suspect.kind).unwrap();
            let place = format!("{} {}", suspect.line, kind.as_str().unwrap());
            match suspect.within.is_empty() {
                true => format!("{place} {}", suspect.what),
                false => format!("{place} {} @ {}", suspect.what, suspect.within),
            }
        })
        .collect()
}

/// Returns the suspects of a method body in a Symfony service.
fn in_method(body: &str) -> Vec<(SuspectKind, String)> {
    in_method_of(AppKind::Symfony, body)
}

/// Returns the suspects of a method body in an app of another kind.
fn in_method_of(app: AppKind, body: &str) -> Vec<(SuspectKind, String)> {
    let code = format!(
        "<?php namespace App; use Lib\\Other; class Cart extends Basket {{\n\
         private static $x; public function add($a, $b) {{ {body} }} }}"
    );
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("src")).unwrap();
    std::fs::write(directory.path().join("src/Cart.php"), code).unwrap();
    let scan = scan(directory.path(), app);
    assert_eq!(scan.unread, [], "{body}");
    for suspect in &scan.suspects {
        assert!(suspect.within.ends_with("Cart::add"), "{suspect:?}");
    }
    scan.suspects.into_iter().map(|suspect| (suspect.kind, suspect.what)).collect()
}

/// Checks that each body has exactly this suspect.
fn each_names(kind: SuspectKind, bodies: &[(&str, &str)]) {
    for (body, what) in bodies {
        assert_eq!(in_method(body), [(kind, (*what).to_owned())], "{body}");
    }
}

/// Checks that no body has a suspect.
fn none_names_any(bodies: &[&str]) {
    for body in bodies {
        assert_eq!(in_method(body), [], "{body}");
    }
}
