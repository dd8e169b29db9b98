//! The rule about links between the project's own pages: their targets exist.

use std::fmt;

use super::Finding;
use crate::tree::{File, Tree};

/// Every relative link in a Markdown file leads to an existing file, and its `#part` to a heading.
pub fn relative(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in tree.files().iter().filter(|file| file.extension() == "md") {
        for (number, link) in links(page) {
            if let Err(why) = follow(tree, page, link) {
                findings.push(Finding::new(&page.path, number, format!("link to `{link}`, {why}")));
            }
        }
    }
    findings
}

/// The reason why a link leads nowhere.
enum BrokenLink {
    /// The target is above the project's directory.
    Outside,
    /// The target file does not exist.
    NoFile,
    /// The target page has no such heading.
    NoHeading,
}

impl fmt::Display for BrokenLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BrokenLink::Outside => "which leaves the project",
            BrokenLink::NoFile => "which does not exist",
            BrokenLink::NoHeading => "whose page has no such heading",
        })
    }
}

/// Targets of `[text](target)` outside of code, with their lines. Targets with a scheme are left
/// out.
fn links(page: &File) -> Vec<(usize, &str)> {
    prose(page)
        .flat_map(|(number, line)| line.split("](").skip(1).map(move |rest| (number, rest)))
        .filter_map(|(number, rest)| Some((number, rest.split_once(')')?.0)))
        .filter(|(_, link)| !link.contains("://") && !link.starts_with("mailto:"))
        .collect()
}

/// The lines outside of fenced blocks.
fn prose(page: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    page.lines().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

fn follow(tree: &Tree, page: &File, link: &str) -> Result<(), BrokenLink> {
    let (path, part) = link.split_once('#').map_or((link, None), |(p, part)| (p, Some(part)));
    let target = match path {
        "" => page.path.clone(),
        path => resolve(&page.path, path).ok_or(BrokenLink::Outside)?,
    };
    if !tree.has(&target) {
        return Err(BrokenLink::NoFile);
    }
    match (part, tree.file(&target)) {
        (Some(part), Some(file)) if file.extension() == "md" => {
            let found = prose(file).any(|(_, line)| heading(line).as_deref() == Some(part));
            if found { Ok(()) } else { Err(BrokenLink::NoHeading) }
        }
        _ => Ok(()),
    }
}

/// The path that a link on a page points to; `None` if it is above the project's directory.
fn resolve(page: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The `#part` of a link to a heading, made as code hosts make it; `None` if the line is no
/// heading.
fn heading(line: &str) -> Option<String> {
    let text = line.trim_start_matches('#');
    if text.len() == line.len() || !text.starts_with(' ') {
        return None;
    }
    let kept = text.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    Some(kept.map(|c| if c == ' ' { '-' } else { c }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(files: &[(&str, &str)]) -> Vec<String> {
        relative(&Tree::of(files)).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_link_leads_somewhere() {
        let page = "[a](docs/a.md) [b](docs) [c](https://x.org/y) [d](#up-there)\n# Up, there!\n";
        assert_eq!(broken(&[("README.md", page), ("docs/a.md", "")]), [] as [&str; 0]);
    }

    #[test]
    fn a_link_to_nothing_is_found() {
        assert_eq!(
            broken(&[("docs/a.md", "x\n![p](images/p.svg)\n[q](../../q.md)\n")]),
            [
                "docs/a.md:2: link to `images/p.svg`, which does not exist",
                "docs/a.md:3: link to `../../q.md`, which leaves the project",
            ]
        );
    }

    #[test]
    fn a_part_is_a_heading() {
        let files = [("a.md", "[b](b.md#two)\n[b](b.md#three)\n"), ("b.md", "# One\n## Two\n")];
        assert_eq!(
            broken(&files),
            ["a.md:2: link to `b.md#three`, whose page has no such heading"]
        );
    }

    #[test]
    fn code_has_no_links() {
        assert_eq!(broken(&[("a.md", "```\n[x](gone)\n```\n[y](gone)\n")]).len(), 1);
    }
}
