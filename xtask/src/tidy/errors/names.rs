//! Resolves the names of our own types, to tell which of them is only a text under another name.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};
use syn::{
    Attribute, Fields, GenericArgument, Ident, ItemEnum, ItemStruct, ItemType, PathArguments,
    PathSegment, Type, UseRename,
};

use super::source::{Source, adds_no_word};

/// Text types of the standard library. A wrapper around them changes nothing.
const TEXTS: &[&str] = &["String", "str", "OsString", "OsStr"];
const WRAPPERS: &[&str] = &["Box", "Rc", "Arc", "Cow"];

/// Names whose second type parameter is the error.
const RESULTS: &[&str] = &["Result", "Ok", "Err"];

/// The longest chain of aliases that is followed. It stops aliases that name each other.
const ALIASES_MAX: usize = 16;

/// All our types by name.
#[derive(Default)]
pub struct Names<'a> {
    definitions: BTreeMap<String, Vec<Definition<'a>>>,
}

struct Definition<'a> {
    path: &'a str,
    meaning: Meaning<'a>,
}

enum Meaning<'a> {
    /// `type A<…> = …`
    Alias(&'a ItemType),
    /// `use a::B as A`
    Renamed(&'a Ident),
    /// A text if all of these types are: the only field of a struct, or of each variant of an enum.
    Holds(Vec<&'a Type>),
    /// A type with facts.
    Other,
}

impl<'a> Names<'a> {
    /// Reads all definitions.
    pub fn of(sources: &'a [Source<'a>]) -> Names<'a> {
        let mut names = Names::default();
        for source in sources {
            Collector { path: source.path, names: &mut names }.visit_file(&source.syntax);
        }
        names
    }

    /// Whether a type is a text, as written in the file at `path`.
    pub fn is_text(&self, path: &str, ty: &Type) -> bool {
        self.is_text_within(path, ty, ALIASES_MAX)
    }

    /// Whether a name means a text in the file at `path`.
    pub fn means_text(&self, path: &str, name: &Ident) -> bool {
        self.means_text_within(path, name, ALIASES_MAX)
    }

    /// The positions, from 0, of a name's type parameters that are errors.
    pub fn error_places(&self, path: &str, name: &Ident) -> Vec<usize> {
        let of_the_library = RESULTS.iter().any(|known| name == known).then_some(1);
        let of_aliases = self.nearest(path, name).filter_map(|definition| {
            let Meaning::Alias(alias) = definition.meaning else { return None };
            let mut search = ErrorParameter { alias, place: None };
            search.visit_type(&alias.ty);
            search.place
        });
        of_the_library.into_iter().chain(of_aliases).collect()
    }

    fn is_text_within(&self, path: &str, ty: &Type, left: usize) -> bool {
        match ty {
            Type::Reference(reference) => self.is_text_within(path, &reference.elem, left),
            Type::Paren(inner) => self.is_text_within(path, &inner.elem, left),
            Type::Group(inner) => self.is_text_within(path, &inner.elem, left),
            // A tuple of a text and a line number is still no error type.
            Type::Tuple(tuple) => {
                tuple.elems.iter().any(|part| self.is_text_within(path, part, left))
            }
            Type::Path(named) => {
                let Some(segment) = named.path.segments.last() else { return false };
                if WRAPPERS.iter().any(|wrapper| segment.ident == wrapper) {
                    return type_arguments(segment)
                        .any(|inner| self.is_text_within(path, inner, left));
                }
                self.means_text_within(path, &segment.ident, left)
            }
            _ => false,
        }
    }

    fn means_text_within(&self, path: &str, name: &Ident, left: usize) -> bool {
        let Some(left) = left.checked_sub(1) else { return false };
        TEXTS.iter().any(|text| name == text)
            || self.nearest(path, name).any(|definition| match &definition.meaning {
                Meaning::Alias(alias) => self.is_text_within(definition.path, &alias.ty, left),
                Meaning::Renamed(original) => {
                    self.means_text_within(definition.path, original, left)
                }
                Meaning::Holds(held_type) => {
                    held_type.iter().all(|ty| self.is_text_within(definition.path, ty, left))
                }
                Meaning::Other => false,
            })
    }

    /// The definitions of a name that are nearest to a file: in the file, else in its crate, else
    /// all.
    fn nearest<'s>(
        &'s self,
        path: &'s str,
        name: &Ident,
    ) -> impl Iterator<Item = &'s Definition<'a>> {
        let all = self.definitions.get(&name.to_string()).map_or(&[][..], Vec::as_slice);
        let distance = move |definition: &Definition<'_>| {
            let is_near = crate_directory(definition.path) == crate_directory(path);
            if definition.path == path { 0 } else { 1 + u8::from(!is_near) }
        };
        let least = all.iter().map(distance).min();
        all.iter().filter(move |definition| Some(distance(definition)) == least)
    }
}

