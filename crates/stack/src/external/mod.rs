//! Handles external runtimes: already running, given by URL, neither started nor stopped nor
//! pinned.
//!
//! ```text
//! url → Target ─▶ asked before load and after it, and sent to
//! watch → Watched: a cgroup, or processes ─▶ the monitor
//! ```

mod error;
mod group;
mod project;
mod stack;
mod watch;

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use serde_json::Value;
use stampede_model::address::ChosenAddress;
use stampede_model::fact::Notice;
use stampede_model::fact::external as about;
use stampede_model::isolation::IsolationRecord;
use stampede_model::load::Address;
use stampede_model::process_group::ProcessGroup;
use stampede_model::record::{ObservedState, ProviderKind, RequestedSetup, RuntimeRecord};
use stampede_model::redirect::is_redirect;
use stampede_plan::addresses;
use stampede_plan::lookup::Lookup;
use stampede_plan::model::{RequestSpec, Watch};
use stampede_plan::target::Target;

use crate::{
    Accepts, Answer, AnswerContext, App, ClientError, PageRequest, PageResult, SingleClient, Site,
    SiteRequest, client, holds_port, outside, request_page,
};

pub use error::ExternalError;
pub(crate) use group::{CgroupOwner, accounting};
pub use stack::ExternalProvider;
pub use watch::{ROLE, WatchedProcesses};

/// An external runtime that was found.
#[derive(Clone, Debug)]
pub struct External {
    name: String,
    url: String,
    target: Target,
    /// Which of the name's addresses are used; `None`: there was no choice.
    taken: Option<ChosenAddress>,
    watched: Option<WatchedProcesses>,
    watch: Option<Watch>,
}

impl External {
    /// Looks up the address, connects once, and finds the watched processes. If a name has several
    /// addresses, those that accept a connection are used in turn.
    ///
    /// # Errors
    /// Any of the three fails.
    pub fn find(
        name: &str,
        url: &str,
        lookup: &Lookup,
        watch: Option<&Watch>,
    ) -> Result<External, ExternalError> {
        let mut target = Target::parse(url, lookup)?;
        let taken = target.choose(|_| true)?;
        client::connect(target.addresses.first(), CONNECTS_WITHIN)
            .map_err(|source| unreachable_error(&target, source))?;
        let watched = watch.map(WatchedProcesses::find).transpose()?;
        Ok(External {
            name: name.to_owned(),
            url: url.to_owned(),
            target,
            taken,
            watched,
            watch: watch.cloned(),
        })
    }

    /// The address that single requests go to.
    fn address(&self) -> &Address {
        self.target.addresses.first()
    }

    /// The value of the header `Host`.
    pub fn host(&self) -> &str {
        &self.target.host
    }

    /// The prefix of every request's path: empty, or such as `/shop`.
    pub fn base(&self) -> &str {
        self.target.path.trim_end_matches('/')
    }

    /// The watched processes as the monitor takes them. There is no role where nothing is watched.
    pub fn group(&self) -> ProcessGroup {
        self.watched.as_ref().map_or(ProcessGroup { roles: Vec::new() }, WatchedProcesses::group)
    }

    /// The plan's `watch`, if the watched processes ended or were replaced; `None`: they are the
    /// same, or nothing is watched.
    pub fn gone(&self) -> Option<Watch> {
        self.watched.as_ref().and_then(WatchedProcesses::gone)
    }

    /// Notices for the user before anything is sent.
    pub fn notices(&self) -> Vec<Notice> {
        let external =
            |found: about::External| Notice::External { runtime: self.name.clone(), found };
        let taken = self.taken.iter().cloned();
        let mut notices: Vec<Notice> =
            taken.map(about::External::Addresses).map(external).collect();
        if !self.target.is_here() {
            let (runtime, host) = (self.name.clone(), self.target.host.clone());
            notices.push(Notice::Elsewhere { runtime, host });
        }
        let Some(watched) = &self.watched else { return notices };
        notices.extend(watched.memory_note().map(external));
        // Not checked for a container: its port is forwarded to it, or is in a network of its own.
        if let (Some(watch @ (Watch::Pid(_) | Watch::Unit(_))), Address::Tcp(address)) =
            (&self.watch, self.address())
            && self.target.is_here()
            && holds_port(address.port(), &watched.tree()) == Some(false)
        {
            let (watch, port) = (watch.to_string(), address.port());
            notices.push(external(about::External::OtherListener { watch, port }));
        }
        notices
    }

    /// The runtime's record, as far as the plan describes it.
    pub fn record(&self) -> RuntimeRecord {
        let mut settings = BTreeMap::from([("url".to_owned(), Value::from(self.url.as_str()))]);
        if let Some(watch) = &self.watch {
            settings.insert("watch".to_owned(), Value::from(watch.to_string()));
        }
        RuntimeRecord {
            title: format!("already running at {}", self.target.addresses),
            settings,
            given: self.given(),
            ..RuntimeRecord::default()
        }
    }

    /// The isolation record: stampede isolates nothing here, and knows only where the figures are
    /// read.
    pub fn isolation(&self) -> IsolationRecord {
        let none = || "none".to_owned();
        IsolationRecord {
            cpu_set: none(),
            cpus: Vec::new(),
            cpus_by_role: BTreeMap::new(),
            cpu_quota: None,
            memory_limit: none(),
            memory_bytes: 0,
            process_group: none(),
            accounting: self.watched.as_ref().map_or_else(none, WatchedProcesses::accounting),
        }
    }

