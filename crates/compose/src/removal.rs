//! The command that removes everything that an engine has of a stack.

use stampede_keeper::spec::RemovalCommand;
use stampede_model::time::Nanos;

use crate::edit::LABEL;
use crate::engine::{DOCKER, engine_variables};

/// How long the removal may take: less than stampede waits for a keeper.
const WITHIN: Nanos = Nanos::from_secs(25);
/// How long a service may take to end in order, in seconds, where its data is kept.
const STOPS_WITHIN: &str = "10";

/// Removes containers, networks and volumes by their labels. A client that was ended may have left
/// an order with its engine, so the script looks again until nothing is found. The keeper runs it
/// where this program has ended, so it needs nothing but the client.
const SCRIPT: &str = r#"
engine=$1 project=label=com.docker.compose.project=$2 stack=label=$3 stop=$4
found() {
    "$engine" ps -aq --filter "$project" && "$engine" ps -aq --filter "$stack"
}
all() {
    "$engine" network ls -q --filter "$project" && "$engine" volume ls -q --filter "$project" &&
        "$engine" volume ls -q --filter "$stack"
}
# An engine that is being restarted answers a little later.
waited=0
until "$engine" ps -q --filter "$project" >/dev/null 2>&1; do
    waited=$((waited + 1))
    [ "$waited" -le 40 ] || exit 1
    sleep 0.25
done
if [ -n "$stop" ]; then
    ids=$(found) || exit 1
    [ -z "$ids" ] || "$engine" stop -t "$stop" $ids >/dev/null 2>&1
fi
quiet=0
for look in 1 2 3 4 5 6 7 8 9 10 11 12; do
    ids=$(found) || exit 1
    if [ -z "$ids" ]; then
        quiet=$((quiet + 1))
        [ "$quiet" -ge 2 ] && break
    else
        quiet=0
        "$engine" rm -f -v $ids >/dev/null 2>&1
    fi
    sleep 0.1
done
[ -z "$(found)" ] || exit 1
for id in $("$engine" network ls -q --filter "$project"); do
    "$engine" network rm "$id" >/dev/null
done
for filter in "$project" "$stack"; do
    for id in $("$engine" volume ls -q --filter "$filter"); do
        "$engine" volume rm -f "$id" >/dev/null
    done
done
[ -z "$(all)" ]
"#;

/// Removes the stack `id`, whose compose project is `project`. `writes_data`: services that write data of
/// the user are stopped in order first.
pub fn removal(project: &str, id: &str, writes_data: bool) -> RemovalCommand {
    let stop = if writes_data { STOPS_WITHIN } else { "" };
    let args = ["-c", SCRIPT, "stampede", DOCKER, project, &format!("{LABEL}={id}"), stop];
    RemovalCommand {
        program: "/bin/sh".into(),
        args: args.map(str::to_owned).into(),
        env: engine_variables(),
        within: WITHIN,
    }
}
