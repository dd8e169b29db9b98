//! Tests what `fire` sends where no flag says how much. Tests of `make test`.

use std::time::Duration;

use serde_json::Value;
use stampede_known_server::{Answer, Behaviour, KnownServer};

use crate::common::{Sandbox, fact, finish, stderr, stdout};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn what_is_not_said_has_a_default_that_is_told() {
    let flags = |flags: &str| code_or("default_load", flags).to_owned();
    for (given, told, connections, answers) in [
        (&["-n", "40"][..], Some(flags("--concurrency 10")), 10, Some(40)),
        (&["-z", "1s"], Some(flags("--concurrency 10")), 10, None),
        (&["-c", "3", "-z", "1s"], None, 3, None),
        (&["--vus", "2", "--iterations", "8"], None, 2, Some(8)),
        (&["-R", "50", "-z", "1s"], None, 1, Some(50)),
    ] {
        let server = KnownServer::start(Behaviour::answering(Answer::ok())).expect("a server");
        let url = format!("http://{}/", server.address());
        let sandbox = Sandbox::new();
        let args: Vec<&str> = ["fire", &url, "--json"].iter().chain(given).copied().collect();
        let output = finish(sandbox.stampede(&args), LIMIT);
        let summary: Value = serde_json::from_str(&stdout(&output)).expect("JSON on stdout");
        let found = fact(&summary["notes"], "before_load")["found"]["code"].as_str();
        assert_eq!(found, told.as_ref().map(|_| "default_load"), "{given:?}: {summary:#}");
        let said = stderr(&output);
        assert!(told.is_none_or(|told| said.contains(&told)), "{given:?}: {said}");
        let journal = server.journal();
        assert!(journal.connections >= connections, "{given:?}: {journal:?}");
        assert!(
            answers.is_none_or(|answers| journal.requests == answers),
            "{given:?}: {journal:?}"
        );
    }
}
