//! Reads what the watch in the workers recorded: what outlives a request. The files are in the
//! stack's working directory.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use stampede_linux::beneath;

/// Names of surviving state → its values.
pub type Values = BTreeMap<String, Value>;

/// Surviving state, stored as its difference from that of the worker's boot. Of hundreds of values
/// mostly none differs, and each turn has two states.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    boot: Arc<Values>,
    /// Values by name, sorted; `None` if it does not exist any more.
    differing: Arc<[(String, Option<Value>)]>,
}

impl State {
    /// Returns the state at the boot.
    pub fn boot(values: Values) -> State {
        State { boot: Arc::new(values), ..State::default() }
    }

    /// Returns a state of the same worker with these differences.
    pub fn with(&self, differing: BTreeMap<String, Option<Value>>) -> State {
        State { boot: Arc::clone(&self.boot), differing: differing.into_iter().collect() }
    }

    /// Returns the value of a name; `None` if it has none.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self.differing.binary_search_by(|(known, _)| known.as_str().cmp(name)) {
            Ok(at) => self.differing[at].1.as_ref(),
            Err(_) => self.boot.get(name),
        }
    }

    /// Returns what differs from the boot, with its value, or `None` if it does not exist any more.
    pub fn differing(&self) -> impl Iterator<Item = (&String, Option<&Value>)> {
        let all = self.differing.iter().map(|(name, value)| (name, value.as_ref()));
        all.filter(|(name, value)| self.boot.get(*name) != *value)
    }

    /// Returns the same state with another boot state, which contains all of its own. The names in
    /// `as_booted` get their current value as a difference, so that the new boot state does not
    /// hide it.
    pub fn filled(&self, boot: &Arc<Values>, as_booted: &[&str]) -> State {
        let mut differing = Arc::clone(&self.differing);
        if !as_booted.is_empty() {
            let own = |name: &&str| ((*name).to_owned(), self.get(name).cloned());
            let all = differing.iter().cloned().chain(as_booted.iter().map(own));
            differing = all.collect::<BTreeMap<_, _>>().into_iter().collect();
        }
        State { boot: Arc::clone(boot), differing }
    }

    /// Returns the state of the boot, with which it is compared.
    pub fn boot_state(&self) -> &Arc<Values> {
        &self.boot
    }
}

/// What the watch recorded in one worker, from its boot to its end.
#[derive(Clone, Debug, Default)]
pub struct Worker {
    /// State at the boot.
    pub boot: State,
    /// Its turns (one for each request), in order.
    pub turns: Vec<Turn>,
    /// Readings of its sizes.
    pub sizes: Vec<Sizes>,
}

/// The turn of a worker that served one request.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// The request's number; `None` if the check has not sent the request.
    pub number: Option<u64>,
    /// The whole state at its beginning.
    pub before: State,
    /// The whole state after the cleanup; `None` if the worker did not get that far.
    pub after: Option<State>,
    /// Tokens that the worker still holds, with their places.
    pub held: Vec<RetainedToken>,
}

/// A token that still exists after its request.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct RetainedToken {
    /// The place in the code: `App\Cart::$user`.
    #[serde(rename = "where")]
    pub place: String,
    /// The token.
    pub token: String,
}

/// A worker's sizes after a number of requests.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Sizes {
    /// Number of requests that it has served.
    pub served: u64,
    /// PHP's own memory, in bytes.
    pub memory: u64,
    /// Memory as the kernel counts it, in bytes; 0 if unknown.
    #[serde(default)]
    pub rss: u64,
    /// Number of open descriptors.
    pub files: u64,
    /// Number of connections to databases.
    #[serde(default)]
    pub connections: u64,
    /// Amounts that the app's own code keeps: place → count.
    #[serde(default)]
    pub sizes: BTreeMap<String, u64>,
}

