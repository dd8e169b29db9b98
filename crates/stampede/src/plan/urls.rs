//! `urls: urls.txt`: what a load fires, a line each, from a file of its own.

use std::sync::Arc;

use super::error::{Mistake, Place, PlanError, Source};
use super::tree::{Node, Style, Value};
use super::value::text;

/// Largest file.
const BYTES_MAX: u64 = 16 << 20;
const EXPECTED: &str = "a list of paths, or a text file with a path or URL in each line";

/// The paths of the file that `node` names, each with its place in it: where the plan is, or for
/// a flag in the current folder. Empty lines and those that begin with `#` say nothing.
pub(super) fn read(node: &Node) -> Result<Vec<Node>, PlanError> {
    let name = text(node, "a file", EXPECTED)?;
    let path = node.place.source.base.join(name);
    let unreadable = |found: String| {
        let mistake = Mistake::NotA { found, wanted: "a file of paths and URLs" };
        node.place.wrong(mistake, EXPECTED)
    };
    match std::fs::metadata(&path) {
        Err(error) => return Err(unreadable(format!("`{}` ({error})", path.display()))),
        Ok(meta) if !meta.is_file() => return Err(unreadable(format!("`{name}`, a folder"))),
        Ok(meta) if meta.len() > BYTES_MAX => {
            return Err(unreadable(format!("`{name}`, more than 16 MiB")));
        }
        Ok(_) => {}
    }
    let bytes = std::fs::read(&path).unwrap_or_default();
    let text = String::from_utf8(bytes).map_err(|_| unreadable(format!("`{name}`, no UTF-8")))?;
    let name = path.display().to_string();
    lines(&Arc::new(Source { name, text, base: Default::default() }))
}

fn lines(source: &Arc<Source>) -> Result<Vec<Node>, PlanError> {
    let mut all = Vec::new();
    let mut offset = 0;
    let mut host = None;
    for line in source.text.split_inclusive('\n') {
        let written = line.trim();
        let begin = offset + (line.len() - line.trim_start().len());
        offset += line.len();
        if written.is_empty() || written.starts_with('#') {
            continue;
        }
        let place = Place { source: source.clone(), offset: begin, length: written.len() };
        let path = path(written, &mut host, &place)?;
        all.push(Node { place, value: Value::Text(path, Style::Plain) });
    }
    Ok(all)
}

/// The path of a line. All URLs are of one host: that of the site whose app is asked.
fn path<'a>(
    written: &'a str,
    host: &mut Option<&'a str>,
    place: &Place,
) -> Result<String, PlanError> {
    let rest = ["http://", "https://"].iter().find_map(|scheme| written.strip_prefix(scheme));
    let Some(rest) = rest else { return Ok(written.to_owned()) };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (name, path) = rest.split_at(end);
    if *host.get_or_insert(name) != name {
        let found = format!("a URL of `{name}`");
        let wanted = "of the same host as those before it";
        let expected = "URLs of one site: nothing is sent to another host";
        return Err(place.wrong(Mistake::NotA { found, wanted }, expected));
    }
    // A fragment is the browser's.
    let path = path.split('#').next().unwrap_or_default();
    Ok(if path.starts_with('/') { path.to_owned() } else { format!("/{path}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Vec<String>, String> {
        let text = text.to_owned();
        let source = Source { name: "urls.txt".into(), text, base: Default::default() };
        let nodes = lines(&Arc::new(source)).map_err(|error| error.to_string())?;
        Ok(nodes.iter().map(|node| node.text().unwrap_or_default().to_owned()).collect())
    }

    #[test]
    fn paths_and_urls_of_one_site_are_taken() {
        let text = "/\n\n# a comment\n  /about?x=1  \r\nhttps://shop.example\n\
                    https://shop.example/cart#top\nhttp://shop.example?page=2";
        let paths = ["/", "/about?x=1", "/", "/cart", "/?page=2"].map(String::from);
        assert_eq!(read_text(text), Ok(paths.to_vec()));
    }

    #[test]
    fn a_url_of_another_host_is_a_mistake_in_its_line() {
        let error =
            read_text("https://shop.example/a\nhttps://cdn.example/x.js\n").expect_err("two");
        assert_eq!(error, "a URL of `cdn.example` is not of the same host as those before it");
    }
}
