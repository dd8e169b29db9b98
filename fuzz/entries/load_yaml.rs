//! Checks that a `load.yaml` or a `load.ini` is parsed, with skipped keys listed in order, or refused with a place
//! in its text. In both cases, the messages can be printed.

use std::path::PathBuf;

use stampede_plan::autostop::Autostop;
use stampede_plan::tank::{Given, TankConfig, parse};
use stampede_plan::{self, PlanError, RenderStyle};
use stampede_traffic::Source;

/// One input.
pub fn run(text: &str) {
    let (name, base) = ("load.yaml".to_owned(), PathBuf::from("directory"));
    let lines = text.matches('\n').count() + 1;
    let source = stampede_plan::Source { name, text: text.to_owned(), base };
    match parse(source, &Given::default()) {
        Ok(config) => understood(&config, lines),
        Err(error) => {
            let PlanError::Wrong(wrong) = &error else { panic!("{error:?}") };
            let (line, column) = wrong.place.line_column();
            assert!((1..=lines).contains(&line) && (1..=text.len() + 1).contains(&column));
            assert!(
                !wrong.to_string().is_empty() && !wrong.help.to_string().is_empty(),
                "{error:?}"
            );
            assert!(error.render(RenderStyle::Plain).contains("help: "), "{error:?}");
        }
    }
}

fn understood(config: &TankConfig, lines: usize) {
    assert!(config.url.starts_with("http://") || config.url.starts_with("https://"));
    assert!(config.unsupported.is_sorted_by_key(|key| key.line));
    for key in &config.unsupported {
        assert!((1..=lines).contains(&key.line) && !key.why.is_empty(), "{key:?}");
        assert!(!key.to_string().is_empty());
    }
    if let Source::List(requests) = &config.traffic.source {
        assert!(!requests.is_empty());
    }
    // As `fire` reads them: criteria that it cannot read were skipped or refused before.
    if !config.autostop.is_empty() {
        let all = config.autostop.iter().map(|criterion| criterion.text.as_str());
        let all = all.collect::<Vec<_>>().join(" ");
        assert!(Autostop::parse(&all).is_ok(), "{all}");
    }
}
