//! Loads, seconds, results and outcomes as data: what is read is what was written.

mod load;
mod result;

use std::fmt::Debug;

use proptest::prelude::*;
use proptest::sample::select;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stampede_load::check::Failed;
use stampede_load::outcome::Outcome;
use stampede_load::protocol::tls;
use stampede_load::spec::{Check, Load, Wire};
use stampede_model::failure::{NAMED, Net};
use stampede_model::load::{Address, Model, Until};
use stampede_model::time::Nanos;
use stampede_traffic::{Tags, TrafficFile};

fn nanos() -> impl Strategy<Value = Nanos> {
    any::<u64>().prop_map(Nanos)
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..40)
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let named: Vec<Net> = NAMED.iter().map(|(net, _)| *net).collect();
    prop_oneof![
        Just(Outcome::Ok),
        select(named).prop_map(Outcome::Net),
        any::<i32>().prop_map(|errno| Outcome::Net(Net::Errno(errno))),
        any::<u16>().prop_map(Outcome::Http),
        any::<u16>().prop_map(|part| Outcome::Check(Failed(part))),
    ]
}

/// Writes the value as JSON and reads it again.
fn comes_back<T>(value: &T) -> Result<(), TestCaseError>
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let failed = |error: serde_json::Error| TestCaseError::fail(error.to_string());
    let text = serde_json::to_string(value).map_err(failed)?;
    let read: T = serde_json::from_str(&text).map_err(failed)?;
    prop_assert_eq!(&read, value);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 64, ..ProptestConfig::default()
    })]

    #[test]
    fn a_load_comes_back_as_it_was_written(load in load::any_load()) {
        comes_back(&load)?;
    }

    #[test]
    fn a_second_comes_back_as_it_was_written(second in result::second()) {
        comes_back(&second)?;
    }

    #[test]
    fn an_outcome_comes_back_as_it_was_written(
        outcome in outcome(), record in result::request_record(),
    ) {
        comes_back(&outcome)?;
        comes_back(&record)?;
    }

    #[test]
    fn a_result_comes_back_as_it_was_written(result in result::load_result()) {
        comes_back(&result)?;
    }
}

fn load() -> Load {
    let model = Model::Closed { concurrency: 1, until: Until::For(Nanos::SECOND) };
    let target = Address::Unix("/run/a.sock".into());
    Load::new(target, model, stampede_traffic::LoadTraffic::file(TrafficFile::new("a.txt")))
}

fn written(load: &Load) -> Value {
    serde_json::to_value(load).unwrap()
}

#[test]
fn lengths_of_time_are_whole_nanoseconds_under_names_that_say_so() {
    let written = written(&load());
    assert_eq!(written["timeout_ns"], json!(11_000_000_000_u64));
    assert_eq!(written["model"]["closed"]["until"]["for_ns"], json!(1_000_000_000));
}

#[test]
fn a_table_of_tags_that_was_read_has_the_same_numbers() {
    let mut load = load();
    load.traffic.tags = Tags::new();
    let buy = load.traffic.tags.tag("buy");
    let read: Load = serde_json::from_value(written(&load)).unwrap();
    assert_eq!(&*read.traffic.tags.name(buy), "buy");
    read.traffic.tags.tag("see");
    assert_eq!(load.traffic.tags.len(), 1, "it is another table");
}

#[test]
fn what_makes_no_load_is_refused() {
    let setup = tls::Setup::new("shop.example", tls::Certificates::Any, tls::Sessions::New);
    let tls = Load { wire: Wire::Tls(setup.unwrap()), ..load() };
    let rules = vec![stampede_load::check::Rule::parse("size > 5").unwrap()];
    let load = Load { check: Check { rules, ..Check::default() }, ..tls };
    let wrong = |pointer: &str, value: Value| {
        let mut written = written(&load);
        *written.pointer_mut(pointer).unwrap() = value;
        serde_json::from_value::<Load>(written).unwrap_err().to_string()
    };
    let error = wrong("/wire/tls/host", json!("not a name"));
    assert_eq!(error, "`not a name` is not a name that a certificate can have");
    assert_eq!(wrong("/check/rules/0", json!("sizes > 5")), "unknown check `sizes`");
    assert_eq!(wrong("/target", json!([])), "no address");
    let error = wrong("/traffic/tags", json!(vec!["x"; 256]));
    assert_eq!(error, "more than 255 tags");
    assert!(wrong("/check/body_contains", json!("*")).contains("nvalid"), "no base64");
}
