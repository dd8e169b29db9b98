//! Random loads.

use std::net::SocketAddr;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use rustls::RootCertStore;
use rustls::pki_types::TrustAnchor;
use stampede_load::check::{Check, Rule};
use stampede_load::protocol::fastcgi::{self, Script};
use stampede_load::protocol::tls::{Certificates, Sessions, Setup};
use stampede_load::spec::{CpuSharing, EngineChoice, Load, Timestamps, Wire};
use stampede_model::load::{
    Address, Addresses, Arrivals, ConnectionHabit, Habits, HttpVersion, Model, Until, WhenFull,
};
use stampede_model::part::Part;
use stampede_model::schedule::{MicroRate, Segment, Segments};
use stampede_model::time::Nanos;
use stampede_traffic::{
    AnswerShape, Format, Header, LoadTraffic, LogSelection, LoggedAnswers, LoggedHost, Order,
    Passes, Request, Source, Tag, Tags, TrafficFile,
};

use super::{bytes, nanos};

pub(super) fn any_load() -> impl Strategy<Value = Load> {
    let models = (model(), option::of(model()));
    let what = (addresses(), wire(), models, habits(), traffic(), check());
    let engine = select(vec![EngineChoice::Epoll, EngineChoice::IoUring]);
    let timestamps = select(vec![Timestamps::Kernel, Timestamps::Userspace]);
    let sharing = select(vec![CpuSharing::Exclusive, CpuSharing::WithServer]);
    let engine = (engine, timestamps);
    let part = (0_u32..3, 3_u32..9);
    let how = (nanos(), engine, vec(0_usize..256, 0..4), sharing, 1_u32..64, any::<bool>(), part);
    (what, how).prop_map(|(what, how)| {
        let (target, wire, (model, warm_up), habits, traffic, check) = what;
        let (timeout, (engine, timestamps), cpus, cpu_sharing, threads, records, part) = how;
        Load {
            target,
            wire,
            warm_up,
            model,
            part: Part::new(part.0, part.1).expect("it is below"),
            habits,
            timeout,
            traffic,
            check,
            engine,
            timestamps,
            cpus,
            cpu_sharing,
            threads,
            records,
        }
    })
}

fn addresses() -> impl Strategy<Value = Addresses> {
    vec(address(), 1..4).prop_map(|all| Addresses::try_from(all).expect("one at least"))
}

fn address() -> impl Strategy<Value = Address> {
    prop_oneof![
        any::<([u8; 4], u16)>().prop_map(|address| Address::Tcp(SocketAddr::from(address))),
        any::<([u16; 8], u16)>().prop_map(|address| Address::Tcp(SocketAddr::from(address))),
        "/[a-zé .]{1,12}".prop_map(|path| Address::Unix(path.into())),
    ]
}

fn wire() -> impl Strategy<Value = Wire> {
    let tls = (host(), certificates(), select(vec![Sessions::New, Sessions::Resumed]));
    let tls = tls.prop_map(|(host, certificates, sessions)| {
        Wire::Tls(Setup::new(&host, certificates, sessions).expect("a host of these letters"))
    });
    prop_oneof![Just(Wire::Http1), Just(Wire::FastCgi), tls]
}

fn host() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,8}(\\.[a-z]{1,8}){0,2}", Just("127.0.0.1".to_owned())]
}

fn certificates() -> impl Strategy<Value = Certificates> {
    let root = (bytes(), bytes(), option::of(bytes()));
    let root = root.prop_map(|(subject, key, constraints)| TrustAnchor {
        subject: subject.into(),
        subject_public_key_info: key.into(),
        name_constraints: constraints.map(Into::into),
    });
    let roots = vec(root, 0..3).prop_map(|roots| Arc::new(RootCertStore { roots }));
    prop_oneof![Just(Certificates::Any), roots.prop_map(Certificates::Roots)]
}

fn model() -> impl Strategy<Value = Model> {
    let arrivals = prop_oneof![
        Just(Arrivals::Uniform),
        any::<u64>().prop_map(|seed| Arrivals::Poisson { seed }),
    ];
    let when_full = select(vec![WhenFull::Queue, WhenFull::Drop, WhenFull::Stretch]);
    let open = (schedule(), arrivals, any::<u32>(), when_full);
    let open = open.prop_map(|(schedule, arrivals, max_in_flight, when_full)| Model::Open {
        schedule,
        arrivals,
        max_in_flight,
        when_full,
    });
    let until = prop_oneof![nanos().prop_map(Until::For), any::<u64>().prop_map(Until::Requests)];
    let closed =
        (any::<u32>(), until).prop_map(|(concurrency, until)| Model::Closed { concurrency, until });
    prop_oneof![open, closed]
}

/// Schedules with a request at least, whose rates have up to six decimals.
fn schedule() -> impl Strategy<Value = Segments> {
    let rate = || (1_000_000_u64..5_000_000_000).prop_map(MicroRate);
    let length = || (1_000_000_000_u64..60_000_000_000).prop_map(Nanos);
    let segment = prop_oneof![
        (rate(), length()).prop_map(|(rate, length)| Segment::Const { rate, length }),
        (rate(), rate(), length()).prop_map(|(from, to, length)| Segment::Line {
            from,
            to,
            length
        }),
        (rate(), rate(), 50_000_000_u64..500_000_000, length()).prop_map(
            |(from, to, by, length)| Segment::Step { from, to, by: MicroRate(by), length }
        ),
    ];
    vec(segment, 1..4).prop_map(|segments| Segments::new(segments).expect("it has a request"))
}

