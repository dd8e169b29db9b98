//! Follows the links of the app, page after page, those nearest to the first page first. Routes of
//! the app's router alternate with them.

use std::collections::{BTreeMap, HashSet, VecDeque};

use stampede_model::fact::NotSent;
use url::Url;

use super::links::{LinkTarget, Links, json_links, links, resolve};
use super::policy::method_and_target;
use super::shape::Shapes;
use super::{Policy, RequestList};
use crate::model::{CheckRequest, SkippedRequest};

/// Default number of pages.
pub const PAGES: usize = 50;
/// Most different targets that are remembered, so that endless links do not exhaust the memory.
const TARGETS_MAX: usize = 50_000;
/// Most skipped requests that are listed.
const LISTED_MAX: usize = 100;

/// Pages that were linked to or listed and not yet requested. It sends nothing: its caller sends
/// each request and reports the answer. It returns only requests that the policy allows.
#[derive(Clone, Debug)]
pub struct Crawl {
    /// The root URL of the site.
    site: Url,
    limit: usize,
    policy: Policy,
    returned: usize,
    linked: VecDeque<CheckRequest>,
    /// Requests of the router's list.
    listed: VecDeque<CheckRequest>,
    seen: HashSet<(String, String)>,
    shapes: BTreeMap<String, Shapes>,
    skipped: Vec<SkippedRequest>,
    foreign: usize,
}

impl Crawl {
    /// Begins at the target `start` of `host` (as in the `Host` header), with at most `limit`
    /// pages.
    pub fn new(host: &str, start: &str, limit: usize, policy: Policy) -> Crawl {
        let site = Url::parse(&format!("http://{host}/"));
        let site = site.or_else(|_| Url::parse("http://localhost/")).expect("a URL");
        let mut crawl = Crawl {
            site,
            limit,
            policy,
            returned: 0,
            linked: VecDeque::new(),
            listed: VecDeque::new(),
            seen: HashSet::new(),
            shapes: BTreeMap::new(),
            skipped: Vec::new(),
            foreign: 0,
        };
        crawl.add_link("/", start);
        crawl
    }

    /// Takes the answer for `target`; its links are queued after all known ones.
    pub fn add_page(&mut self, target: &str, content_type: &str, body: &[u8]) {
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
        found.inside.into_iter().for_each(|target| self.queue(target));
    }

    /// Takes the routes of the app's router.
    pub fn add_routes(&mut self, listed: RequestList) {
        for request in listed.requests {
            if let Some(request) = self.accept(request) {
                self.listed.push_back(request);
            }
        }
        listed.skipped.into_iter().for_each(|skipped| self.skip(skipped));
    }

    /// Takes a link of `target` from outside its page: the target of a redirect.
    pub fn add_link(&mut self, target: &str, link: &str) {
        let Ok(page) = self.site.join(target) else { return };
        match resolve(&page, &page, link) {
            LinkTarget::Inside(target) => self.queue(target),
            LinkTarget::Foreign(_) => self.foreign += 1,
            LinkTarget::Nowhere => {}
        }
    }

    /// Returns what was linked to or listed but is not requested, with the reasons.
    pub fn skipped(&self) -> Vec<SkippedRequest> {
        let mut skipped = self.skipped.clone();
        skipped.extend(self.shapes.iter().flat_map(|(method, shapes)| shapes.skipped(method)));
        let mut say = |request: String, why: NotSent| {
            skipped.push(SkippedRequest { request, why: why.into() });
        };
        let beyond = NotSent::OverLimit { limit: self.limit };
        let (links, routes) = (self.linked.len(), self.listed.len());
        if links > 0 {
            say(format!("{links} {}", noun(links)), beyond.clone());
        }
        if routes > 0 {
            say(format!("{routes} of the router's list"), beyond);
        }
        if self.foreign > 0 {
            say(format!("{} {}", self.foreign, noun(self.foreign)), NotSent::ForeignLinks {});
        }
        skipped
    }

    /// Takes a link within the app.
    fn queue(&mut self, target: String) {
        let request = CheckRequest { method: "GET".to_owned(), target, ..CheckRequest::default() };
        if let Some(request) = self.accept(request) {
            self.linked.push_back(request);
        }
    }

    /// Returns the request if it is new and the policy allows it.
    fn accept(&mut self, request: CheckRequest) -> Option<CheckRequest> {
        let known = (request.method.clone(), request.target.clone());
        if self.seen.len() >= TARGETS_MAX || !self.seen.insert(known) {
            return None;
        }
        if let Some(why) = self.policy.reason_to_skip(&request) {
            self.skip(SkippedRequest { request: method_and_target(&request), why: why.into() });
            return None;
        }
        let shapes = self.shapes.entry(request.method.clone()).or_default();
        shapes.take(&request.target).then_some(request)
    }

    fn skip(&mut self, skipped: SkippedRequest) {
        if self.skipped.len() < LISTED_MAX {
            self.skipped.push(skipped);
        }
    }
}

impl Iterator for Crawl {
    type Item = CheckRequest;

    fn next(&mut self) -> Option<CheckRequest> {
        if self.returned >= self.limit {
            return None;
        }
        // The queues alternate: a long list leaves room for links, which contain ids of the
        // database.
        let (first, second) = match self.returned % 2 {
            0 => (&mut self.linked, &mut self.listed),
            _ => (&mut self.listed, &mut self.linked),
        };
        let request = first.pop_front().or_else(|| second.pop_front())?;
        self.returned += 1;
        Some(request)
    }
}

