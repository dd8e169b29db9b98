//! Tests of what the rule finds, and what it does not report.

use super::*;

fn lines(path: &str, text: &str) -> Vec<usize> {
    typed(&Tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect()
}

fn is_found(text: &str) -> bool {
    !lines("crates/a/src/a.rs", text).is_empty()
}

#[test]
fn a_text_for_an_error_is_found_with_its_line() {
    let found = typed(&Tree::of(&[(
        "crates/a/src/a.rs",
        "struct A;\n\nfn f(\n    text: &str,\n) -> Result<A, String> {\n    g(text)\n}\n",
    )]));
    let found: Vec<String> = found.iter().map(Finding::to_string).collect();
    assert_eq!(
        found,
        ["crates/a/src/a.rs:5: a text stands for an error: make it a type with the facts \
          (STYLE.md, errors)"]
    );
}

#[test]
fn every_kind_of_text_is_found() {
    for text in [
        "String",
        "std::string::String",
        "&str",
        "&'static str",
        "Cow<'static, str>",
        "std::borrow::Cow<'a, str>",
        "Box<str>",
        "std::sync::Arc<str>",
        "Rc<String>",
        "&String",
        "(String)",
        "(usize, String)",
        "OsString",
    ] {
        assert!(is_found(&format!("fn f() -> Result<u8, {text}> {{ g() }}\n")), "{text}");
    }
}

#[test]
fn every_place_of_a_type_is_searched() {
    for code in [
        "type Count = Option<Result<u64, String>>;",
        "struct S { printed: Option<Result<String, String>> }",
        "enum E { A(Vec<Result<u8, String>>) }",
        "static KNOWN: Cache<Result<String, String>> = Cache::new();",
        "const PARSE: fn(&str) -> Result<u8, String> = parse;",
        "fn f(run: impl Fn() -> Result<(), String>) {}",
        "fn f<F>(run: F) where F: FnOnce(u8) -> Result<(), String> {}",
        "fn f(run: &dyn Fn() -> std::result::Result<(), String>) {}",
        "fn f() { let g = |x: u8| -> Result<u8, String> { h(x) }; }",
        "fn f() { let all = texts.iter().map(g).collect::<Result<Vec<u8>, String>>(); }",
        "fn f() { let all: Result<Vec<u8>, &str> = g(); }",
        "fn f() { g(Ok::<_, String>(1)); }",
        "fn f() { g(Err::<u8, &str>(text)); }",
        "fn f() { g(Result::<u8, String>::Ok(1)); }",
        "fn f() -> Result<Result<u8, String>, io::Error> { g() }",
        "trait T { fn f(&self) -> Result<(), String>; }",
        "impl S { fn f(&self) -> Result<(), String> { g() } }",
        "mod inner { fn f() -> Result<(), String> { g() } }",
        "fn f() { fn g() -> Result<(), String> { h() } }",
        "impl FromStr for S { type Err = String; }",
        "impl TryFrom<u8> for S { type Error = &'static str; }",
        "fn f<T: FromStr<Err = String>>() {}",
    ] {
        assert!(is_found(code), "{code}");
    }
}

#[test]
fn a_text_under_another_name_is_found() {
    for code in [
        "type Why = String; fn f() -> Result<u8, Why> { g() }",
        "type Why = Box<str>; type Cause = Why; fn f() -> Result<u8, Cause> { g() }",
        "use std::string::String as Text; fn f() -> Result<u8, Text> { g() }",
        "struct FooError(String); fn f() -> Result<u8, FooError> { g() }",
        "struct FooError(pub &'static str); fn f() -> Result<u8, Box<FooError>> { g() }",
        "enum FooError { Read(String), Write(String) } fn f() -> Result<u8, FooError> { g() }",
        "type Fallible<T, E = String> = Result<T, E>;",
        "type Fallible<T, E = Lost> = Result<T, E>; fn f() -> Fallible<u8, String> { g() }",
        "type Doubtful<E, T> = Option<Result<T, E>>; fn f() -> Doubtful<String, u8> { g() }",
        "struct FooError(String); impl std::error::Error for FooError {}",
        "#[derive(Debug, thiserror::Error)] #[error(\"it failed: {0}\")] struct FooError(String);",
        "#[derive(Error)] #[error(\"{reason}\")] struct FooError { reason: String }",
        "#[derive(Error)] enum FooError { #[error(\"{0}\")] A(String) }",
        "#[derive(Error)] enum FooError { #[error(\"{0}\")] A(String), #[error(\"b\")] B(u8) }",
    ] {
        assert!(is_found(code), "{code}");
    }
}

#[test]
fn types_with_facts_are_left_alone() {
    for code in [
        "fn f() -> Result<String, Error> { g() }",
        "fn f() -> Result<BTreeMap<String, String>, PlanError> { g() }",
        "fn f() -> io::Result<String> { g() }",
        "fn f() -> Result<(String, String), std::num::ParseIntError> { g() }",
        "fn f() -> Option<String> { g() }",
        "type Texts = Vec<String>; fn f() -> Result<Texts, Error> { g() }",
        "type Pair<T> = (T, String); fn f() -> Pair<u8> { g() }",
        "type Fallible<T, E = Lost> = Result<T, E>; fn f() -> Fallible<String> { g() }",
        "type Fallible<T> = Result<T, Lost>; fn f() -> Fallible<String> { g() }",
        "struct Name(String); fn f() -> Result<Name, Error> { g() }",
        "struct FooError { path: String, line: u64 } fn f() -> Result<u8, FooError> { g() }",
        "#[derive(Error)] #[error(\"no runtime `{name}`\")] struct FooError { name: String }",
        "enum FooError { Read(String), Status(u16) } fn f() -> Result<u8, FooError> { g() }",
        "#[derive(Error)] enum FooError { #[error(\"no key `{0}`\")] A(String), B(u8) }",
        "#[derive(Error)] enum FooError { #[error(\"{0}\")] A(io::Error), B(u8) }",
        "enum Never {} fn f() -> Result<u8, Never> { g() }",
        "type A = B; type B = A; fn f() -> Result<u8, A> { g() }",
        "impl Iterator for S { type Item = String; }",
        "/// Like `Result<u8, String>`.\nfn f() { g(\"Result<u8, String>\"); }",
    ] {
        assert!(!is_found(code), "{code}");
    }
}

#[test]
fn tests_and_main_are_left_alone() {
    let code = "fn f() -> Result<u8, String> { g() }";
    assert!(!is_found(&format!("#[cfg(test)]\nmod tests {{ {code} }}")));
    assert!(!is_found(&format!("#[cfg(all(test, unix))]\nmod tests {{ {code} }}")));
    assert!(!is_found(&format!("#[cfg(test)]\n{code}")));
    assert!(!is_found(&format!("impl S {{ #[cfg(test)] {code} }}")));
    assert!(!is_found(&format!("#![cfg(test)]\n{code}")));
    assert!(!is_found("fn main() -> Result<(), String> { g() }"));
    assert!(lines("crates/a/tests/a.rs", code).is_empty());
    assert!(lines("crates/a/src/a_tests.rs", code).is_empty());
    // Code that is also compiled without tests is not a test.
    assert!(is_found(&format!("#[cfg(not(test))]\n{code}")));
    assert!(is_found(&format!("#[cfg(any(test, unix))]\n{code}")));
    assert!(is_found(&format!("mod inner {{ fn main() {{}} {code} }}")));
    // Nor is the code that follows a test module.
    assert_eq!(lines("a/src/a.rs", &format!("#[cfg(test)]\nmod t {{}}\n{code}\n")), [3]);
}

#[test]
fn a_name_refers_to_the_nearest_definition() {
    let text = "pub struct Failure(String);";
    let facts = "pub struct Failure { status: u16, url: String }";
    let user = "fn f() -> Result<u8, Failure> { g() }";
    let found = |files: &[(&str, &str)]| {
        let findings = typed(&Tree::of(files));
        findings.into_iter().map(|finding| finding.path).collect::<Vec<_>>()
    };
    let [own, user_path, other] =
        ["crates/a/src/own.rs", "crates/a/src/user.rs", "crates/b/src/lib.rs"];
    assert_eq!(found(&[(own, text), (user_path, user)]), [user_path]);
    assert_eq!(found(&[(other, text), (user_path, user)]), [user_path]);
    assert!(found(&[(own, facts), (other, text), (user_path, user)]).is_empty());
    assert!(found(&[(own, text), (user_path, &format!("{facts} {user}"))]).is_empty());
}

#[test]
fn a_file_that_is_not_rust_is_reported() {
    let found = typed(&Tree::of(&[("a.rs", "fn f() {}\nfn (\n")]));
    assert_eq!(found.len(), 1);
    assert!(found[0].to_string().starts_with("a.rs:2: cannot be read: "), "{}", found[0]);
}
