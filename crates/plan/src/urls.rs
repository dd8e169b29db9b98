//! Reads `traffic: urls.txt`: the paths that a load requests, one on each line of a text file.

use std::sync::Arc;

use super::error::{Mistake, Place, PlanError, Source};
use super::tree::{Node, Style, Value};
use super::value::text;

/// Size of the largest file, in bytes.
const BYTES_MAX: u64 = 16 << 20;
const EXPECTED: &str = "a list of paths, or a text file with a path or URL in each line";

/// Reads the file that `node` names. Returns its paths, each with its place in the file, and the
/// host if the lines are URLs. The file's path starts at the plan's directory, or at the current
/// directory for a flag. Empty lines and lines that begin with `#` are skipped.
pub(super) fn read(node: &Node) -> Result<(Vec<Node>, Option<String>), PlanError> {
    let name = text(node, "a file", EXPECTED)?;
    let path = node.place.source.base.join(name);
    let unreadable = |found: String| {
        let mistake = Mistake::NotA { found, wanted: "a file of paths and URLs" };
        node.place.wrong(mistake, EXPECTED)
    };
    match std::fs::metadata(&path) {
        Err(error) => return Err(unreadable(format!("`{}` ({error})", path.display()))),
        Ok(meta) if !meta.is_file() => return Err(unreadable(format!("`{name}`, a directory"))),
        Ok(meta) if meta.len() > BYTES_MAX => {
            return Err(unreadable(format!("`{name}`, more than 16 MiB")));
        }
        Ok(_) => {}
    }
    let bytes = std::fs::read(&path).unwrap_or_default();
    let text = String::from_utf8(bytes).map_err(|_| unreadable(format!("`{name}`, no UTF-8")))?;
    stampede_mask::text(&text);
    let name = path.display().to_string();
    lines(&Arc::new(Source { name, text, base: Default::default() }))
}

fn lines(source: &Arc<Source>) -> Result<(Vec<Node>, Option<String>), PlanError> {
    let mut all = Vec::new();
    let mut offset = 0;
    let mut site = None;
    for line in source.text.split_inclusive('\n') {
        let written = line.trim();
        let begin = offset + (line.len() - line.trim_start().len());
        offset += line.len();
        if written.is_empty() || written.starts_with('#') {
            continue;
        }
        let place = Place { source: source.clone(), offset: begin, length: written.len() };
        let (host, path) = parts(written);
        if let Some(mistake) = foreign(*site.get_or_insert(host), host) {
            return Err(place.wrong(mistake, "URLs of one site: nothing is sent to another host"));
        }
        all.push(Node { place, value: Value::Text(path, Style::Plain) });
    }
    Ok((all, site.flatten().map(String::from)))
}

/// Host and path of a line. The host is `None` if the line is only a path.
pub fn parts(written: &str) -> (Option<&str>, String) {
    let rest = ["http://", "https://", "//"].iter().find_map(|begin| written.strip_prefix(begin));
    let Some(rest) = rest else { return (None, written.to_owned()) };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    // Credentials before the host are dropped.
    let host = authority.rsplit('@').next().unwrap_or_default();
    // A fragment is for the browser only and is never sent.
    let path = path.split('#').next().unwrap_or_default();
    (Some(host), if path.starts_with('/') { path.to_owned() } else { format!("/{path}") })
}

/// The mistake of a line that is not of the same site as the first. All lines must be of one site:
/// the site whose app is measured.
pub fn foreign(first: Option<&str>, host: Option<&str>) -> Option<Mistake> {
    let wanted = match (first, host) {
        (first, host) if first == host => return None,
        (Some(_), _) => "of the same host as those before it",
        (None, _) => "a path, as those before it are",
    };
    let found = host.map_or_else(|| "a path alone".to_owned(), |host| format!("a URL of `{host}`"));
    Some(Mistake::NotA { found, wanted })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<(Vec<String>, Option<String>), String> {
        let text = text.to_owned();
        let source = Source { name: "urls.txt".into(), text, base: Default::default() };
        let (nodes, site) = lines(&Arc::new(source)).map_err(|error| error.to_string())?;
        let texts = nodes.iter().map(|node| node.text().unwrap_or_default().to_owned());
        Ok((texts.collect(), site))
    }

    #[test]
    fn paths_are_taken_and_urls_of_one_site() {
        let paths = |all: &[&str]| all.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
        let text = "/\n\n# a comment\n  /about?x=1  \r\n";
        assert_eq!(read_text(text), Ok((paths(&["/", "/about?x=1"]), None)));
        let text =
            "https://shop.example\nhttps://joe:pw@shop.example/cart#top\n//shop.example?page=2";
        let site = Some("shop.example".to_owned());
        assert_eq!(read_text(text), Ok((paths(&["/", "/cart", "/?page=2"]), site)));
    }

    #[test]
    fn a_url_of_another_host_is_a_mistake_in_its_line() {
        let errors = [
            "https://shop.example/a\nhttps://cdn.example/x.js\n",
            "/a\n//cdn.example/x.js\n",
            "https://shop.example/a\n/b\n",
        ]
        .map(|text| read_text(text).expect_err("two"));
        assert_eq!(
            errors,
            [
                "a URL of `cdn.example` is not of the same host as those before it",
                "a URL of `cdn.example` is not a path, as those before it are",
                "a path alone is not of the same host as those before it",
            ]
        );
    }
}