/// A line as the watch writes it.
#[derive(Deserialize)]
struct WatchRecord {
    at: String,
    #[serde(default)]
    n: Option<String>,
    #[serde(default, deserialize_with = "map")]
    state: Values,
    #[serde(default)]
    gone: Vec<String>,
    #[serde(default)]
    held: Vec<RetainedToken>,
    #[serde(default)]
    served: Option<u64>,
    #[serde(default)]
    memory: u64,
    #[serde(default)]
    rss: u64,
    #[serde(default)]
    files: u64,
    #[serde(default)]
    connections: u64,
    #[serde(default, deserialize_with = "map")]
    sizes: BTreeMap<String, u64>,
}

/// Reads a map; PHP writes an empty map as `[]`.
fn map<'de, D, V>(from: D) -> Result<BTreeMap<String, V>, D::Error>
where
    D: serde::Deserializer<'de>,
    V: serde::de::DeserializeOwned,
{
    let value = Value::deserialize(from)?;
    match value.as_array().is_some_and(Vec::is_empty) {
        true => Ok(BTreeMap::new()),
        false => serde_json::from_value(value).map_err(serde::de::Error::custom),
    }
}

impl Worker {
    /// Reads a worker's lines, one by one. The last line may be incomplete if the worker died.
    pub fn read(lines: impl BufRead) -> Worker {
        let mut worker = Worker::default();
        for line in lines.split(b'\n').map_while(Result::ok) {
            if let Ok(line) = serde_json::from_slice::<WatchRecord>(&line) {
                worker.take(line);
            }
        }
        worker
    }

    /// Adds a reading. When there are [`READINGS`], it first drops every second one: that many are
    /// enough for any number of requests.
    fn add_sizes(&mut self, sizes: Sizes) {
        if self.sizes.len() == READINGS {
            let mut state_leaks = false;
            self.sizes.retain(|_| {
                state_leaks = !state_leaks;
                state_leaks
            });
        }
        self.sizes.push(sizes);
    }

    /// Returns the state with these differences from the boot. Mostly there are none, or the same
    /// as before: then the known state is shared.
    fn state(&self, differing: Values, gone: Vec<String>) -> State {
        let gone = gone.into_iter().map(|name| (name, None));
        let values = differing.into_iter().map(|(name, value)| (name, Some(value)));
        let state = self.boot.with(gone.chain(values).collect());
        let last = self.turns.last();
        let ends = last.and_then(|turn| turn.after.as_ref());
        let mut known =
            [Some(&self.boot), ends, last.map(|turn| &turn.before)].into_iter().flatten();
        known.find(|known| known.differing == state.differing).cloned().unwrap_or(state)
    }

    fn take(&mut self, line: WatchRecord) {
        match (line.at.as_str(), line.served) {
            ("boot", _) => self.boot = State::boot(line.state),
            ("begin", _) => {
                let number = line.n.as_deref().and_then(|number| number.parse().ok());
                let before = self.state(line.state, line.gone);
                self.turns.push(Turn { number, before, ..Turn::default() });
            }
            ("end", Some(served)) => self.add_sizes(Sizes {
                served,
                memory: line.memory,
                rss: line.rss,
                files: line.files,
                connections: line.connections,
                sizes: line.sizes,
            }),
            ("end", None) => {
                let after = self.state(line.state, line.gone);
                if let Some(turn) = self.turns.last_mut() {
                    (turn.after, turn.held) = (Some(after), line.held);
                }
            }
            _ => {}
        }
    }
}

/// Most readings of one worker that are kept.
const READINGS: usize = 1_024;

/// Returns all workers of a stack, in the order in which they began. Unreadable files are left out. The
/// app's user owns the directory and may put a link or a pipe into it, which is not opened.
pub fn read(directory: &Path) -> Vec<Worker> {
    let names = beneath::files(directory, directory, FILES_MAX).unwrap_or_default();
    let names =
        names.into_iter().filter(|path| path.extension().is_some_and(|ends| ends == "ndjson"));
    let mut files: Vec<_> = names
        .filter_map(|path| {
            let file = beneath::open_file(directory, &path).ok()?;
            let meta = file.metadata().ok()?;
            // Not every file system stores when a file was created.
            Some((meta.created().or_else(|_| meta.modified()).ok()?, path, file))
        })
        .collect();
    files.sort_by(|(one, at, _), (other, there, _)| (one, at).cmp(&(other, there)));
    let workers = files.into_iter().map(|(_, _, file)| file.take(BYTES_MAX));
    workers.map(|file| Worker::read(BufReader::new(file))).collect()
}