    fn given(&self) -> RequestedSetup {
        RequestedSetup { provider: ProviderKind::External, ..RequestedSetup::default() }
    }

    /// Verifies that the runtime serves `app` correctly. PHP's version and settings are known only
    /// if the answer contains them, since only requests of the plan may be sent.
    ///
    /// # Errors
    /// The page's answer is wrong, or does not come.
    fn verify(
        &self,
        app: &App,
        page: &PageRequest,
        requests: &[&RequestSpec],
    ) -> Result<ObservedState, ExternalError> {
        let context = self.answer_context(app);
        outside::verify(self, &context, || self.page(app, page), requests)
    }

    /// The app's page in the form in which it is compared.
    ///
    /// # Errors
    /// The answer is wrong, or does not come.
    fn answer(&self, app: &App, page: &PageRequest) -> Result<String, ExternalError> {
        Ok(self.answer_context(app).shown(&self.page(app, page)?))
    }

    fn answer_context<'a>(&self, app: &'a App) -> AnswerContext<'a> {
        let port = match self.address() {
            Address::Tcp(address) => address.port(),
            Address::Unix(_) => 0,
        };
        AnswerContext { app, port, dir: None }
    }

    /// Asks for the page that shows whether the app works, and follows its redirects.
    ///
    /// # Errors
    /// There is no answer.
    fn request_page(&self, app: &App, page: &PageRequest) -> Result<PageResult, ExternalError> {
        request_page(self, app, page, "/", page.within).map_err(ExternalError::NoAnswer)
    }

    fn page(&self, app: &App, page: &PageRequest) -> Result<Answer, ExternalError> {
        let path = page.path.as_deref().unwrap_or("/");
        let answer =
            self.request_path(path, &page.headers, page.within).map_err(ExternalError::NoAnswer)?;
        // A redirect that was not followed is left for the load to judge.
        let is_judged = page.accepts == Accepts::Correct && !is_redirect(answer.status);
        match app.wrong(&answer).filter(|_| is_judged) {
            None => Ok(answer),
            Some(wrong) => Err(ExternalError::WrongPage { wrong }),
        }
    }
}

impl Site for External {
    fn send(&self, request: &SiteRequest<'_>, within: Duration) -> Result<Answer, ClientError> {
        let path = format!("{}{}", self.base(), request.path);
        let has_host = request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host"));
        let own = (!has_host).then(|| ("Host".to_owned(), self.target.host.clone()));
        let headers: Vec<_> = own.into_iter().chain(request.headers.iter().cloned()).collect();
        let request = SiteRequest { path: &path, headers: &headers, ..*request };
        SingleClient::new(self.address().clone(), within).exchange(&request)
    }

    fn hosts(&self) -> Vec<String> {
        let mut hosts = vec![self.target.host.clone()];
        for address in self.target.addresses.iter() {
            let Address::Tcp(address) = address else { continue };
            hosts.push(address.to_string());
            hosts.extend(
                address.ip().is_loopback().then(|| format!("localhost:{}", address.port())),
            );
        }
        hosts
    }

    fn base(&self) -> &str {
        External::base(self)
    }
}

fn unreachable_error(target: &Target, source: io::Error) -> ExternalError {
    let elsewhere = match target.addresses.first() {
        Address::Tcp(address) => addresses::elsewhere(*address),
        Address::Unix(_) => None,
    };
    ExternalError::NobodyThere { address: target.addresses.to_string(), elsewhere, source }
}

/// The timeout for a connection.
const CONNECTS_WITHIN: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_machine_causes_a_notice_before_any_request() {
        let external = |url| External {
            name: "shop".to_owned(),
            url: String::new(),
            target: Target::parse(url, &Lookup::default()).expect("an address"),
            taken: None,
            watched: None,
            watch: None,
        };
        assert_eq!(external("http://127.0.0.1:8080").notices(), []);
        assert_eq!(external("unix:/run/a.sock").notices(), []);
        // An address reserved for documentation (RFC 5737). The test never connects to it.
        let (runtime, host) = ("shop".to_owned(), "192.0.2.1:8080".to_owned());
        let elsewhere = Notice::Elsewhere { runtime, host };
        assert_eq!(external("http://192.0.2.1:8080").notices(), [elsewhere]);
        assert_eq!(external("http://127.0.0.1/shop/").base(), "/shop");
        assert_eq!(external("http://127.0.0.1").base(), "");
    }

    #[test]
    fn watched_processes_that_do_not_listen_at_the_address_cause_a_notice() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let notices = |pid| {
            let external = External::find("shop", &url, &Lookup::default(), Some(&Watch::Pid(pid)))
                .expect("it is there");
            external.notices().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        assert!(!notices(std::process::id()).contains("listen"), "we do listen");
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
        let doubt = notices(child.id());
        child.kill().expect("killed");
        child.wait().expect("reaped");
        assert!(doubt.contains("does not itself listen on port"), "{doubt}");
    }

    #[test]
    fn an_address_where_nothing_listens_is_named_in_the_error() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = free.local_addr().expect("its address");
        drop(free);
        let url = format!("http://{address}/");
        let error =
            External::find("shop", &url, &Lookup::default(), None).expect_err("nobody listens");
        assert_eq!(error.to_string(), format!("nobody answers at {address}"));
        assert_eq!(error.key(), "url");
        let error = External::find("shop", "unix:/nowhere/a.sock", &Lookup::default(), None)
            .expect_err("no socket");
        assert_eq!(error.to_string(), "nobody answers at /nowhere/a.sock");
    }
}
