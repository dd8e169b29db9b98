//! The command that removes everything that an engine has of a stack.

use std::path::Path;

use stampede_keeper::spec::RemovalCommand;
use stampede_model::time::Nanos;

use crate::client::{Client, engine_variables};
use crate::edit::LABEL;
use crate::engine::mount_of;

/// How long the removal may take, for which a keeper that stops a stack is waited for. A slow machine needs ten seconds
/// for one container.
const WITHIN: Nanos = Nanos::from_secs(60);
/// How long a service may take to end in order, in seconds, where its data is kept.
const STOPS_WITHIN: &str = "10";

/// Removes containers, networks and volumes by their labels. A client that was ended may have left
/// an order with its engine, so the script looks again until nothing is found. Podman's clients do
/// their work themselves, so it also waits for those that have the label on their command line. The
/// keeper runs it where this program has ended, so it needs nothing but the client.
const SCRIPT: &str = r#"
engine=$1 now=$2 project=label=com.docker.compose.project=$3 stack=label=$4 label=$4 stop=$5 work=$6 mount=$7
shift 7
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
quiet=0 look=0
while [ "$look" -lt 40 ]; do
    look=$((look + 1))
    at_work=
    if [ "$engine" = podman ]; then
        # This shell has the label, too. It makes the list itself, before it starts another process.
        all_lines=
        for one in /proc/[0-9]*/cmdline; do all_lines="$all_lines $one"; done
        at_work=$(grep -lF -e "$label" $all_lines 2>/dev/null | grep -v "^/proc/$$/" | cut -d / -f 3)
        [ -z "$at_work" ] || [ "$look" -lt 20 ] || kill -9 $at_work
    elif [ "$look" -gt 12 ]; then
        break
    fi
    ids=$(found) || exit 1
    if [ -z "$ids" ] && [ -z "$at_work" ]; then
        quiet=$((quiet + 1))
        [ "$quiet" -ge 2 ] && break
    else
        quiet=0
        [ -z "$ids" ] || "$engine" rm -f $now -v $ids >/dev/null 2>&1
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
    /// The program that talks to the engine.
    pub client: Client,
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
        let (client, now) = (self.client.program(), self.client.removes_at_once());
        let args = ["-c", SCRIPT, "stampede", client, now, self.project, &label];
        let args = args.into_iter().chain([stop, &copies, &mount]);
        RemovalCommand {
            program: "/bin/sh".into(),
            args: args.map(str::to_owned).chain(self.images.iter().cloned()).collect(),
            env: engine_variables(),
            within: WITHIN,
        }
    }
}
