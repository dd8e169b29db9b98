//! Parses a Rust file into a syntax tree, without the parts that the rule exempts: tests and
//! `main`.

use syn::{Attribute, ImplItem, Item, Meta, Token, punctuated::Punctuated};

use crate::tree::File;

/// One parsed file.
pub struct Source<'a> {
    /// The path below the workspace.
    pub path: &'a str,
    /// The file's syntax tree.
    pub syntax: syn::File,
}

impl<'a> Source<'a> {
    /// # Errors
    /// If the file is not Rust that `syn` can parse.
    pub fn read(file: &'a File) -> syn::Result<Source<'a>> {
        let mut syntax = syn::parse_file(&file.text)?;
        syntax.items.retain(|item| !matches!(item, Item::Fn(item) if item.sig.ident == "main"));
        match is_test(&syntax.attrs) {
            true => syntax.items.clear(),
            false => remove_tests(&mut syntax.items),
        }
        Ok(Source { path: &file.path, syntax })
    }
}

fn remove_tests(items: &mut Vec<Item>) {
    items.retain(|item| !is_test(attributes(item)));
    for item in items {
        match item {
            Item::Mod(module) => {
                if let Some((_, items)) = &mut module.content {
                    remove_tests(items);
                }
            }
            Item::Impl(item) => item
                .items
                .retain(|item| !matches!(item, ImplItem::Fn(method) if is_test(&method.attrs))),
            _ => {}
        }
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        // Other items contain no error type.
        _ => &[],
    }
}

/// `#[test]`, `#[cfg(test)]`, `#[cfg(all(test, …))]`.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.parse_args::<Meta>().is_ok_and(|condition| is_of_tests(&condition))
    })
}

fn is_of_tests(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("all") => parts(list).iter().any(is_of_tests),
        _ => false,
    }
}

fn parts(list: &syn::MetaList) -> Punctuated<Meta, Token![,]> {
    list.parse_args_with(Punctuated::parse_terminated).unwrap_or_default()
}

/// Whether the attributes contain `#[derive(Error)]` or `#[derive(thiserror::Error)]`.
pub fn derives_error(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("derive")).any(|attribute| {
        matches!(&attribute.meta, Meta::List(list) if parts(list).iter().any(|derived| {
            derived.path().segments.last().is_some_and(|last| last.ident == "Error")
        }))
    })
}

/// Whether an error's message is nothing but the value it holds: `#[error("{0}")]`,
/// `#[error("{reason}")]`, `#[error(transparent)]`.
pub fn adds_no_word(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("error")).any(|attribute| {
        let Meta::List(list) = &attribute.meta else { return false };
        let text = list.tokens.to_string();
        let inside = text.strip_prefix("\"{").and_then(|rest| rest.strip_suffix("}\""));
        text == "transparent" || inside.is_some_and(|name| !name.contains(['{', '}']))
    })
}
