//! The table of keys, but for those of runtimes.

use super::super::app_settings::SESSIONS_MAX;
use super::super::client::{IN_FLIGHT_MAX, NAMES, WHEN_FULL};
use super::super::loads::{ARRIVALS, CONCURRENCY_MAX, LOADS_MAX};
use super::super::read::{FAIRNESS, MISSING, REPEATS_MAX, STARTS};
use super::super::runtimes::RUNTIMES_MAX;
use super::super::traffic_file::LOG_ERRORS;
use super::super::{apps, requests};
use super::forms::{
    APP_KINDS, COUNT, CPU_COUNTS, EXPECTATIONS, HEADERS, HTTP_VERSIONS, IMAGE_WORD, LENGTH, METHOD,
    METHOD_LIST, ON_OR_OFF, PATH, PHP_VERSIONS, PRECISION, RATE, ROLE_CPUS, ROUNDS, SCHEDULE,
    SHARE, SIZE, TEXTS, VALUES, WORKER_COUNT,
};
use super::runtimes::{ENTRY, PHP_INI};
use super::{Entries, Group, Key, Kind, Object};

/// A whole plan.
pub static WHOLE: Kind = Kind::Object(&PLAN);

pub static PLAN: Object = Object {
    name: "plan",
    place: "the plan",
    about: "Which PHP runtimes to compare, with which app, under which load.",
    short: None,
    groups: &[&OF_PLAN, &SETTINGS],
    rest: None,
    entries: Entries::Any,
    below: None,
};