/// The most entries of the directory that are looked at, and bytes of each file. A worker writes one
/// file of some hundred bytes a request.
const FILES_MAX: usize = 10_000;
const BYTES_MAX: u64 = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_or_a_pipe_among_the_records_is_not_opened() {
        let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let record = "{\"at\":\"boot\",\"worker\":\"7-a\",\"pid\":7,\"memory\":1,\"state\":{}}\n";
        std::fs::write(place.path().join("own.ndjson"), record).unwrap();
        std::fs::write(other.path().join("other.ndjson"), record).unwrap();
        let link = place.path().join("link.ndjson");
        std::os::unix::fs::symlink(other.path().join("other.ndjson"), link).unwrap();
        let pipe = place.path().join("pipe.ndjson");
        let mode = rustix::fs::Mode::RUSR;
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).unwrap();
        assert_eq!(read(place.path()).len(), 1);
    }

    #[test]
    fn the_life_of_a_worker_is_read_from_its_records() {
        let worker = Worker::read(
            &br#"{"at":"boot","worker":"7-a","pid":7,"memory":1,"state":{"locale":"C","cwd":"/"}}
{"at":"begin","n":"1","state":[],"gone":[]}
{"at":"end","n":"1","state":{"locale":"de_DE"},"gone":["cwd"],"memory":9,"files":5,"held":[{"where":"A::$b","token":"stmpd0"}]}
{"at":"begin","n":"2","state":{"locale":"de_DE"},"gone":["cwd"]}
{"at":"end","n":"2","sta"#[..],
        );
        let [first, second] = &worker.turns[..] else { panic!("{worker:?}") };
        assert_eq!((first.number, second.number), (Some(1), Some(2)));
        assert_eq!(first.before, worker.boot);
        let after = first.after.as_ref().expect("its end");
        assert_eq!((after.get("locale"), after.get("cwd")), (Some(&"de_DE".into()), None));
        let differing: Vec<_> = after.differing().map(|(name, _)| &name[..]).collect();
        assert_eq!(differing, ["cwd", "locale"]);
        assert_eq!(first.held, [RetainedToken { place: "A::$b".into(), token: "stmpd0".into() }]);
        assert_eq!(second.before, *after);
        let same = |one: &State, other: &State| Arc::ptr_eq(&one.differing, &other.differing);
        assert!(same(&first.before, &worker.boot), "the same state is kept once");
        assert!(same(&second.before, after), "the same state is kept once");
        assert!(Arc::ptr_eq(&after.boot, &worker.boot.boot));
        assert_eq!(second.after, None, "of a worker that died nothing is made up");
    }

    #[test]
    fn the_number_of_kept_readings_is_bounded() {
        let lines = |count: u64| -> String {
            let line = |served| {
                format!(r#"{{"at":"end","served":{served},"memory":9,"files":5,"sizes":[]}}"#)
                    + "\n"
            };
            (1..=count).map(line).collect()
        };
        let few = Worker::read(lines(2).as_bytes());
        assert_eq!((few.sizes[1].served, few.sizes[1].memory, few.sizes[1].connections), (2, 9, 0));
        let many = Worker::read(lines(50_000).as_bytes());
        assert!((READINGS / 2..=READINGS).contains(&many.sizes.len()), "{}", many.sizes.len());
        assert_eq!((many.sizes[0].served, many.sizes.last().unwrap().served), (1, 50_000));
        assert!(many.sizes.is_sorted_by_key(|sizes| sizes.served));
    }
}
