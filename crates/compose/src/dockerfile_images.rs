//! Gives images that a Dockerfile is built from other names: those of other services of its project, which
//! stampede builds under names of its own.

use std::collections::BTreeMap;

use crate::dockerfile::{here_document, interpolated, unquoted};

/// A Dockerfile whose `FROM`, `COPY --from` and `RUN --mount` name other images. All else stays as it is, byte
/// for byte. `given`: the build's arguments. `contexts`: names that mean no image. `image`: the other name of
/// an image, if it has one.
pub(crate) fn with_images(
    content: &str,
    given: &BTreeMap<String, String>,
    contexts: &[String],
    image: &mut dyn FnMut(&str) -> Option<String>,
) -> String {
    let mut renaming = Renaming {
        no_images: contexts.iter().map(|name| name.to_ascii_lowercase()).collect(),
        given,
        arguments: BTreeMap::new(),
        image,
        from: FromWord::Base,
    };
    let mut text = String::with_capacity(content.len());
    // The instruction that goes on in the next line, and the line that ends its text.
    let (mut open, mut text_ends) = (String::new(), None);
    let lines: Vec<&str> = content.split_inclusive('\n').collect();
    for (number, line) in lines.iter().enumerate() {
        let plain = line.trim();
        if let Some(end) = &text_ends {
            text_ends = Some(end).filter(|end| *end != plain).cloned();
            text += line;
            continue;
        }
        if plain.is_empty() || plain.starts_with('#') {
            text += line;
            continue;
        }
        if open.is_empty() {
            renaming.from = FromWord::Base;
        }
        open = open + plain.trim_end_matches('\\') + " ";
        let instruction = open.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
        for piece in line.split_inclusive(char::is_whitespace) {
            let word = piece.trim_end().trim_end_matches('\\');
            match renaming.word(&instruction, word) {
                Some(other) => text = text + &other + &piece[word.len()..],
                None => text += piece,
            }
        }
        if !plain.ends_with('\\') {
            let ends = here_document(&std::mem::take(&mut open));
            let is_there =
                |end: &String| lines[number + 1..].iter().any(|line| line.trim() == *end);
            text_ends = ends.filter(is_there);
        }
    }
    text
}

/// The next word of a `FROM`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FromWord {
    /// Its image.
    Base,
    /// `AS`, if it has a name.
    As,
    /// The name of its stage.
    Name,
    /// None.
    End,
}

struct Renaming<'a> {
    /// The names of earlier stages and of contexts, in small letters. They come before images.
    no_images: Vec<String>,
    given: &'a BTreeMap<String, String>,
    /// Arguments so far, with their values.
    arguments: BTreeMap<String, String>,
    image: &'a mut dyn FnMut(&str) -> Option<String>,
    from: FromWord,
}

