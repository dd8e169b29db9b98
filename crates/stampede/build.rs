//! Writes `own_words.txt`: every word and name of stampede's own texts, records and pages, which
//! are no secrets. Taken from the source, the list cannot grow stale. And compresses the JSON Schemas
//! of docs/ for builds that do not make them.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Schemas that are made of the types of the program, and so need much code.
const SCHEMAS: [&str; 5] = ["fire", "capacity", "check", "tune", "facts"];

/// What stampede writes and embeds, beside the source of its crates.
const EMBEDDED: [&str; 3] = ["../../runtimes", "../../php/src", "../../report-ui/dist"];
/// Text by the end of its name.
const TEXTS: [&str; 10] =
    ["rs", "html", "css", "php", "yaml", "j2", "conf", "ini", "json", "template"];

fn main() {
    // Only the sources: a changed test must not build the program again.
    let crates = std::fs::read_dir("..").into_iter().flatten().flatten();
    let sources = crates.map(|one| one.path().join("src")).filter(|source| source.is_dir());
    let own: Vec<PathBuf> = sources.chain(EMBEDDED.map(PathBuf::from)).collect();
    let mut words = BTreeSet::new();
    for directory in &own {
        println!("cargo:rerun-if-changed={}", directory.display());
        of_directory(directory, &mut words);
    }
    let text = words.into_iter().collect::<Vec<_>>().join("\n");
    let directory = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where"));
    std::fs::write(directory.join("own_words.txt"), text).expect("the list is written");
    SCHEMAS.iter().for_each(|name| compress_schema(name, &directory));
}

fn compress_schema(name: &str, directory: &Path) {
    let path = format!("../../docs/{name}.schema.json");
    println!("cargo:rerun-if-changed={path}");
    // Without a file it is empty: it is made by the program that is built here.
    let schema = std::fs::read(&path).unwrap_or_default();
    let file = std::fs::File::create(directory.join(format!("{name}.schema.json.gz")));
    let mut packed = GzEncoder::new(file.expect("a file"), Compression::best());
    packed.write_all(&schema).and_then(|()| packed.try_finish()).expect("the schema is written");
}

fn of_directory(directory: &Path, words: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_text = path
            .extension()
            .is_some_and(|end| TEXTS.iter().any(|text| end.eq_ignore_ascii_case(text)));
        if path.is_dir() && !["fixtures", "snapshots", "tests"].contains(&name.as_str()) {
            of_text(&name, words);
            of_directory(&path, words);
        } else if is_text && name != "tests.rs" {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            of_text(&name, words);
            match name.ends_with(".rs") {
                true => of_text(&without_tests(&text), words),
                false => of_text(&text, words),
            }
        }
    }
}

/// Doc comments stay: help texts and schemas are made of them.
fn without_tests(source: &str) -> String {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let is_comment = |line: &str| line.starts_with("//") && !line.starts_with("///");
    code.lines().filter(|line| !is_comment(line.trim_start())).collect::<Vec<_>>().join("\n")
}

/// `max-time` as a whole and its words; `MaxTime` as serde and as people write it.
fn of_text(text: &str, words: &mut BTreeSet<String>) {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    for name in text.split(|letter| !is_part(letter)) {
        // The `n` of `\n` is none of the word's.
        let name = name.trim_matches('-');
        take(name, words);
        name.split('-').for_each(|part| take(part, words));
        name.split(['-', '_']).for_each(|part| take(part, words));
        if name.starts_with(|letter: char| letter.is_ascii_uppercase()) {
            let apart = |sign: &str| -> String {
                let letters = name.chars().enumerate();
                let one = |(at, letter): (usize, char)| match at > 0 && letter.is_ascii_uppercase()
                {
                    true => format!("{sign}{letter}"),
                    false => letter.to_string(),
                };
                letters.map(one).collect()
            };
            take(&apart("_"), words);
            take(&apart("-"), words);
            apart("-").split('-').for_each(|part| take(part, words));
        }
    }
    for line in text.split("\\n").skip(1) {
        take(line.split(|letter| !is_part(letter)).next().unwrap_or_default(), words);
    }
}

/// Shorter ones are no secrets anyway, longer ones no words.
fn take(word: &str, words: &mut BTreeSet<String>) {
    let is_date = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') && word.len() > 7;
    if (4..=48).contains(&word.len()) && !is_date {
        words.insert(word.to_ascii_lowercase());
    }
}
