//! The rule that results are written and printed only where secrets are masked.

use super::Finding;
use crate::tree::{File, Tree};

/// Crates that write results or print.
const CRATES: [&str; 5] = [
    "crates/results/src/",
    "crates/history/src/",
    "crates/check/src/",
    "crates/serve/src/",
    "crates/stampede/src/",
];

/// How a Rust program writes a file or prints.
const WRITES: [&str; 12] = [
    "fs::write(",
    "fs::copy(",
    "io::copy(",
    "File::create",
    "OpenOptions",
    "print!(",
    "println!(",
    "eprint!(",
    "eprintln!(",
    "stdout()",
    "stderr()",
    "dbg!(",
];

/// The files that may do so, and why.
const ALLOWED: [(&str, &str); 14] = [
    ("crates/results/src/store/write.rs", "takes `Masked` and nothing else"),
    ("crates/stampede/src/cli/shell.rs", "takes `Masked`, or makes it"),
    ("crates/stampede/src/cli/fire/files.rs", "takes `Masked` and nothing else"),
    ("crates/stampede/src/cli/fire/screen.rs", "prints through `MaskingWriter`"),
    ("crates/stampede/src/cli/fire/screen/terminal.rs", "draws what `screen.rs` has masked"),
    ("crates/stampede/src/progress/mod.rs", "prints through `MaskingWriter`"),
    ("crates/stampede/src/cli/init.rs", "writes a plan, which has no value of the app"),
    ("crates/stampede/src/cli/traffic.rs", "writes requests to be sent, for their owner only"),
    ("crates/stampede/src/cli/get.rs", "writes programs that it has fetched or built"),
    ("crates/stampede/src/cli/fail.rs", "asks whether stderr is a terminal"),
    ("crates/stampede/src/cli/agent.rs", "speaks to a stampede, which masks what it prints"),
    ("crates/stampede/src/cli/agent_files.rs", "writes histograms, which are numbers"),
    ("crates/stampede/src/cli/report.rs", "asks whether stdout is a terminal"),
    ("crates/stampede/src/cli/serve.rs", "asks whether stdout is a terminal"),
];

/// Files of results and the terminal get only what the masker has seen. So a new artefact cannot
/// forget it.
pub fn behind_the_masker(tree: &Tree) -> Vec<Finding> {
    tree.files().iter().filter(|file| is_watched(file)).flat_map(writes).collect()
}

fn is_watched(file: &File) -> bool {
    file.extension() == "rs"
        && !file.is_test()
        && CRATES.iter().any(|of| file.path.starts_with(of))
        && !ALLOWED.iter().any(|(allowed, _)| file.path == *allowed)
}

fn writes(file: &File) -> Vec<Finding> {
    let is_comment = |line: &str| line.trim_start().starts_with("//");
    let lines = file.code().lines().enumerate().filter(|(_, line)| !is_comment(line));
    let finding = |(index, line): (usize, &str)| {
        let way = WRITES.iter().find(|way| is_used(line, way))?;
        let what = format!(
            "`{way}` writes past the masker: give a `Masked` to `store::write_artefact` or to \
             `shell::print`, or say in tidy/writes.rs why no secret can be in it"
        );
        Some(Finding::new(&file.path, index + 1, what))
    };
    lines.filter_map(finding).collect()
}

/// Whether a line has this call, and not one whose name only ends so.
fn is_used(line: &str, way: &str) -> bool {
    line.match_indices(way).any(|(at, _)| {
        !line[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        behind_the_masker(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn a_write_past_the_masker_is_found() {
        for text in [
            "    std::fs::write(path, text)?;\n",
            "let file = File::create(path);\n",
            "    eprintln!(\"note\");\n",
            "std::io::stdout().write_all(bytes)\n",
        ] {
            assert_eq!(found("crates/results/src/report/new.rs", text), 1, "{text}");
            assert_eq!(found("crates/stampede/src/new.rs", text), 1, "{text}");
            assert_eq!(found("crates/load/src/new.rs", text), 0, "{text}");
            assert_eq!(found("crates/results/src/store/write.rs", text), 0, "{text}");
        }
    }

    #[test]
    fn tests_and_comments_may_write() {
        let text = "//! println!(\"x\")\n\n#[cfg(test)]\nmod tests {\n    println!();\n}\n";
        assert_eq!(found("crates/check/src/new.rs", text), 0);
        assert_eq!(found("crates/check/src/tests.rs", "fs::write(a, b)\n"), 0);
        assert_eq!(found("crates/check/src/new.rs", "let a = blueprint!(b);\n"), 0);
    }
}
