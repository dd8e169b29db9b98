//! What the app itself links to, page after page, those nearest to its first page first.

use std::collections::{HashSet, VecDeque};

use url::Url;

use super::Policy;
use super::links::{Links, Where, json_links, links, resolve};
use super::policy::shown;
use super::shape::Shapes;
use crate::check::model::{Asked, Skipped};

/// Pages that are asked for where nobody says more.
pub const PAGES: usize = 50;
/// Different targets that are remembered: links without an end fill no memory.
const TARGETS_MAX: usize = 50_000;
/// Of those that are skipped.
const LISTED_MAX: usize = 100;

/// Pages that were linked to and not yet asked for. It asks nobody: its user does, and tells what
/// came. What it gives next is a target that the policy allows to ask for by GET.
#[derive(Clone, Debug)]
pub struct Crawl {
    /// The app's first page.
    site: Url,
    limit: usize,
    policy: Policy,
    given: usize,
    queue: VecDeque<String>,
    seen: HashSet<String>,
    shapes: Shapes,
    skipped: Vec<Skipped>,
    foreign: usize,
}

impl Crawl {
    /// From the target `start` on, of `host` as the header `Host` says it; `limit` pages at most.
    pub fn new(host: &str, start: &str, limit: usize, policy: Policy) -> Crawl {
        let site = Url::parse(&format!("http://{host}/"));
        let site = site.or_else(|_| Url::parse("http://localhost/")).expect("a URL");
        let mut crawl = Crawl {
            site,
            limit,
            policy,
            given: 0,
            queue: VecDeque::new(),
            seen: HashSet::new(),
            shapes: Shapes::default(),
            skipped: Vec::new(),
            foreign: 0,
        };
        crawl.link("/", start);
        crawl
    }

    /// What came for `target`: its links come behind all that are known.
    pub fn saw(&mut self, target: &str, content_type: &str, body: &[u8]) {
        let Ok(page) = self.site.join(target) else { return };
        let content_type = content_type.split(';').next().unwrap_or_default().trim();
        let content_type = content_type.to_ascii_lowercase();
        let found = match content_type.as_str() {
            "text/html" | "application/xhtml+xml" => links(&page, body),
            "application/json" => json_links(&page, body),
            other if other.ends_with("+json") => json_links(&page, body),
            _ => Links::default(),
        };
        self.foreign += found.foreign;
        found.inside.into_iter().for_each(|target| self.meet(target));
    }

    /// A link of `target` that is none of its page's: where it redirects to, a route of the app's.
    pub fn link(&mut self, target: &str, link: &str) {
        let Ok(page) = self.site.join(target) else { return };
        match resolve(&page, &page, link) {
            Where::Inside(target) => self.meet(target),
            Where::Foreign(_) => self.foreign += 1,
            Where::Nowhere => {}
        }
    }

    /// What was linked to and is not asked for, and why.
    pub fn skipped(&self) -> Vec<Skipped> {
        let mut skipped = self.skipped.clone();
        skipped.extend(self.shapes.skipped("GET"));
        let mut say = |request: String, why: &str| {
            skipped.push(Skipped { request, why: why.to_owned() });
        };
        let left = self.queue.len();
        if left > 0 {
            say(format!("{left} {}", noun(left)), &format!("beyond the limit of {}", self.limit));
        }
        if self.foreign > 0 {
            say(format!("{} {}", self.foreign, noun(self.foreign)), "to another host");
        }
        skipped
    }

    /// A link within the app.
    fn meet(&mut self, target: String) {
        if self.seen.len() >= TARGETS_MAX || !self.seen.insert(target.clone()) {
            return;
        }
        let asked = Asked { method: "GET".to_owned(), target, ..Asked::default() };
        if let Some(why) = self.policy.judge(&asked) {
            if self.skipped.len() < LISTED_MAX {
                self.skipped.push(Skipped { request: shown(&asked), why });
            }
        } else if self.shapes.take(&asked.target) {
            self.queue.push_back(asked.target);
        }
    }
}

impl Iterator for Crawl {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        if self.given >= self.limit {
            return None;
        }
        let target = self.queue.pop_front()?;
        self.given += 1;
        Some(target)
    }
}

