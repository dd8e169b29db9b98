//! The command that removes everything that an engine has of a stack.

use std::path::Path;

use stampede_keeper::spec::RemovalCommand;
use stampede_model::time::Nanos;

use crate::edit::LABEL;
use crate::engine::{DOCKER, engine_variables, mount_of};

/// How long the removal may take: less than stampede waits for a keeper.
const WITHIN: Nanos = Nanos::from_secs(25);
/// How long a service may take to end in order, in seconds, where its data is kept.
const STOPS_WITHIN: &str = "10";

/// Removes containers, networks and volumes by their labels. A client that was ended may have left
/// an order with its engine, so the script looks again until nothing is found. The keeper runs it
/// where this program has ended, so it needs nothing but the client.
const SCRIPT: &str = r#"
engine=$1 project=label=com.docker.compose.project=$2 stack=label=$3 label=$3 stop=$4 work=$5 mount=$6
shift 6
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
# What a container's user wrote to copies of this user's files, another container removes.
if [ -n "$work" ]; then
    chmod -R u+rwX "$work"/mount-* 2>/dev/null
    if [ -n "$(find "$work" ! -user "$(id -u)" 2>/dev/null | head -n 1)" ]; then
        copies=$(cd "$work" && printf '/stampede-work/%s ' mount-*)
        for image; do
            "$engine" run --rm --network none --user 0 --security-opt label=disable --label "$label" \
                --mount "$mount" --entrypoint rm "$image" -rf $copies >/dev/null && break
        done
    fi
fi
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

/// What a stack leaves with an engine.
#[derive(Clone, Copy, Debug)]
pub struct Leftovers<'a> {
    /// The name of its compose project.
    pub project: &'a str,
    /// Its id.
    pub stack: &'a str,
    /// Whether services write data of the user: they are stopped in order first.
    pub writes_data: bool,
    /// The directory with copies that containers write to, as users that may not be this one.
    pub copies: Option<&'a Path>,
    /// Images of the stack, of which one has the program `rm`.
    pub images: &'a [String],
}

impl Leftovers<'_> {
    /// The command that removes them.
    pub fn removal(&self) -> RemovalCommand {
        let stop = if self.writes_data { STOPS_WITHIN } else { "" };
        // Root removes everybody's files itself.
        let copies = self.copies.filter(|_| !rustix::process::geteuid().is_root());
        let mount = copies.map(|path| mount_of(path, Path::new("/stampede-work")));
        let mount = mount.unwrap_or_default();
        let copies = copies.map(|path| path.display().to_string()).unwrap_or_default();
        let label = format!("{LABEL}={}", self.stack);
        let args = ["-c", SCRIPT, "stampede", DOCKER, self.project, &label, stop, &copies, &mount];
        RemovalCommand {
            program: "/bin/sh".into(),
            args: args.into_iter().map(str::to_owned).chain(self.images.iter().cloned()).collect(),
            env: engine_variables(),
            within: WITHIN,
        }
    }
}
