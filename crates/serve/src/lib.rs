//! The command `stampede serve`: shows the runs of a directory in a browser, and the current run
//! live.
//!
//! ```text
//! directory of results ─▶ shows (pages, the list) ─▶ HTTP on 127.0.0.1
//!                  └─▶ watch (what changed) ────▶ server-sent events
//! ```
//! The server only reads. No request writes or starts anything. A client without the token sees
//! nothing. Neither does a page of another origin that reaches us under a name of its own (DNS
//! rebinding). A browser gets the token as a cookie at its first visit, and is sent to the same page
//! without it, so that it stays in no list of visited pages.

mod schema;
mod shows;
mod watch;

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{RawQuery, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use futures_util::stream::{self, Stream};
use stampede_linux::interrupt;
use stampede_mask::Masked;
use stampede_model::causes::chain;

pub use schema::schema;
use shows::Site;
use stampede_results::store::StoreError;
use watch::{Message, Watch};

/// A server that has its port and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    site: Arc<Site>,
}

impl Server {
    /// Binds a port of 127.0.0.1 (0: a free one) for the runs of a directory.
    ///
    /// # Errors
    /// The port is in use, or this user may not bind it.
    pub fn bind(results: PathBuf, port: u16) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        Ok(Server { listener, site: Arc::new(Site::new(results, port)) })
    }

    /// Returns the URL of the list, with the token.
    ///
    /// # Errors
    /// The system does not report the port.
    pub fn address(&self) -> io::Result<String> {
        let at: SocketAddr = self.listener.local_addr()?;
        Ok(format!("http://{at}{}", self.site.entrance()))
    }

    /// Answers requests until an end is asked for.
    ///
    /// # Errors
    /// The system gives no threads or no events.
    pub fn run(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(READERS)
            .build()?;
        let result = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let serve = axum::serve(listener, router(self.site));
            tokio::select! {
                result = async { serve.await } => result,
                () = wait_for_interrupt() => Ok(()),
            }
        });
        // Streams of events end with this process. Pages that are still being read are not waited
        // for.
        runtime.shutdown_background();
        result
    }
}