fn habits() -> impl Strategy<Value = Habits> {
    let version = select(HttpVersion::ALL.to_vec());
    let connection = select(vec![ConnectionHabit::KeepAlive, ConnectionHabit::PerRequest]);
    (version, connection).prop_map(|(version, connection)| Habits { version, connection })
}

fn traffic() -> impl Strategy<Value = LoadTraffic> {
    let requests = vec(request(), 0..4).prop_map(|requests| Source::List(requests.into()));
    let source = prop_oneof![requests, file().prop_map(|file| Source::File(Box::new(file)))];
    let order =
        prop_oneof![Just(Order::InTurn), any::<u64>().prop_map(|seed| Order::Random { seed })];
    let passes = prop_oneof![Just(Passes::Endless), any::<u64>().prop_map(Passes::Times)];
    let rest = (order, passes, option::of(any::<u64>()), tags());
    (source, rest).prop_map(|(source, (order, passes, limit, tags))| LoadTraffic {
        source,
        order,
        passes,
        limit,
        tags,
    })
}

fn request() -> impl Strategy<Value = Request> {
    let encoded = bytes().prop_map(|bytes| Request::encoded(&bytes));
    let shapes = vec![AnswerShape::ByHeaders, AnswerShape::BodyUnasked, AnswerShape::NoBody];
    let request = prop_oneof![encoded, built(), scripted()];
    (request, select(shapes), any::<bool>(), any::<u16>()).prop_map(
        |(mut request, answer, closes, tag): (Request, _, _, _)| {
            (request.answer, request.closes, request.tag) = (answer, closes, Tag(tag));
            request
        },
    )
}

/// Method, path, headers and body.
fn parts() -> impl Strategy<Value = (String, String, Vec<Header>, Vec<u8>)> {
    let header = ("[a-zA-Z-]{1,8}|Host|Connection|accept", "[a-zé, :]{0,12}");
    ("GET|POST|HEAD", "/[a-zé?]{0,8}", vec(header, 0..4), bytes())
}

fn built() -> impl Strategy<Value = Request> {
    (parts(), habits()).prop_map(|((method, path, headers, body), habits)| {
        Request::build(&method, &path, &headers, &body, habits, None).expect("valid parts")
    })
}

fn scripted() -> impl Strategy<Value = Request> {
    (parts(), script()).prop_map(|((method, path, headers, body), script)| {
        fastcgi::request(&script, &method, &path, &headers, &body).expect("valid parts")
    })
}

fn script() -> impl Strategy<Value = Script> {
    let parts = ("/[a-z/é]{0,12}", vec(("[A-Z_]{1,6}", ".{0,6}"), 0..3));
    parts.prop_map(|(filename, params)| {
        params
            .into_iter()
            .fold(Script::new(filename), |script, (name, value)| script.with(name, value))
    })
}

fn tags() -> impl Strategy<Value = Tags> {
    vec("[a-zé]{1,6}", 0..4).prop_map(|names| {
        let tags = Tags::new();
        for name in &names {
            tags.tag(name);
        }
        tags
    })
}

fn header() -> impl Strategy<Value = Header> {
    ("[a-zA-Z-]{1,8}", ".{0,12}")
}

fn log() -> impl Strategy<Value = LogSelection> {
    let answers = select(vec![LoggedAnswers::All, LoggedAnswers::WithoutErrors]);
    let host = select(vec![LoggedHost::Target, LoggedHost::Logged]);
    let texts = vec!["$request $status", "%h %t \"%r\" %>s"];
    let format = option::of(select(texts).prop_map(|text| text.parse().expect("it is a format")));
    (vec("[A-Z]{1,6}", 0..3), answers, host, format).prop_map(|(methods, answers, host, format)| {
        LogSelection { methods, answers, host, format }
    })
}

fn file() -> impl Strategy<Value = TrafficFile> {
    let format = option::of(select(Format::ALL.to_vec()));
    let parts = (vec(header(), 0..3), log(), option::of(script()));
    ("[a-zé/.]{1,12}", format, parts).prop_map(|(path, format, (headers, log, script))| {
        TrafficFile { format, headers, log, script, ..TrafficFile::new(path) }
    })
}

fn check() -> impl Strategy<Value = Check> {
    let rules = vec![
        "header x-cache",
        "header content-type contains json",
        "body contains hello",
        "body ~ /order [0-9]+/i",
        "json $.items[0].id",
        "json $.ok == true",
        "size > 100",
        "time < 200ms",
    ];
    let rule = select(rules).prop_map(|text| Rule::parse(text).expect("a rule"));
    (vec(any::<u16>(), 0..4), bytes(), vec(rule, 0..4))
        .prop_map(|(statuses, body_contains, rules)| Check { statuses, body_contains, rules })
}