/// The directory of the crate that a file belongs to.
fn crate_directory(path: &str) -> &str {
    path.split_once("/src/").map_or(path, |(directory, _)| directory)
}

/// Searches an alias for a `Result` whose error is one of the alias's own parameters.
struct ErrorParameter<'a> {
    alias: &'a ItemType,
    place: Option<usize>,
}

impl<'a> Visit<'a> for ErrorParameter<'_> {
    fn visit_path_segment(&mut self, segment: &'a PathSegment) {
        if segment.ident == "Result"
            && let Some(Type::Path(error)) = type_arguments(segment).nth(1)
            && let Some(name) = error.path.get_ident()
        {
            let mut parameters = self.alias.generics.type_params();
            self.place = self.place.or(parameters.position(|parameter| parameter.ident == *name));
        }
        visit::visit_path_segment(self, segment);
    }
}

/// The types between the angle brackets of a name.
pub fn type_arguments(segment: &PathSegment) -> impl Iterator<Item = &Type> {
    let list = match &segment.arguments {
        PathArguments::AngleBracketed(list) => Some(&list.args),
        _ => None,
    };
    list.into_iter().flatten().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

struct Collector<'a, 'n> {
    path: &'a str,
    names: &'n mut Names<'a>,
}

impl<'a> Collector<'a, '_> {
    fn add(&mut self, name: &Ident, meaning: Meaning<'a>) {
        let definition = Definition { path: self.path, meaning };
        self.names.definitions.entry(name.to_string()).or_default().push(definition);
    }
}

impl<'a> Visit<'a> for Collector<'a, '_> {
    fn visit_item_type(&mut self, item: &'a ItemType) {
        self.add(&item.ident, Meaning::Alias(item));
    }

    fn visit_use_rename(&mut self, item: &'a UseRename) {
        if item.rename != item.ident {
            self.add(&item.rename, Meaning::Renamed(&item.ident));
        }
    }

    fn visit_item_struct(&mut self, item: &'a ItemStruct) {
        let meaning = held_type(&item.fields, &item.attrs)
            .map_or(Meaning::Other, |ty| Meaning::Holds(vec![ty]));
        self.add(&item.ident, meaning);
    }

    fn visit_item_enum(&mut self, item: &'a ItemEnum) {
        let held_type =
            item.variants.iter().map(|variant| held_type(&variant.fields, &variant.attrs));
        let held_type: Option<Vec<&Type>> = held_type.collect();
        self.add(
            &item.ident,
            held_type
                .filter(|held_type| !held_type.is_empty())
                .map_or(Meaning::Other, Meaning::Holds),
        );
    }
}

/// The type that a type with one field holds. A named field counts as a fact, unless the error's
/// message is nothing but that field.
fn held_type<'a>(fields: &'a Fields, attributes: &[Attribute]) -> Option<&'a Type> {
    let has_words = matches!(fields, Fields::Named(_)) && !adds_no_word(attributes);
    only_field_type(fields).filter(|_| !has_words)
}

/// The type of the only field.
pub fn only_field_type(fields: &Fields) -> Option<&Type> {
    let mut fields = fields.iter();
    fields.next().filter(|_| fields.next().is_none()).map(|one| &one.ty)
}
