//! The licences of everything in the binaries, each text once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::crates::{Crate, Linked};
use super::tools::Tools;
use super::{DistError, read};
use crate::error::ChoreError;

/// Beginnings of the names of files that hold licences and notices.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// What Rust links beside crates. Its packages hold the notices of the library only.
const MUSL: &str = "musl: MIT, Copyright (c) 2005-2020 Rich Felker and others";
const UNWIND: &str = "LLVM libunwind: Apache-2.0 WITH LLVM-exception, the LLVM project";

const RULE: &str =
    "--------------------------------------------------------------------------------";

/// The file `THIRD-PARTY-LICENSES` for these binaries.
///
/// # Errors
/// A file cannot be read, or a crate has no licence whose text is known.
pub fn text(root: &Path, binaries: &[Linked], tools: &Tools) -> Result<String, ChoreError> {
    let foreign = binaries.iter().flat_map(|linked| linked.crates.iter());
    let foreign: BTreeMap<_, _> = foreign.filter(|(_, one)| one.is_foreign()).collect();
    let own = Own {
        mit: mit_of(&read(root.join("LICENSE-MIT"))?),
        apache: read(root.join("LICENSE-APACHE"))?,
    };
    let mut texts = Texts::default();
    for one in foreign.values() {
        for text in licences_of(one, &own)? {
            texts.add(&format!("{} {}", one.name, one.version), &text);
        }
    }
    for (part, text) in beside(root, tools, &own)? {
        texts.add(&part, &text);
    }
    let mut file = "stampede contains the following software of others.\n\n".to_owned();
    for one in foreign.values() {
        let address = one.repository.as_deref().unwrap_or("https://crates.io");
        let _ = writeln!(file, "{} {}: {}, {address}", one.name, one.version, one.licence);
    }
    file += "Rust's standard library: MIT OR Apache-2.0, https://github.com/rust-lang/rust\n";
    file += &format!("{MUSL}\n{UNWIND}\nuPlot: MIT, https://github.com/leeoniya/uPlot\n");
    Ok(file + &texts.written())
}

/// Texts that this repository has too, for crates that name a licence and hold no file of it.
struct Own {
    mit: String,
    apache: String,
}

impl Own {
    /// The text of a licence that can be chosen; `None`: this repository has none of them.
    fn of(&self, licence: &str) -> Option<&str> {
        let has = |wanted| licence.split([' ', '(', ')', '/']).any(|word| word == wanted);
        let known = [("MIT", &self.mit), ("Apache-2.0", &self.apache)];
        known.into_iter().find(|(name, _)| has(*name)).map(|(_, text)| text.as_str())
    }
}

