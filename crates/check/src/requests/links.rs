//! Finds the links of an answer: what a browser could request next by itself or after a click,
//! without assets.

use std::collections::HashSet;

use html5gum::{DefaultEmitter, Token, Tokenizer};
use serde_json::Value;
use stampede_markup::forms::{Attribute, Form, FormsReader};
use url::{Host, Url};

use super::form::link;

/// Most links of one answer. A page with more is an endless list.
const LINKS_MAX: usize = 5_000;
/// Longest link: most servers accept a request line of this length.
const BYTES_MAX: usize = 4_096;

/// The links of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// Targets of the same host, each once, in the answer's order.
    pub inside: Vec<String>,
    /// Number of different links to other hosts.
    pub foreign: usize,
}

/// Returns the links of the page `html`, which came from the URL `base`.
pub fn links(base: &Url, html: &[u8]) -> Links {
    let mut found = LinkCollector::new(base);
    let mut forms = FormsReader::default();
    let mut emitter = DefaultEmitter::default();
    // The text of a script contains no tags.
    emitter.naively_switch_states(true);
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        if let Token::StartTag(tag) = &token {
            let attribute = |name: &str| {
                let value = tag.attributes.get(name.as_bytes())?;
                Some(String::from_utf8_lossy(value).into_owned())
            };
            found.start(&String::from_utf8_lossy(&tag.name), &attribute);
        }
        found.form(forms.token(&token));
    }
    found.form(forms.end());
    found.links
}

/// Returns the links of the JSON `text`: paths and URLs of the same host, under the keys that APIs
/// use for them.
pub fn json_links(base: &Url, text: &[u8]) -> Links {
    let mut found = LinkCollector::new(base);
    if let Ok(value) = serde_json::from_slice(text) {
        found.json(&value, KeyKind::Other);
    }
    found.links
}

/// The links found so far while an answer is read.
struct LinkCollector {
    /// The URL of the page.
    page: Url,
    /// The URL that its links are relative to; `<base href>` changes it.
    base: Url,
    links: Links,
    known: HashSet<String>,
    foreign: HashSet<String>,
}

/// Whether a value stands under a key for links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyKind {
    Link,
    Other,
}

impl LinkCollector {
    fn new(page: &Url) -> LinkCollector {
        let (page, base, links) = (page.clone(), page.clone(), Links::default());
        LinkCollector { page, base, links, known: HashSet::new(), foreign: HashSet::new() }
    }

    fn start(&mut self, name: &str, attribute: &Attribute<'_>) {
        let link = match name {
            "a" | "area" => attribute("href"),
            "iframe" | "frame" => attribute("src"),
            "link" => attribute("rel").filter(|rel| is_page(rel)).and(attribute("href")),
            "base" => {
                let href = attribute("href").filter(|href| href.len() <= BYTES_MAX);
                if let Some(base) = href.and_then(|href| self.page.join(&href).ok()) {
                    self.base = base;
                }
                None
            }
            _ => None,
        };
        if let Some(link) = link {
            self.add(&link);
        }
    }

    fn form(&mut self, form: Option<Form>) {
        if let Some(link) = form.and_then(|form| link(&form, self.page.as_str())) {
            self.add(&link);
        }
    }

