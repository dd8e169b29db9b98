//! Resolves names as PHP does, with the namespace and the imports above them.

use std::collections::HashMap;

use tree_sitter::Node;

use super::tree::{child, children, text};

/// The namespace and the imports that apply at one place of a file.
#[derive(Default)]
pub(super) struct Names {
    namespace: String,
    /// Alias in lower case → the full name of the class.
    classes: HashMap<String, String>,
    /// Alias in lower case → the full name of the function.
    functions: HashMap<String, String>,
}

impl Names {
    /// Enters a `namespace`, which ends the imports of the one before.
    pub fn enter(&mut self, definition: Node, source: &[u8]) {
        let name = definition.child_by_field_name("name");
        *self = Names::default();
        self.namespace = name.map(|name| compact(text(name, source))).unwrap_or_default();
    }

    /// Takes a `use` at the top of a file.
    pub fn import(&mut self, declaration: Node, source: &[u8]) {
        let group = declaration.child_by_field_name("body");
        let prefix = group.and_then(|_| child(declaration, "namespace_name"));
        let prefix = prefix.map(|name| compact(text(name, source)));
        let of_all = declaration.child_by_field_name("type").map(|word| text(word, source));
        for clause in children(group.unwrap_or(declaration)) {
            if clause.kind() != "namespace_use_clause" {
                continue;
            }
            let word = clause.child_by_field_name("type").map(|word| text(word, source));
            let alias = clause.child_by_field_name("alias");
            let name = children(clause)
                .into_iter()
                .find(|part| matches!(part.kind(), "name" | "qualified_name" | "namespace_name"));
            let Some(name) = name.map(|name| compact(text(name, source))) else { continue };
            let whole = match &prefix {
                Some(prefix) => format!("{prefix}\\{name}"),
                None => name,
            };
            let alias = alias.map_or_else(|| short(&whole), |alias| text(alias, source));
            let alias = alias.to_ascii_lowercase();
            match word.or(of_all) {
                None => self.classes.insert(alias, whole),
                Some("function") => self.functions.insert(alias, whole),
                Some(_) => None,
            };
        }
    }

    /// Returns the full name of a class, without a leading backslash.
    pub fn class(&self, name: &str) -> String {
        let name = compact(name);
        let (first, rest) = name.split_once('\\').map_or((&*name, None), |(a, b)| (a, Some(b)));
        if first.eq_ignore_ascii_case("namespace") {
            return self.inside(rest.unwrap_or_default());
        }
        match (self.classes.get(&first.to_ascii_lowercase()), rest) {
            _ if name.starts_with('\\') => name.trim_start_matches('\\').to_owned(),
            (Some(whole), Some(rest)) => format!("{whole}\\{rest}"),
            (Some(whole), None) => whole.clone(),
            (None, _) => self.inside(&name),
        }
    }

    /// Returns the full name of something that is declared here.
    pub fn inside(&self, name: &str) -> String {
        match self.namespace.is_empty() {
            true => name.to_owned(),
            false => format!("{}\\{name}", self.namespace),
        }
    }

    /// Returns the name of PHP's own function that a call names, in lower case; `None` for other
    /// functions.
    pub fn function(&self, name: &str) -> Option<String> {
        let name = compact(name).to_ascii_lowercase();
        let global = name.trim_start_matches('\\');
        if global.contains('\\') {
            return None;
        }
        let imported = self.functions.get(global).filter(|_| !name.starts_with('\\'));
        match imported {
            Some(whole) if whole.contains('\\') => None,
            Some(whole) => Some(whole.to_ascii_lowercase()),
            None => Some(global.to_owned()),
        }
    }
}

/// Returns the last part of a name.
pub(super) fn short(name: &str) -> &str {
    name.rsplit('\\').next().unwrap_or(name)
}

/// Removes white space: older PHP allows it around the backslashes.
fn compact(name: &str) -> String {
    name.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree;

    fn names(source: &str) -> Names {
        let parsed = tree::parse(&mut tree::parser(), source.as_bytes()).unwrap();
        let mut names = Names::default();
        for node in children(parsed.root_node()) {
            match node.kind() {
                "namespace_definition" => names.enter(node, source.as_bytes()),
                "namespace_use_declaration" => names.import(node, source.as_bytes()),
                _ => {}
            }
        }
        names
    }

    #[test]
    fn a_class_is_named_as_php_resolves_it() {
        let names = names(
            "<?php namespace App\\Shop; use Lib\\Cart; use Lib\\{Tax, Deep\\Sum as Total};\n\
             use Other as Alias, A\\B;",
        );
        for (written, whole) in [
            ("Order", "App\\Shop\\Order"),
            ("Cart", "Lib\\Cart"),
            ("cart", "Lib\\Cart"),
            ("Cart\\Line", "Lib\\Cart\\Line"),
            ("\\Cart", "Cart"),
            ("\\Lib\\Cart", "Lib\\Cart"),
            ("Tax", "Lib\\Tax"),
            ("Total", "Lib\\Deep\\Sum"),
            ("Alias", "Other"),
            ("B", "A\\B"),
            ("namespace\\Order", "App\\Shop\\Order"),
        ] {
            assert_eq!(names.class(written), whole, "{written}");
        }
    }

    #[test]
    fn a_function_of_another_namespace_is_not_a_builtin_function() {
        let names = names(
            "<?php namespace App; use function Lib\\header; use function strlen as length;\n\
             use function Lib\\{putenv};",
        );
        assert_eq!(names.function("header"), None);
        assert_eq!(names.function("putenv"), None);
        assert_eq!(names.function("\\Header").as_deref(), Some("header"));
        assert_eq!(names.function("length").as_deref(), Some("strlen"));
        assert_eq!(names.function("ini_set").as_deref(), Some("ini_set"));
        assert_eq!(names.function("Lib\\ini_set"), None);
    }

    #[test]
    fn a_second_namespace_begins_without_imports() {
        let names = names("<?php namespace A; use Lib\\Cart; namespace B;");
        assert_eq!(names.class("Cart"), "B\\Cart");
    }
}