/// The text without the line that names a person.
fn mit_of(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("Copyright"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Each text with the parts that it is for.
#[derive(Default)]
struct Texts {
    parts: BTreeMap<String, BTreeSet<String>>,
}

impl Texts {
    /// Ends of lines and blanks around a text make no other text.
    fn add(&mut self, part: &str, text: &str) {
        let lines: Vec<&str> = text.trim().lines().map(str::trim_end).collect();
        self.parts.entry(lines.join("\n")).or_default().insert(part.to_owned());
    }

    fn written(&self) -> String {
        let mut sorted: Vec<_> = self.parts.iter().map(|(text, parts)| (parts, text)).collect();
        sorted.sort();
        let section = |(parts, text): (&BTreeSet<String>, &String)| {
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            format!("\n{RULE}\n{}:\n\n{text}\n", parts.join(", "))
        };
        sorted.into_iter().map(section).collect()
    }
}

/// The texts of a crate's licences: its files, or the well-known text with the authors' names.
fn licences_of(one: &Crate, own: &Own) -> Result<Vec<String>, ChoreError> {
    let mut files = Vec::new();
    find(&one.directory, &mut files)?;
    files.sort();
    if files.is_empty() {
        let text = own.of(&one.licence).ok_or_else(|| DistError::NoLicence {
            part: format!("{} {}", one.name, one.version),
        })?;
        return Ok(vec![format!("Copyright (c) {}\n\n{text}", one.authors.join(", "))]);
    }
    files.into_iter().map(read).collect()
}

/// Licence files of a directory, and those of a directory of them.
fn find(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), ChoreError> {
    let unreadable = |source| ChoreError::Unreadable { path: directory.to_owned(), source };
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        let is_licence = NAMES.iter().any(|start| name.starts_with(start)) || name == "UNLICENSE";
        match path.is_dir() {
            true if name == "LICENSES" => {
                let inside = fs::read_dir(&path).map_err(unreadable)?.flatten();
                files.extend(inside.map(|entry| entry.path()).filter(|path| path.is_file()));
            }
            false if is_licence => files.push(path),
            _ => {}
        }
    }
    Ok(())
}

/// The texts for what cargo does not know of.
fn beside(root: &Path, tools: &Tools, own: &Own) -> Result<Vec<(String, String)>, ChoreError> {
    let documents = tools.sysroot.join("share/doc/rust");
    let library = read(documents.join("COPYRIGHT-library.html"))?;
    let page = read(root.join("report-ui/dist/index.html"))?;
    let comment =
        page.split("<!-- Contains uPlot").nth(1).and_then(|rest| rest.split("-->").next());
    let no_uplot = || DistError::NoLicence { part: "uPlot".to_owned() };
    let rust_text = |name: &str| read(documents.join("licenses").join(name));
    let unwind = [rust_text("Apache-2.0.txt")?, rust_text("LLVM-exception.txt")?].join("\n\n");
    Ok(vec![
        ("Rust's standard library".to_owned(), without_tags(&library)),
        ("musl".to_owned(), format!("{MUSL}\n\n{}", own.mit)),
        ("LLVM libunwind".to_owned(), format!("{UNWIND}\n\n{unwind}")),
        ("uPlot".to_owned(), format!("uPlot{}", comment.ok_or_else(no_uplot)?)),
    ])
}

/// The text of a page of Rust's documentation, without empty lines in a row.
fn without_tags(page: &str) -> String {
    let body = page.split("<body>").nth(1).unwrap_or(page);
    let mut text = String::new();
    for part in body.split('<') {
        text += part.split_once('>').map_or(part, |(_, text)| text);
    }
    for (name, sign) in
        [("&lt;", "<"), ("&gt;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&amp;", "&")]
    {
        text = text.replace(name, sign);
    }
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.dedup_by(|next, line| next.trim().is_empty() && line.trim().is_empty());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::crates::tests::sample;

    #[test]
    fn a_text_that_several_parts_have_stands_there_once() {
        let mut texts = Texts::default();
        texts.add("b 1", "Text\r\nof it  \n\n");
        texts.add("a 1", "Text\nof it");
        texts.add("a 1", "Another");
        let expected = format!("\n{RULE}\na 1:\n\nAnother\n\n{RULE}\na 1, b 1:\n\nText\nof it\n");
        assert_eq!(texts.written(), expected);
    }

    #[test]
    fn a_crate_without_a_file_has_the_text_that_it_names_or_is_refused() {
        let mit = mit_of("MIT License\n\nCopyright (c) somebody\n\nPermission");
        let own = Own { mit, apache: "Apache License".to_owned() };
        assert_eq!(own.mit, "MIT License\n\n\nPermission");
        let linked = sample();
        let mut one = linked.crates[linked.program()].clone();
        one.directory =
            std::env::temp_dir().join(format!("stampede-licences-{}", std::process::id()));
        fs::create_dir_all(one.directory.join("LICENSES")).expect("a directory");
        let texts = licences_of(&one, &own).expect("MIT");
        assert_eq!(texts, ["Copyright (c) A. Person\n\nMIT License\n\n\nPermission"]);
        one.licence = "Apache-2.0 OR BSD-3-Clause".to_owned();
        let texts = licences_of(&one, &own).expect("Apache");
        assert_eq!(texts, ["Copyright (c) A. Person\n\nApache License"]);
        one.licence = "BSD-3-Clause".to_owned();
        let refused = licences_of(&one, &own).map_err(|error| error.to_string());
        assert_eq!(refused, Err("`stampede 1.0` names no licence".to_owned()));
        for (name, text) in [("license-mit", "M"), ("LICENSES/A.txt", "A"), ("lib.rs", "code")] {
            fs::write(one.directory.join(name), text).expect("a file");
        }
        assert_eq!(licences_of(&one, &own).expect("files"), ["A", "M"]);
        fs::remove_dir_all(&one.directory).expect("removed");
    }

    #[test]
    fn a_page_becomes_text() {
        let page = "<html><style>x</style><body>\n<h1 id=\"a\">Of &lt;it&gt;</h1>\n\n \n<p>B</p>";
        assert_eq!(without_tags(page), "\nOf <it>\n\nB");
    }
}