static OF_PLAN: Group = Group {
    title: None,
    keys: &[
        Key::new("app", &Kind::Object(&APP), "The app that every runtime serves: a name of the catalogue, or a directory such as `~/shop`.")
            .otherwise("this directory if it looks like a PHP project (it has `composer.json`, `index.php`, `public/index.php`, `web/index.php` or `app.yaml`), else the catalogue's `hello`"),
        Key::new("apps", &APPS, "Several apps in place of `app`. Every runtime is measured with each."),
        Key::new("runtimes", &RUNTIMES, "The runtimes to compare.")
            .otherwise("the default runtimes that are installed and can run the app"),
        Key::new("baseline", &Kind::Text, "The runtime that the others are [compared with](#the-baseline).")
            .otherwise("the first runtime; nginx-fpm if nobody named the runtimes and it is among them"),
        Key::new("control", &Kind::Object(&CONTROL), "A row that you keep the same in each run: [`stampede history`](runs.md#the-control) divides by it.")
            .otherwise("none"),
        Key::new("missing", &Kind::Words(&MISSING), "What happens to runtimes that are not installed or cannot run the app. `refuse`: the plan is an error. `skip`: they are left out, and the run says so. `images`: what is not installed comes from its [official images](containers.md#official-images), if there is a container engine; the rest is left out.")
            .or("refuse"),
        Key::new("fairness", &Kind::Words(&FAIRNESS), "What is equal: the number of workers, or that each runtime has the number with which it is best. See [runtimes and settings](#runtimes-and-settings).")
            .or("equal-workers"),
        Key::new("budget", &Kind::Object(&BUDGET), "CPUs and memory of the stack: web server, PHP and what belongs to them.")
            .otherwise("half of the machine's CPUs, no limit of memory"),
        Key::new("load", &LOADS, "What is sent: names with loads, a list of loads, or a single load or schedule.")
            .otherwise("two loads, [steady and peak](#loads); with several apps only peak"),
        Key::new("load_from", &Kind::Object(&LOAD_FROM), "The machines that [send the loads](agents.md): agents. Arrivals are then Poisson unless the plan says otherwise.")
            .otherwise("this machine"),
        Key::new("listen", &Kind::Text, "The IPv4 address of this machine that stacks listen on, so that agents on other machines reach them.").or("127.0.0.1").like("10.0.0.5"),
        Key::new("client", &Kind::Object(&CLIENT), "How the client of all loads holds its connections.").or("stampede"),
        KEEP_ALIVE,
        Key::new("arrivals", &Kind::Words(&ARRIVALS), "The gaps between requests of open loads: equal, or random as those of independent visitors.")
            .or("uniform"),
        Key::new("timeout", &LENGTH, "The longest time of a request, from its start. A request that takes longer has failed.").or("11s"),
        Key::new("php", &PHP_VERSIONS, "The version of PHP for all runtimes. A list measures each runtime with each version. `php` of a runtime wins.")
            .otherwise("the highest that is installed and that the app allows; in a compose project the one that it has")
            .like("[8.2, 8.4]"),
        Key::new("images", &IMAGE_WORD, "`official`: the programs of all runtimes come from [their official images](containers.md#official-images), in containers. `images` of a runtime wins.")
            .or("off")
            .like("official"),
        Key::new("php_ini", &Kind::Object(&PHP_INI), "php.ini values for all runtimes. Those of a runtime win."),
        Key::new("env", &VALUES, "Environment variables of the app on all runtimes. Those of a runtime win."),
        Key::new("warm_up", &LENGTH, "Length of the load before the measured one. It is sent and discarded.").or("5s"),
        Key::new("cold", &Kind::Switch, "Measures what visitors meet after a deployment: no warm-up, OPcache and the app's caches empty. In place of `warm_up`.")
            .or("false"),
        Key::new("starts", &Kind::Words(&STARTS), "How many loads a start of a runtime serves. `per-load`: one, so that no load finds what an earlier one left. `per-round`: all of them, one after the other in the plan's order, each with its warm-up; this takes less time.")
            .or("per-load"),
        Key::new("rounds", &ROUNDS, "How often each row is measured, in random order. `auto`: 5 times, then up to 10 and 20, until every interval is narrow.")
            .otherwise("3 without a plan file; 1 in a plan file"),
        Key::new("precision", &PRECISION, "With `rounds: auto`: an interval is narrow if it is narrower than this share of its value.").or("5%"),
        Key::new("max_time", &LENGTH, "With `rounds: auto`: no round begins that would end later than this.").or("30m"),
        Key::new("repeat_invalid", &Kind::Whole { least: 0, most: REPEATS_MAX as u64 }, "How often a trial that came out invalid is measured again.")
            .or("1"),
        Key::new("seed", &Kind::Whole { least: 0, most: u64::MAX }, "Number that fixes the random order of the trials and Poisson arrivals.")
            .otherwise("drawn at random, and stored"),
        Key::new("expect", &EXPECTATIONS, "What must hold. If one does not, the exit code is 1. `p95 worse < 5%` is about [a change](diff.md)."),
        Key::new("published", &Kind::Text, "A file of [published tables](published.md), which are set beside what is measured.")
            .otherwise("none"),
        Key::new("out", &Kind::Text, "Directory of the results.").otherwise("a new one in `stampede-results/`"),
    ],
};

/// Settings that mean the same for all runtimes, so they may stand at the top level of a plan.
/// `keep_alive` is not among them: in a plan it is a connection habit of the loads.
pub static SETTINGS: Group = Group {
    title: Some("Settings of all runtimes"),
    keys: &[
        Key::new("workers", &WORKER_COUNT, "Requests that PHP serves at once: processes, or threads in FrankenPHP. stampede counts them. If it is not the number you asked for, the trial is suspect.")
            .or("8"),
        Key::new("max_requests", &Kind::Scalar, "A worker is replaced after this number of requests. 0: never.").or("0"),
        Key::new("memory_limit", &Kind::Scalar, "PHP's `memory_limit`, for each worker.").or("256M"),
        Key::new("front", &Kind::Scalar, "The web server in front of the runtime, such as `nginx`.").or("none"),
        Key::new("buffers", &Kind::Scalar, "KiB of an answer that the web server takes from PHP before the client has read them.").or("256"),
        Key::new("access_log", &ON_OR_OFF, "Whether the web server writes a log line per request.").or("off"),
        Key::new("compression", &ON_OR_OFF, "Whether answers are compressed.").or("off"),
        Key::new("keepalive_timeout", &Kind::Scalar, "Seconds that an idle connection stays open.").or("75"),
        Key::new("opcache", &ON_OR_OFF, "Whether OPcache is on.").or("on"),
        Key::new("jit", &Kind::Words(&["disable", "off", "tracing", "function"]), "OPcache's JIT.").or("disable"),
        Key::new("preload", &Kind::Scalar, "What OPcache preloads at the start. `off`: nothing. `app`: the preload file that the app names. `config/preload.php`: this file of the app. A note says how many files were preloaded.")
            .or("off"),
        Key::new("autoloader", &Kind::Words(&["as-is", "optimized", "authoritative"]), "Composer's autoloader in the copy of the app. `as-is`: the app's own. `optimized`: with a map of all classes (`composer dump-autoload --optimize`). `authoritative`: only this map, no search in directories (`--classmap-authoritative`).")
            .or("as-is"),
        Key::new("database", &Kind::Scalar, "The database that the app keeps its data in: [the apps](apps.md#databases).").or("none"),
        Key::new("database_cpus", &Kind::Scalar, "The CPUs of the database. `beside`: neither the stack's nor the load's. `stack`: the stack's.").or("beside"),
    ],
};