impl Renaming<'_> {
    /// What takes the place of a word of an instruction; `None`: it stays.
    fn word(&mut self, instruction: &str, word: &str) -> Option<String> {
        if word.is_empty() {
            return None;
        }
        match instruction {
            "FROM" if word.starts_with("--") => None,
            "FROM" if self.from == FromWord::Base && word.eq_ignore_ascii_case("FROM") => None,
            "FROM" => self.word_of_from(word),
            "COPY" | "ADD" => {
                let other = self.renamed(word.strip_prefix("--from=")?)?;
                Some(format!("--from={other}"))
            }
            "RUN" => {
                let options = word.strip_prefix("--mount=")?;
                let from = options.split(',').find_map(|option| option.strip_prefix("from="))?;
                let other = self.renamed(from)?;
                Some(word.replace(&format!("from={from}"), &format!("from={other}")))
            }
            "ARG" => {
                self.add_argument(word);
                None
            }
            _ => None,
        }
    }

    fn word_of_from(&mut self, word: &str) -> Option<String> {
        match self.from {
            FromWord::Base => {
                self.from = FromWord::As;
                return self.renamed(word);
            }
            FromWord::As if word.eq_ignore_ascii_case("AS") => self.from = FromWord::Name,
            FromWord::Name => {
                self.no_images.push(word.to_ascii_lowercase());
                self.from = FromWord::End;
            }
            FromWord::As | FromWord::End => {}
        }
        None
    }

    fn add_argument(&mut self, word: &str) {
        let (name, default) = word.split_once('=').unwrap_or((word, ""));
        let value = interpolated(&unquoted(default), &self.arguments);
        let value = self.given.get(name).cloned().unwrap_or(value);
        // A stage repeats a global argument without its default.
        if !default.is_empty() || !self.arguments.contains_key(name) {
            self.arguments.insert(name.to_owned(), value);
        }
    }

    fn renamed(&mut self, name: &str) -> Option<String> {
        let name = interpolated(&unquoted(name), &self.arguments);
        let is_other = self.no_images.contains(&name.to_ascii_lowercase());
        if is_other { None } else { (self.image)(&name) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn renamed(content: &str, given: &[(&str, &str)]) -> String {
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        with_images(content, &given.collect(), &["context".to_owned()], &mut |name| {
            ["shop-php", "hub/shop-php:2", "context"].contains(&name).then(|| "own/1".to_owned())
        })
    }

    #[test]
    fn images_of_the_project_get_their_other_names_and_all_else_stays() {
        let text = "\
# syntax=docker/dockerfile:1
ARG BASE=shop-php
ARG  TAG=2 HUB=hub
FROM --platform=linux/amd64 shop-php AS app
COPY --chown=www:www  --from=shop-php /srv/public \\
    /srv/shop-php
FROM ${BASE}
FROM $HUB/shop-php:${TAG:-1} as other
\tRUN --mount=type=bind,from=shop-php,target=/x cat /x <<EOF
FROM shop-php
EOF
FROM \\
  shop-php\\
  as more
FROM nginx AS shop-php-2
RUN echo shop-php
CMD [\"shop-php\"]";
        let expected = text
            .replace("amd64 shop-php", "amd64 own/1")
            .replace("--from=shop-php", "--from=own/1")
            .replace("from=shop-php,", "from=own/1,")
            .replace("FROM ${BASE}", "FROM own/1")
            .replace("FROM $HUB/shop-php:${TAG:-1}", "FROM own/1")
            .replace("FROM \\\n  shop-php", "FROM \\\n  own/1");
        assert_eq!(renamed(text, &[]), expected);
    }

    #[test]
    fn stages_and_given_arguments_come_first() {
        let stage = "FROM php AS shop-php\nFROM nginx\nCOPY --from=Shop-PHP /a /a\nFROM shop-php\n";
        assert_eq!(renamed(stage, &[]), stage);
        let later = "FROM shop-php AS shop-php\nCOPY --from=shop-php /a /a\n";
        assert_eq!(
            renamed(later, &[]),
            later.replacen("shop-php", "own/1", 1),
            "only earlier stages"
        );
        assert_eq!(renamed("FROM context\n", &[]), "FROM context\n");
        let user = "ARG USER=shop-php\nRUN useradd $USER\n";
        assert_eq!(renamed(user, &[]), user, "a value is no image");
        let argument = "ARG BASE=shop-php\nFROM $BASE\n";
        assert_eq!(renamed(argument, &[("BASE", "php:8.4")]), argument);
        let given = "ARG BASE=php\nFROM $BASE\nARG BASE\nRUN --mount=from=$BASE,target=/x true\n";
        let expected =
            given.replace("FROM $BASE", "FROM own/1").replace("from=$BASE", "from=own/1");
        assert_eq!(renamed(given, &[("BASE", "shop-php")]), expected);
    }

    proptest! {
        #[test]
        fn any_text_without_such_an_image_stays(
            text in "((FROM|RUN|ARG|COPY|ENV|#|<<EOF|EOF|--from=|\\$|\\{A\\}|=|a|\\\\|\n| |\t|é)){0,40}",
        ) {
            prop_assert_eq!(with_images(&text, &BTreeMap::new(), &[], &mut |_| None), text);
        }
    }
}