fn noun(count: usize) -> &'static str {
    if count == 1 { "link" } else { "links" }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::METHODS;
    use super::*;

    fn crawl(limit: usize) -> Crawl {
        let policy = Policy::new(METHODS, &[]).expect("a policy");
        Crawl::new("127.0.0.1:8081", "/", limit, policy)
    }

    /// What is asked for in a site of these pages, and what is not.
    fn tour(mut crawl: Crawl, pages: &[(&str, String)]) -> (Vec<String>, Vec<String>) {
        let pages: BTreeMap<&str, &String> =
            pages.iter().map(|(target, html)| (*target, html)).collect();
        let mut asked = Vec::new();
        while let Some(target) = crawl.next() {
            if let Some(html) = pages.get(target.as_str()) {
                crawl.saw(&target, "text/html; charset=utf-8", html.as_bytes());
            }
            asked.push(target);
        }
        let skipped = crawl.skipped().into_iter();
        (asked, skipped.map(|skipped| format!("{}: {}", skipped.request, skipped.why)).collect())
    }

    fn page(targets: &[&str]) -> String {
        targets.iter().map(|target| format!("<a href=\"{target}\">x</a>")).collect()
    }

    #[test]
    fn the_nearest_pages_come_first_and_each_once() {
        let pages = [
            ("/", page(&["/b", "/a", "/", "/logout", "https://other.example/"])),
            ("/b", page(&["/deep", "/a", "/b#x", "/logout"])),
            ("/a", page(&["/last", "/logout?x=1"])),
        ];
        let (asked, skipped) = tour(crawl(PAGES), &pages);
        assert_eq!(asked, ["/", "/b", "/a", "/deep", "/last"]);
        let expected = [
            "GET /logout: `logout` in its path",
            "GET /logout?x=1: `logout` in its path",
            "1 link: to another host",
        ];
        assert_eq!(skipped, expected);
        let (asked, skipped) = tour(crawl(2), &pages);
        assert_eq!(asked, ["/", "/b"]);
        assert_eq!(skipped[1..], ["2 links: beyond the limit of 2", "1 link: to another host"]);
    }

    #[test]
    fn many_links_of_one_shape_are_thinned() {
        let products: Vec<String> = (1..=900).map(|id| format!("/product/{id}")).collect();
        let numbers: Vec<String> = (1..=30).map(|id| format!("/?page={id}")).collect();
        let all: Vec<&str> = products.iter().chain(&numbers).map(String::as_str).collect();
        let (asked, skipped) = tour(crawl(PAGES), &[("/", page(&all) + &page(&["/about"]))]);
        let expected = [
            "/",
            "/product/1",
            "/product/2",
            "/product/3",
            "/?page=1",
            "/?page=2",
            "/?page=3",
            "/about",
        ];
        assert_eq!(asked, expected);
        let expected = [
            "GET /?page (27): enough others are of its shape",
            "GET /product/{n} (897): enough others are of its shape",
        ];
        assert_eq!(skipped, expected);
    }

    #[test]
    fn answers_of_other_kinds_are_read_as_what_they_are() {
        let mut crawl = crawl(PAGES);
        assert_eq!(crawl.next().as_deref(), Some("/"));
        crawl.saw("/", "text/plain", b"<a href=/no>");
        crawl.saw("/", "application/ld+json", br#"{"@id": "/api"}"#);
        crawl.saw("/", "TEXT/HTML", b"<a href=/html>");
        crawl.link("/html", "login?back=1");
        crawl.link("/html", "https://other.example/");
        assert_eq!(crawl.by_ref().collect::<Vec<_>>(), ["/api", "/html", "/login?back=1"]);
        assert_eq!(crawl.skipped().len(), 1);
    }

    #[test]
    fn a_first_page_may_be_anywhere_and_a_host_may_be_no_name() {
        let policy = || Policy::new(METHODS, &[]).expect("a policy");
        let first = |host: &str, start: &str| Crawl::new(host, start, 9, policy()).next();
        assert_eq!(first("a.example:80", "/index.php?x=1").as_deref(), Some("/index.php?x=1"));
        assert_eq!(first("b\u{fc}cher.example", "/").as_deref(), Some("/"));
        assert_eq!(first("a b", "/").as_deref(), Some("/"));
        assert_eq!(first("a.example", "/logout"), None);
        assert_eq!(Crawl::new("a.example", "/", 0, policy()).next(), None);
    }
}