pub static APP: Object = Object {
    name: "app",
    place: "an app",
    about: "A name of the catalogue, a directory (it contains `/` or begins with `.` or `~`), or a map that says more about one of them. The keys below win over the app's `app.yaml` and over what is detected, and [each has a flag](apps.md#what-you-can-say-about-it). Lists and maps add to what is known.",
    short: Some(&Kind::Text),
    groups: &[&Group {
        title: None,
        keys: &[
            Key::new("path", &Kind::Text, "The directory of the project. Either `path` or `name` is needed."),
            Key::new("name", &Kind::Text, "An app of the catalogue, in place of `path`."),
            Key::new("title", &Kind::Text, "The title for readers.").otherwise("the name of the directory"),
            Key::new("kind", &Kind::Words(&APP_KINDS), "What it is served as.")
                .otherwise("detected").like("script"),
            Key::new("docroot", &Kind::Text, "The directory of the public files.").otherwise("detected").like("public_html"),
            Key::new("index", &Kind::Text, "The front controller in the docroot.").otherwise("`index.php`").like("app.php"),
            Key::new("writable", &TEXTS, "Paths that the app may write to although the original is read-only. A path that is missing becomes a directory.").like("[cache]"),
            Key::new("ready", &READY_KIND, "The page that shows whether the app works.").otherwise("the page that is measured").like("/health"),
            Key::new("host", &Kind::Text, "The host name under which the app is asked.").otherwise("`localhost`").like("shop.test"),
            Key::new("https", &Kind::Switch, "Tells the app that its requests came by HTTPS: the header `X-Forwarded-Proto`, and `HTTPS` in `$_SERVER` where each request boots the app.").or("false").like("true"),
            Key::new("headers", &HEADERS, "Headers of every request. Those of a load win."),
            Key::new("cookies", &HEADERS, "Cookies of every request, by name.").like("{PHPSESSID: 5f1c}"),
            Key::new("basic_auth", &Kind::Text, "HTTP basic authentication: `NAME:PASSWORD`.").like("\"ada:secret\""),
            Key::new("login", &LOGIN_KIND, "How to log in before the load: the page with the form, and what to fill in. Each trial logs in anew, before the warm-up.").like("{path: /login, form: {email: ann@shop.test, password: secret}}"),
            Key::new("sessions", &Kind::Whole { least: 1, most: SESSIONS_MAX as u64 }, "How many sessions log in, 1 to 1000. They take turns with the requests.").or("1").like("20"),
            Key::new("env", &VALUES, "Environment variables of this app. Those of the plan and of a runtime win."),
            Key::new("exclude", &TEXTS, "Paths of the directory that are not copied.").like("[uploads]"),
            Key::new("extensions", &TEXTS, "PHP extensions that the app needs, besides those that Composer's files require.").like("[intl]"),
        ],
    }],
    rest: None,
    entries: Entries::OneOf(&["path", "name"]),
    below: Some("in an app's map: `app: {path: ~/shop, KEY}`"),
};

