//! The rule that errors have types of their own: a bare text can be printed, but not matched.
//!
//! The rule walks the syntax tree of every Rust file. The arguments of a macro are not part of that
//! tree, so they are not searched.

mod names;
mod source;
#[cfg(test)]
mod tests;

use syn::visit::{self, Visit};
use syn::{
    AssocType, Ident, ImplItemType, ItemEnum, ItemImpl, ItemStruct, ItemType, PathSegment, Type,
};

use self::names::{Names, only_field_type, type_arguments};
use self::source::{Source, adds_no_word, derives_error};
use super::Finding;
use crate::tree::Tree;

const MESSAGE: &str =
    "a text stands for an error: make it a type with the facts (STYLE.md, errors)";

/// No error in a `Result`, an alias or a newtype may be a bare text. Tests and `main` are exempt.
pub fn typed(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut sources = Vec::new();
    for file in tree.files().iter().filter(|file| file.extension() == "rs" && !file.is_test()) {
        match Source::read(file) {
            Ok(source) => sources.push(source),
            Err(why) => {
                let line = why.span().start().line;
                findings.push(Finding::new(&file.path, line, format!("cannot be read: {why}")));
            }
        }
    }
    let names = Names::of(&sources);
    for source in &sources {
        let mut search = Search { names: &names, path: source.path, lines: Vec::new() };
        search.visit_file(&source.syntax);
        // The walk reaches a nested `Result` twice.
        search.lines.sort_unstable();
        search.lines.dedup();
        findings.extend(search.lines.iter().map(|line| Finding::new(source.path, *line, MESSAGE)));
    }
    findings
}

/// The search in one file.
struct Search<'a> {
    names: &'a Names<'a>,
    path: &'a str,
    lines: Vec<usize>,
}

impl Search<'_> {
    fn found(&mut self, at: &Ident) {
        self.lines.push(at.span().start().line);
    }

    fn check(&mut self, at: &Ident, error: &Type) {
        if self.names.is_text(self.path, error) {
            self.found(at);
        }
    }

    /// Checks a type that calls itself an error but holds no more than a text.
    fn check_definition(&mut self, name: &Ident) {
        if self.names.means_text(self.path, name) {
            self.found(name);
        }
    }
}

impl<'a> Visit<'a> for Search<'_> {
    /// `Result<T, E>`, `Ok::<T, E>`, `Err::<T, E>`, and an alias of these with its own parameters.
    fn visit_path_segment(&mut self, segment: &'a PathSegment) {
        for place in self.names.error_places(self.path, &segment.ident) {
            if let Some(error) = type_arguments(segment).nth(place) {
                self.check(&segment.ident, error);
            }
        }
        visit::visit_path_segment(self, segment);
    }

    /// `type Problem<T, E = String> = Result<T, E>`.
    fn visit_item_type(&mut self, alias: &'a ItemType) {
        let places = self.names.error_places(self.path, &alias.ident);
        let defaults = alias.generics.type_params().map(|parameter| parameter.default.as_ref());
        for (_, default) in defaults.enumerate().filter(|(place, _)| places.contains(place)) {
            if let Some((_, default)) = default {
                self.check(&alias.ident, default);
            }
        }
        visit::visit_item_type(self, alias);
    }

    /// `type Err = String` of `FromStr`.
    fn visit_impl_item_type(&mut self, item: &'a ImplItemType) {
        if is_error_name(&item.ident) {
            self.check(&item.ident, &item.ty);
        }
        visit::visit_impl_item_type(self, item);
    }

    /// `impl FromStr<Err = String>`.
    fn visit_assoc_type(&mut self, item: &'a AssocType) {
        if is_error_name(&item.ident) {
            self.check(&item.ident, &item.ty);
        }
        visit::visit_assoc_type(self, item);
    }

    fn visit_item_struct(&mut self, item: &'a ItemStruct) {
        if derives_error(&item.attrs) {
            self.check_definition(&item.ident);
        }
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'a ItemEnum) {
        if derives_error(&item.attrs) {
            self.check_definition(&item.ident);
            // A variant that adds no words to a text it holds, even beside variants with facts.
            for variant in item.variants.iter().filter(|one| adds_no_word(&one.attrs)) {
                if let Some(held) = only_field_type(&variant.fields) {
                    self.check(&variant.ident, held);
                }
            }
        }
        visit::visit_item_enum(self, item);
    }

    fn visit_item_impl(&mut self, item: &'a ItemImpl) {
        if let Some((of, _)) = &item.trait_
            && let Some(last) = of.segments.last()
            && last.ident == "Error"
        {
            self.check(&last.ident, &item.self_ty);
        }
        visit::visit_item_impl(self, item);
    }
}

/// Whether the name is one that standard traits give to their error type.
fn is_error_name(name: &Ident) -> bool {
    name == "Err" || name == "Error"
}