    fn json(&mut self, value: &Value, under: KeyKind) {
        match value {
            Value::String(text) if under == KeyKind::Link => {
                let begins = |begin: &&str| text.starts_with(*begin);
                if ["/", "http://", "https://"].iter().any(begins) {
                    self.add(text);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| self.json(value, under)),
            Value::Object(members) => {
                for (key, value) in members {
                    let is_link = under == KeyKind::Link || JSON_KEYS.contains(&key.as_str());
                    self.json(value, if is_link { KeyKind::Link } else { KeyKind::Other });
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, link: &str) {
        if link.len() > BYTES_MAX || self.links.inside.len() >= LINKS_MAX {
            return;
        }
        match resolve(&self.page, &self.base, link) {
            LinkTarget::Inside(target) if !self.known.contains(&target) => {
                self.known.insert(target.clone());
                self.links.inside.push(target);
            }
            LinkTarget::Foreign(url) if self.foreign.len() < LINKS_MAX => {
                self.links.foreign += usize::from(self.foreign.insert(url));
            }
            _ => {}
        }
    }
}

/// The destination of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LinkTarget {
    /// A target of the page's host.
    Inside(String),
    /// To another host.
    Foreign(String),
    /// Nothing that can be requested: mail, a script, an asset.
    Nowhere,
}

/// Returns where `link` leads, on a page whose links are relative to `base`.
pub(super) fn resolve(page: &Url, base: &Url, link: &str) -> LinkTarget {
    let Ok(url) = base.join(link) else { return LinkTarget::Nowhere };
    if !matches!(url.scheme(), "http" | "https") {
        return LinkTarget::Nowhere;
    }
    if !is_same_site(page, &url) {
        return LinkTarget::Foreign(url.into());
    }
    let path = url.path();
    // A path that begins with `//` would later be parsed as a host.
    if path.starts_with("//") || is_asset(path) {
        return LinkTarget::Nowhere;
    }
    let target = match url.query() {
        Some(query) if !query.is_empty() => format!("{path}?{query}"),
        _ => path.to_owned(),
    };
    if target.len() > BYTES_MAX { LinkTarget::Nowhere } else { LinkTarget::Inside(target) }
}

/// Returns whether both have the same host and port, with either protocol. A URL of this machine
/// without a port counts too, because apps may be configured to `http://localhost`.
fn is_same_site(page: &Url, url: &Url) -> bool {
    let is_here = |url: &Url| match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let is_same_host = page.host_str() == url.host_str() || (is_here(page) && is_here(url));
    is_same_host && (page.port() == url.port() || (is_here(url) && url.port().is_none()))
}

/// Returns whether `<link rel>` names a page.
fn is_page(rel: &str) -> bool {
    let pages = ["next", "prev", "canonical", "alternate"];
    let mut words = rel.split_ascii_whitespace().peekable();
    words.peek().is_some()
        && words.all(|word| pages.iter().any(|page| word.eq_ignore_ascii_case(page)))
}

/// Returns whether a path's extension shows that no PHP code answers it.
fn is_asset(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let Some((_, ending)) = name.rsplit_once('.') else { return false };
    let ending = ending.to_ascii_lowercase();
    ASSETS.split_ascii_whitespace().any(|asset| asset == ending)
}

/// Extensions of styles, scripts, images, fonts, audio, video, documents and archives.
const ASSETS: &str = "css map js mjs wasm \
    apng avif bmp cur gif ico jpeg jpg png svg tif tiff webp \
    eot otf ttf woff woff2 aac flac m4a mp3 oga ogg wav \
    avi m4v mkv mov mp4 ogv webm doc docx epub odp ods odt pdf ppt pptx rtf xls xlsx \
    7z apk bz2 deb dmg exe gz iso jar msi rar rpm tar tgz xz zip zst";
/// Keys of JSON:API, HAL, JSON-LD (API Platform), Laravel's and Django's pagination, and GitHub.
const JSON_KEYS: [&str; 12] = [
    "@id",
    "_links",
    "first_page_url",
    "href",
    "last_page_url",
    "link",
    "links",
    "next",
    "next_page_url",
    "prev_page_url",
    "previous",
    "url",
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rustix::time::{ClockId, clock_gettime};

    use super::*;

    const PAGE: &str = "http://127.0.0.1:8081/shop/list?page=1";

    fn page() -> Url {
        PAGE.parse().expect("a URL")
    }

    fn of(html: &str) -> Links {
        links(&page(), html.as_bytes())
    }

    fn inside(targets: &[&str]) -> Links {
        Links { inside: targets.iter().map(|target| (*target).to_owned()).collect(), foreign: 0 }
    }

    #[test]
    fn links_lead_where_a_browser_would_go() {
        let cases: [(&str, &[&str]); 26] = [
            ("cart", &["/shop/cart"]),
            ("/cart?a=1&amp;b=%20x y", &["/cart?a=1&b=%20x%20y"]),
            ("../a/./b/../c", &["/a/c"]),
            ("?page=2", &["/shop/list?page=2"]),
            ("#top", &["/shop/list?page=1"]),
            ("", &["/shop/list?page=1"]),
            (" \n/trimmed\t ", &["/trimmed"]),
            ("/a#b", &["/a"]),
            ("/a?", &["/a"]),
            ("//127.0.0.1:8081/x", &["/x"]),
            ("http://127.0.0.1:8081", &["/"]),
            ("https://127.0.0.1:8081/tls", &["/tls"]),
            ("http://localhost/set", &["/set"]),
            ("\\x", &["/x"]),
            ("/stra\u{df}e", &["/stra%C3%9Fe"]),
            ("javascript:alert(1)", &[]),
            ("mailto:a@b.example", &[]),
            ("tel:+49", &[]),
            ("data:text/html,x", &[]),
            ("ftp://127.0.0.1:8081/x", &[]),
            ("http://[", &[]),
            ("/app.css?v=3", &[]),
            ("/photo.JPG", &[]),
            ("/report.pdf", &[]),
            ("/..//evil.example/x", &[]),
            ("/photo.jpg/edit", &["/photo.jpg/edit"]),
        ];
        for (href, targets) in cases {
            assert_eq!(of(&format!("<a href='{href}'>x</a>")), inside(targets), "{href}");
        }
    }

    #[test]
    fn other_hosts_are_counted_and_no_link_of_ours() {
        let hosts = [
            "//cdn.example/x",
            "http://127.0.0.1:8082/",
            "http://127.0.0.1:8081@evil.example/",
            "https://localhost:8025/",
            "http://127.0.0.1.evil.example/",
            "http:\\\\evil.example/x",
        ];
        for host in hosts {
            let found = of(&format!("<a href='{host}'>a</a><a href='{host}'>again</a>"));
            assert_eq!((found.foreign, found.inside), (1, vec![]), "{host}");
        }
    }

    #[test]
    fn elements_that_link_to_pages_differ_from_those_that_load_assets() {
        let html = r#"
            <link rel="stylesheet" href="/style"><link rel=next href=/next><link rel="canonical" href="/c">
            <link rel="alternate stylesheet" href="/no"><link href="/no"><link rel="" href="/no">
            <img src="/no"><script src="/no"></script><script>"<a href='/no'>"</script>
            <!-- <a href="/no"> --><map><area href="/area"></map>
            <A HREF=/upper>x</A><a>no</a><iframe src="/frame"></iframe><frame src="/frame2">
            <noscript><a href="/no"></a></noscript><textarea><a href="/no"></textarea>
            <a href="/frame">again</a><a href="/open"#;
        assert_eq!(of(html), inside(&["/next", "/c", "/area", "/upper", "/frame", "/frame2"]));
    }

    #[test]
    fn a_base_element_changes_relative_links() {
        let html =
            "<base href='/docs/v2/'><a href='a'></a><a href='/b'></a><form><input name=q></form>";
        assert_eq!(of(html), inside(&["/docs/v2/a", "/b", "/shop/list?q={user}"]));
        let html = "<base href='https://cdn.example/'><a href='a'></a><form></form>";
        assert_eq!(of(html), Links { foreign: 1, ..inside(&["/shop/list"]) });
    }

    #[test]
    fn json_has_links_under_the_keys_that_apis_use() {
        let json = br#"{"@id": "/api/books", "title": "/no", "url": "no", "data": [{"links": {"self": "/api/books/1",
            "author": {"href": "http://127.0.0.1:8081/api/authors/7"}}}], "next_page_url": "https://other.example/2",
            "_links": ["/api/a.png", "/api/b"], "href": null}"#;
        let expected = inside(&["/api/books", "/api/books/1", "/api/authors/7", "/api/b"]);
        assert_eq!(json_links(&page(), json), Links { foreign: 1, ..expected });
        assert_eq!(json_links(&page(), b"[1,"), Links::default());
        let deep = "[".repeat(100_000);
        assert_eq!(json_links(&page(), deep.as_bytes()), Links::default());
    }

    /// Returns the CPU time of this thread in s, whatever else runs on the machine.
    fn cpu_time() -> f64 {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
    }

    /// If parts were read again and again, ten times the input would take a hundred times as long.
    #[test]
    fn the_time_for_a_page_is_linear_in_its_length() {
        let base = format!("<base href='/{}'>", "b/".repeat(2_000));
        let parts: [(&str, &str); 6] = [
            ("", "<a href='/a/b?c=d&amp;e=f'>x</a>"),
            (&base, "<a href=../x>x</a>"),
            ("<form>", "<input name=a value=b><select name=c><option>d"),
            ("<form><textarea name=a>", "text &lt; more"),
            ("<a ", "b=c "),
            ("", "<a href='"),
        ];
        for (begin, part) in parts {
            let took = |bytes: usize| {
                let html = format!("{begin}{}", part.repeat(bytes / part.len()));
                let begin = cpu_time();
                links(&page(), html.as_bytes());
                cpu_time() - begin
            };
            let (short, long) = (took(100 << 10), took(1 << 20));
            assert!(long < 30.0 * short + 0.1, "{part}: {short} s, {long} s");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn no_bytes_cause_a_panic_or_a_link_to_another_host(
            bytes in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..200),
                "(<(a|area|form|base|link|iframe|input|select|option|textarea)( (href|src|action|name|value|rel)=['\"]?[/\\\\a-z:.@?#\u{0}-\u{7f}é]{0,12}['\"]?){0,3}>[^<]{0,3}(</(form|select|a)>)?){0,6}".prop_map(String::into_bytes),
                "<a href='(http:|https:)?[/\\\\]{0,3}.{0,20}'>".prop_map(String::into_bytes),
                "\\{\"(url|links|next)\": *\"(/|http://|https://).{0,12}\"\\}".prop_map(String::into_bytes),
            ],
        ) {
            let page = page();
            for found in [links(&page, &bytes), json_links(&page, &bytes)] {
                for target in found.inside {
                    prop_assert!(target.starts_with('/') && !target.starts_with("//"), "{target}");
                    prop_assert!(target.bytes().all(|byte| byte > b' ' && byte < 0x7f), "{target}");
                    let url = page.join(&target).expect("a target");
                    prop_assert_eq!(url.origin(), page.origin(), "{}", target);
                }
            }
        }
    }
}