static LOGIN_KIND: Kind = Kind::Any(&[&PATH, &Kind::Object(&LOGIN)]);

pub static LOGIN: Object = Object {
    name: "login",
    place: "`login`",
    about: "A login before the load. The form is asked for as a browser does, and is sent with everything that the page has put into it, such as a token against forged requests.",
    short: None,
    groups: &[&Group {
        title: None,
        keys: &[
            Key::new("path", &PATH, "The page with the form.").like("/login"),
            Key::new("form", &VALUES, "What to fill in, by the names of the form's fields. Without it, whoever asks for the page is logged in.").like("{email: ann@shop.test, password: secret}"),
            Key::new("pause", &LENGTH, "How long a visitor looks at the form before it is sent, for apps that refuse a form that comes back too soon.").otherwise("it is sent at once").like("5s"),
            Key::new("basic", &Kind::Text, "Another name of `basic_auth`: `NAME:PASSWORD`.").like("\"ada:secret\""),
            Key::new("cookie", &TEXTS, "Another form of `cookies`: `NAME=VALUE`.").like("SID=5f1c"),
        ],
    }],
    rest: None,
    entries: Entries::Any,
    below: Some("in an app's map: `login: {path: /login, KEY}`"),
};

static READY_KIND: Kind = Kind::Any(&[&PATH, &Kind::Object(&READY)]);

pub static READY: Object = Object {
    name: "ready",
    place: "`ready`",
    about: "The page that shows whether the app works, and how long its first answer may take.",
    short: None,
    groups: &[&Group {
        title: None,
        keys: &[
            Key::new("path", &PATH, "Path and query.").otherwise("the page that is measured"),
            Key::new("within", &LENGTH, "How long an answer may take before the load.")
                .otherwise("`timeout` of the load"),
        ],
    }],
    rest: None,
    entries: Entries::Any,
    below: None,
};

pub static BUDGET: Object = Object {
    name: "budget",
    place: "`budget`",
    about: "CPUs and memory of the whole stack, or CPUs by role. A budget by role is marked as unequal.",
    short: None,
    groups: &[&Group {
        title: None,
        keys: &[
            Key::new("cpus", &CPU_COUNTS, "CPUs of the whole stack. A list measures every row with each number. [A fraction](how-it-measures.md#a-fraction-of-a-cpu), `0.5` or `500m`, is a quota of CPU time.")
                .otherwise("half of the machine's"),
            Key::new("memory", &SIZE, "Memory of the whole stack. 0: no limit.").or("0"),
            Key::new("php", &ROLE_CPUS, "CPUs of PHP, in place of `cpus`."),
            Key::new("web", &ROLE_CPUS, "CPUs of the web server, in place of `cpus`."),
            Key::new("load", &ROLE_CPUS, "CPUs of the load threads, in place of `cpus`."),
            Key::new("or_less", &Kind::Switch, "Takes what the machine has if that is less, and says so. Without it such a budget is refused.").or("false"),
        ],
    }],
    rest: None,
    entries: Entries::Any,
    below: Some("in the budget: `budget: {cpus: 2, memory: 1GiB}`"),
};

pub static LOAD_FROM: Object = Object {
    name: "load_from",
    place: "load_from",
    about: "The machines that send the loads together. A text or a list stands for `agents`.",
    short: Some(&TEXTS),
    groups: &[&Group {
        title: None,
        keys: &[
            Key::new(
                "agents",
                &TEXTS,
                "Machines that `ssh` reaches by these names, agents that wait at a NATS broker or come to a port, or \
                 processes of this machine.",
            )
            .like("ssh:load1,load2")
            .otherwise("none"),
            Key::new("program", &Kind::Text, "A stampede that lies on the agents.")
                .otherwise("this program is copied there"),
            Key::new(
                "token_file",
                &Kind::Text,
                "A file with the token of agents that wait for orders.",
            )
            .otherwise("the environment variable `STAMPEDE_AGENT_TOKEN`"),
        ],
    }],
    rest: None,
    entries: Entries::Any,
    below: Some(
        "in the map of the agents, `load_from: {agents: ssh:load1, program: /opt/stampede}`",
    ),
};