async fn wait_for_interrupt() {
    while !interrupt::is_requested() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn router(site: Arc<Site>) -> Router {
    Router::new()
        .route("/", get(list))
        .route("/events", get(list_events))
        .route("/run", get(run))
        .route("/run/events", get(run_events))
        .route("/over", get(overlay))
        .route("/rows", get(rows))
        .layer(middleware::from_fn_with_state(Arc::clone(&site), guard))
        .with_state(site)
}

/// Lets a request through if its host is a name of this machine and it has the token, in its query or
/// in its cookie.
async fn guard(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let entry = Entry::of(&site, &request);
    let gets_cookie = matches!(entry, Entry::Moved(_) | Entry::Allowed { is_first: true });
    let mut response = match entry {
        Entry::Refused(why) => (StatusCode::FORBIDDEN, why).into_response(),
        Entry::Moved(place) => (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response(),
        Entry::Allowed { .. } => next.run(request).await,
    };
    let headers = response.headers_mut();
    if let (true, Ok(cookie)) = (gets_cookie, HeaderValue::from_str(&site.cookie())) {
        headers.insert(header::SET_COOKIE, cookie);
    }
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// What becomes of a request.
enum Entry {
    /// It gets nothing, and why.
    Refused(&'static str),
    /// A browser's first visit: the same page without the token.
    Moved(String),
    /// It is answered; at first with the cookie.
    Allowed { is_first: bool },
}

impl Entry {
    fn of(site: &Site, request: &Request) -> Entry {
        let text = |name: header::HeaderName| {
            request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
        };
        let host = text(header::HOST);
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        if !["127.0.0.1", "localhost", "[::1]"].contains(&name) {
            return Entry::Refused("Ask for 127.0.0.1 or localhost.\n");
        }
        let query = Query::of(request.uri().query());
        let is_first = site.accepts(query.one("token"));
        let is_visit =
            request.method() == Method::GET && text(header::ACCEPT).contains("text/html");
        match () {
            () if is_first && is_visit => {
                Entry::Moved(shows::place(request.uri().path(), &query.without("token")))
            }
            () if is_first || site.knows(text(header::COOKIE)) => Entry::Allowed { is_first },
            () => Entry::Refused(
                "The address lacks its token: take the whole one that `stampede serve` printed.\n",
            ),
        }
    }
}

async fn list(State(site): State<Arc<Site>>) -> Response {
    blocking(move || Ok(site.list_page())).await
}

async fn run(State(site): State<Arc<Site>>, RawQuery(query): RawQuery) -> Response {
    let query = Query::of(query.as_deref());
    blocking(move || site.run_page(query.one("name"))).await
}

async fn overlay(State(site): State<Arc<Site>>, RawQuery(query): RawQuery) -> Response {
    let query = Query::of(query.as_deref());
    blocking(move || site.overlay_page(&query.all("run"))).await
}

async fn rows(State(site): State<Arc<Site>>) -> Response {
    blocking(move || Ok(site.rows_page())).await
}

/// Runs `read` outside the thread that answers, because reading a run's directory may take a
/// second.
async fn blocking(read: impl FnOnce() -> Result<String, StoreError> + Send + 'static) -> Response {
    match tokio::task::spawn_blocking(read).await {
        Ok(Ok(page)) => Html(Masked::rendered(&page).into_text()).into_response(),
        Ok(Err(error @ StoreError::NoRun { .. })) => error_response(StatusCode::NOT_FOUND, &error),
        Ok(Err(error)) => error_response(StatusCode::INTERNAL_SERVER_ERROR, &error),
        Err(panic) => (StatusCode::INTERNAL_SERVER_ERROR, panic.to_string()).into_response(),
    }
}

fn error_response(status: StatusCode, error: &StoreError) -> Response {
    let hint = error.hint().map_or(String::new(), |hint| format!("hint: {hint}\n"));
    let text = Masked::text(&format!("{}\n{hint}", chain(error)));
    (status, text.into_text()).into_response()
}

async fn list_events(State(site): State<Arc<Site>>) -> impl IntoResponse {
    events(Watch::list(site))
}

async fn run_events(State(site): State<Arc<Site>>, RawQuery(query): RawQuery) -> impl IntoResponse {
    let query = Query::of(query.as_deref());
    let ended = query.one("ended").parse().unwrap_or(0);
    events(Watch::run(site, query.one("name"), ended))
}

/// Returns the watch's messages as a stream. The watch looks once a second.
fn events(watch: Watch) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let all = stream::unfold((watch, Vec::<Message>::new()), |(mut watch, mut messages)| async {
        while messages.is_empty() {
            if watch.is_over() {
                return None;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
            let poll = move || {
                let messages = watch.poll();
                (watch, messages)
            };
            (watch, messages) = tokio::task::spawn_blocking(poll).await.ok()?;
        }
        let Message { event, data } = messages.remove(0);
        let data = Masked::rendered(&data).into_text();
        Some((Ok(Event::default().event(event).data(data)), (watch, messages)))
    });
    Sse::new(all).keep_alive(KeepAlive::default())
}

/// The names and values of a query.
struct Query(Vec<(String, String)>);

impl Query {
    fn of(query: Option<&str>) -> Query {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        Query(pairs.into_owned().collect())
    }

    fn one(&self, name: &str) -> &str {
        self.0.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value)
    }

    fn without(&self, name: &str) -> Vec<(&str, &str)> {
        let others = self.0.iter().filter(|(other, _)| other != name);
        others.map(|(name, value)| (&**name, &**value)).collect()
    }

    fn all(&self, name: &str) -> Vec<String> {
        let values = self.0.iter().filter(|(other, _)| other == name);
        values.map(|(_, value)| value.clone()).collect()
    }
}

/// Pause between two looks. The rows of a run are seconds, too.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Threads that read: one for a page, one for events.
const READERS: usize = 2;