fn noun(count: usize) -> &'static str {
    if count == 1 { "link" } else { "links" }
}

#[cfg(test)]
mod tests {
    use super::super::METHODS;
    use super::*;

    fn crawl(limit: usize) -> Crawl {
        let policy = Policy::new(METHODS, &[]).expect("a policy");
        Crawl::new("127.0.0.1:8081", "/", limit, policy)
    }

    /// Returns what is requested in a site of these pages, and what is not.
    fn pass(mut crawl: Crawl, pages: &[(&str, String)]) -> (Vec<String>, Vec<String>) {
        let pages: BTreeMap<&str, &String> =
            pages.iter().map(|(target, html)| (*target, html)).collect();
        let mut requests = Vec::new();
        while let Some(one) = crawl.next() {
            if let Some(html) = pages.get(one.target.as_str()) {
                crawl.add_page(&one.target, "text/html; charset=utf-8", html.as_bytes());
            }
            requests.push(one.target);
        }
        let skipped = crawl.skipped().into_iter();
        (
            requests,
            skipped
                .map(|skipped| format!("{}: {}", skipped.request, skipped.why.sentence()))
                .collect(),
        )
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
        let (requests, skipped) = pass(crawl(PAGES), &pages);
        assert_eq!(requests, ["/", "/b", "/a", "/deep", "/last"]);
        let expected = [
            "GET /logout: `logout` in its path",
            "GET /logout?x=1: `logout` in its path",
            "1 link: to another host",
        ];
        assert_eq!(skipped, expected);
        let (requests, skipped) = pass(crawl(2), &pages);
        assert_eq!(requests, ["/", "/b"]);
        assert_eq!(skipped[1..], ["2 links: beyond the limit of 2", "1 link: to another host"]);
    }

    #[test]
    fn of_many_links_of_one_shape_only_some_are_requested() {
        let products: Vec<String> = (1..=900).map(|id| format!("/product/{id}")).collect();
        let numbers: Vec<String> = (1..=30).map(|id| format!("/?page={id}")).collect();
        let all: Vec<&str> = products.iter().chain(&numbers).map(String::as_str).collect();
        let (requests, skipped) = pass(crawl(PAGES), &[("/", page(&all) + &page(&["/about"]))]);
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
        assert_eq!(requests, expected);
        let expected = [
            "GET /?page (27): enough others have the same shape",
            "GET /product/{n} (897): enough others have the same shape",
        ];
        assert_eq!(skipped, expected);
    }

    #[test]
    fn answers_are_read_by_their_content_type() {
        let mut crawl = crawl(PAGES);
        assert_eq!(crawl.next().map(|one| one.target).as_deref(), Some("/"));
        crawl.add_page("/", "text/plain", b"<a href=/no>");
        crawl.add_page("/", "application/ld+json", br#"{"@id": "/api"}"#);
        crawl.add_page("/", "TEXT/HTML", b"<a href=/html>");
        crawl.add_link("/html", "login?back=1");
        crawl.add_link("/html", "https://other.example/");
        let rest: Vec<String> = crawl.by_ref().map(|one| one.target).collect();
        assert_eq!(rest, ["/api", "/html", "/login?back=1"]);
        assert_eq!(crawl.skipped().len(), 1);
    }

    #[test]
    fn a_first_page_may_be_anywhere_and_a_host_may_be_no_name() {
        let policy = || Policy::new(METHODS, &[]).expect("a policy");
        let first = |host: &str, start: &str| {
            Crawl::new(host, start, 9, policy()).next().map(|one| one.target)
        };
        assert_eq!(first("a.example:80", "/index.php?x=1").as_deref(), Some("/index.php?x=1"));
        assert_eq!(first("b\u{fc}cher.example", "/").as_deref(), Some("/"));
        assert_eq!(first("a b", "/").as_deref(), Some("/"));
        assert_eq!(first("a.example", "/logout"), None);
        assert_eq!(Crawl::new("a.example", "/", 0, policy()).next(), None);
    }

    #[test]
    fn routes_and_links_take_turns() {
        let of = |method: &str, target: &str| CheckRequest {
            method: method.into(),
            target: target.into(),
            ..CheckRequest::default()
        };
        let requests =
            [("GET", "/r1"), ("GET", "/a"), ("POST", "/r1"), ("GET", "/logout"), ("GET", "/r2")];
        let requests = requests.map(|(method, target)| of(method, target)).to_vec();
        let why = NotSent::Placeholder { placeholder: "slug".to_owned(), requirement: None }.into();
        let skipped = vec![SkippedRequest { request: "GET /post/{slug}".to_owned(), why }];
        let mut crawl = crawl(5);
        crawl.add_routes(RequestList { requests, skipped });
        let pages = [("/", page(&["/a", "/b", "/c", "/d"]))];
        let (requests, skipped) = pass(crawl, &pages);
        assert_eq!(requests, ["/", "/r1", "/b", "/a", "/c"]);
        let expected = [
            "POST /r1: only GET, HEAD are sent",
            "GET /logout: `logout` in its path",
            "GET /post/{slug}: no known value for `{slug}`",
            "1 link: beyond the limit of 5",
            "1 of the router's list: beyond the limit of 5",
        ];
        assert_eq!(skipped, expected);
    }
}