pub static CONTROL: Object = Object {
    name: "control",
    place: "the control",
    about: "A row that is the same in each run, so that what changes it is the machine. A text stands for `runtime`.",
    short: Some(&Kind::Text),
    groups: &[&Group {
        title: None,
        keys: &[
            Key::new("runtime", &Kind::Text, "A runtime of the plan.").required().like("nginx-fpm"),
            Key::new("app", &Kind::Text, "An app of the plan that you do not change.")
                .otherwise("the app of the row that is divided")
                .like("hello"),
        ],
    }],
    rest: None,
    entries: Entries::Any,
    below: None,
};

pub static CLIENT: Object = Object {
    name: "client",
    place: "a client",
    about: "A name, or a map of habits. A name stands for the habits of that tool.",
    short: Some(&Kind::Words(&NAMES)),
    groups: &[
        &Group {
            title: None,
            keys: &[Key::new("use", &Kind::Words(&NAMES), "The client to start from.")
                .otherwise("the plan's client")],
        },
        &HABITS,
    ],
    rest: None,
    entries: Entries::Any,
    below: Some("in the client, `client: {max_in_flight: 100}`, or in a load"),
};

/// Habits of a client. A load may have them, too.
static HABITS: Group = Group {
    title: None,
    keys: &[
        KEEP_ALIVE,
        Key::new("http", &Kind::Words(&HTTP_VERSIONS), "The HTTP version.").otherwise("the client's"),
        Key::new("max_in_flight", &Kind::Whole { least: 1, most: IN_FLIGHT_MAX as u64 }, "The most requests of an open load that wait for their answers at once.")
            .otherwise("the client's"),
        Key::new("when_full", &Kind::Words(&WHEN_FULL), "What an open load does with a request while `max_in_flight` others wait. `queue`: it is sent later, and the wait counts. `drop`: it is not sent, and counts as dropped. `stretch`: the whole schedule is late from then on.")
            .otherwise("the client's"),
    ],
};

const KEEP_ALIVE: Key = Key::new("keep_alive", &Kind::Words(&["auto", "on", "off"]), "Whether a connection is used for more than one request. `auto`: wherever that does not hold up a worker.")
    .otherwise("the client's");

pub static LOAD: Object = Object {
    name: "load",
    place: "a load",
    about: "A schedule, or a map. It needs one of `schedule`, `rate` and `concurrency`.",
    short: Some(&SCHEDULE),
    groups: &[&OF_LOAD, &OF_REQUEST, &HABITS],
    rest: None,
    entries: Entries::OneOf(&["schedule", "rate", "concurrency"]),
    below: Some("in a load: `load: [{concurrency: 50, for: 60s}]`"),
};

static OF_LOAD: Group = Group {
    title: None,
    keys: &[
        Key::new("schedule", &SCHEDULE, "Open model: requests per second over time, in Yandex Tank's syntax: `line(from,to,length)`, `const(rate,length)`, `step(from,to,by,length)`."),
        Key::new("rate", &Kind::Any(&[&RATE, &SHARE]), "Open model: requests per second, whether or not earlier ones were answered. `50%`: [a share of the peak](#a-share-of-the-peak). Needs `for`."),
        Key::new("concurrency", &Kind::Whole { least: 1, most: CONCURRENCY_MAX as u64 }, "Closed model: so many requests at a time, each waits for its answer. Needs `for` or a number of `requests`.")
            .once(&["users"]), // an old word
        Key::new("for", &LENGTH, "How long a load with `rate` or `concurrency` lasts."),
        Key::new("requests", &REQUESTS, "With `concurrency`: how many requests are sent. Or a list: the requests to send, in turn."),
        Key::new("traffic", &TRAFFIC, "The requests to send, in turn: a list, or a request file of any format that `fire --traffic` takes, see [request files](traffic.md).").once(&["urls"]), // an old word
        Key::new("client", &Kind::Object(&CLIENT), "How this load holds its connections.").otherwise("the plan's"),
        Key::new("arrivals", &Kind::Words(&ARRIVALS), "As in the plan, for this load.").otherwise("the plan's"),
        Key::new("timeout", &LENGTH, "As in the plan, for this load.").otherwise("the plan's"),
        Key::new("only", &TEXTS, "The load is only for these runtimes of the plan.").otherwise("all"),
        Key::new("except", &TEXTS, "The load is not for these runtimes of the plan.").otherwise("none"),
        Key::new("changing", &TEXTS, "Paths whose answers differ so much in length that none is unusual; `/search*` is every path that begins so.").otherwise("none"),
        Key::new("expect", &EXPECTATIONS, "What must hold under this load."),
    ],
};

pub static REQUEST: Object = Object {
    name: "request",
    place: "a request",
    about: "A path, or a map. What it does not have is taken from the load.",
    short: Some(&PATH),
    groups: &[&OF_REQUEST],
    rest: None,
    entries: Entries::Any,
    below: None,
};

pub static TRAFFIC_FILE: Object = Object {
    name: "traffic_file",
    place: "a request file",
    about: "The path of a file, or a map that says how to read it.",
    short: Some(&Kind::Text),
    groups: &[&OF_TRAFFIC_FILE],
    rest: None,
    entries: Entries::Any,
    below: None,
};

static OF_TRAFFIC_FILE: Group = Group {
    title: None,
    keys: &[
        Key::new("file", &Kind::Text, "Path of the file, from the plan's directory.").required(),
        Key::new("format", &Kind::Text, "Its format.").otherwise("detected"),
        Key::new("methods", &METHOD_LIST, "The methods that are taken of an access log, which has no bodies.").otherwise("`GET,HEAD`"),
        Key::new("log_format", &Kind::Text, "How the lines of an access log are written: the value of nginx's `log_format` or Apache's `LogFormat`.").otherwise("as each line shows it"),
        Key::new("log_errors", &Kind::Words(&LOG_ERRORS), "Whether requests that the log says were answered with 4xx or 5xx are sent.").otherwise("keep"),
        Key::new("environment", &Kind::Text, "A file with values of variables: an environment that Postman exports, or a JSON object of names and values.").otherwise("none"),
    ],
};

/// The keys that say what is sent.
pub static OF_REQUEST: Group = Group {
    title: None,
    keys: &[
        Key::new("method", &METHOD, "The method.").otherwise("`GET`; with a body `POST`"),
        Key::new("path", &PATH, "Path and query.")
            .otherwise("the app's own request (`request` of its `app.yaml`, else `/`)"),
        Key::new(
            "headers",
            &HEADERS,
            "Headers by name. stampede itself sets `Content-Length`, `Transfer-Encoding` and `Connection`.",
        ),
        Key::new("body", &Kind::Scalar, "The body, at most 1 MiB."),
    ],
};

static APPS: Kind = Kind::Set { of: &Kind::Object(&APP), most: apps::APPS_MAX };
static RUNTIMES: Kind = Kind::Set { of: &Kind::Object(&ENTRY), most: RUNTIMES_MAX };
static LOADS: Kind = Kind::Any(&[&SCHEDULE, &Kind::Unlisted(&LOAD), &LOAD_LIST, &LOAD_MAP]);
static LOAD_LIST: Kind = Kind::List { of: &ONE_LOAD, least: 1, most: LOADS_MAX };
static LOAD_MAP: Kind = Kind::Map { of: &ONE_LOAD, least: 1 };
static ONE_LOAD: Kind = Kind::Object(&LOAD);
static REQUESTS: Kind = Kind::Any(&[&COUNT, &REQUEST_LIST]);
static REQUEST_LIST: Kind =
    Kind::List { of: &Kind::Object(&REQUEST), least: 1, most: requests::REQUESTS_MAX };
static TRAFFIC: Kind = Kind::Any(&[&Kind::Object(&TRAFFIC_FILE), &REQUEST_LIST]);
