//! Prepares the traffic of a load, and supplies each load thread with requests.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use stampede_linux::guarded_thread::{GuardedThread, Panicked};
use stampede_model::counts::TimeSet;
use stampede_model::entry::ReadFailure;
use stampede_model::load::Habits;
use stampede_model::part::Part;
use stampede_model::stop::Stop;

use super::deal::BatchWriter;
use super::feed::{Feed, List, Origin, TrafficEnd};
use super::read::{Entry, TrafficReader};
use super::stream::NoThreadsLeft;
use super::{
    LoadTraffic, Order, Passes, Request, Source, Tag, Tags, TrafficError, TrafficFile, TrafficNotes,
};
use crate::tag::TagFigures;

/// What the load threads of a load send.
pub struct Supply {
    /// One feed per thread.
    pub feeds: Vec<Feed>,
    pub end: TrafficEnd,
    pub tagging: Tagging,
    tags: Tags,
    notes: Arc<Mutex<TrafficNotes>>,
    reader: Option<GuardedThread<()>>,
}

/// Which tags are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tagging {
    /// All requests have this tag, so the totals are its figures.
    Only(Tag),
    /// Several tags, or unknown ones.
    Separate,
}

impl Supply {
    /// Notes on what was read; to be called when all feeds are gone.
    ///
    /// # Errors
    /// The thread that reads panicked.
    pub fn notes(&mut self) -> Result<TrafficNotes, Panicked> {
        self.reader.take().map_or(Ok(()), GuardedThread::join)?;
        Ok(self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Figures by name of the tag: those counted separately, or those of all requests if they have
    /// one tag.
    pub fn figures(
        &self,
        counted: &[Option<Box<TagFigures>>],
        all: (u64, u64, &TimeSet),
    ) -> BTreeMap<String, TagFigures> {
        let mut figures: BTreeMap<String, TagFigures> = BTreeMap::new();
        if let Tagging::Only(tag) = self.tagging {
            let (ok, failed, times) = all;
            let (service_time, response_time) =
                (times.service_time.clone(), times.response_time.clone());
            let all = TagFigures { ok, failed, service_time, response_time };
            figures.insert(self.tags.name(tag).to_string(), all);
        }
        for (number, counted) in counted.iter().enumerate() {
            let Some(counted) = counted else { continue };
            let name = self.tags.name(Tag(number as u16)).to_string();
            // A tag of the traffic may also be called `other`.
            figures.entry(name).or_insert_with(TagFigures::new).merge(counted);
        }
        figures.retain(|_, figures| figures.ok + figures.failed > 0);
        if figures.keys().all(String::is_empty) { BTreeMap::new() } else { figures }
    }
}

/// Prepares this part of `traffic` for `threads` load threads. A file that does not fit into memory is read by
/// an extra thread during the load.
///
/// # Errors
/// The traffic is not valid, or `stop` was asked for before a pipe delivered any.
pub fn supply(
    traffic: &LoadTraffic,
    habits: Habits,
    part: Part,
    threads: usize,
    stop: &Stop,
) -> Result<Supply, TrafficError> {
    let mut notes = TrafficNotes::default();
    let prepared = match &traffic.source {
        Source::List(requests) => PreparedTraffic::List(Arc::clone(requests)),
        Source::File(file) => {
            let (read, path) = (open_traffic(traffic, file, habits), file.path.clone());
            let begun = match std::fs::metadata(&path) {
                Ok(metadata) if !metadata.is_file() => read_in_thread(stop, read, &path)?,
                _ => read(),
            };
            let (prepared, read) = begun?;
            notes = read;
            prepared
        }
    };
    supply_of(prepared, traffic, part, threads, Arc::new(Mutex::new(notes)), stop)
}

/// Reads the beginning of a file.
type OpenTraffic =
    Box<dyn FnOnce() -> Result<(PreparedTraffic, TrafficNotes), TrafficError> + Send>;

fn open_traffic(traffic: &LoadTraffic, file: &TrafficFile, habits: Habits) -> OpenTraffic {
    let (file, tags, passes) = (file.clone(), traffic.tags.clone(), traffic.passes);
    Box::new(move || {
        let mut notes = TrafficNotes::default();
        let reading = TrafficReader::of(&file, habits, &tags)?;
        Ok((read_beginning(reading, passes, &mut notes)?, notes))
    })
}

/// Calls `read` in another thread. A pipe may block its reader forever, in a call that cannot be
/// interrupted. If the load is told to stop, that thread is left behind.
fn read_in_thread<T: Send + 'static>(
    stop: &Stop,
    read: Box<dyn FnOnce() -> T + Send>,
    path: &Path,
) -> Result<T, TrafficError> {
    let (to_us, begun) = mpsc::channel();
    let work = move || {
        let _ = to_us.send(read());
    };
    let reader = thread::Builder::new().name(NAME.to_owned()).spawn(work);
    let reader = reader.map_err(|source| TrafficError::Thread(Arc::new(source)))?;
    loop {
        match begun.recv_timeout(STOP_CHECK_INTERVAL) {
            Ok(begun) => return Ok(begun),
            Err(RecvTimeoutError::Timeout) if stop.is_asked() => {
                return Err(TrafficError::Stopped(path.to_owned()));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match reader.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => unreachable!("it has sent what it read"),
            },
        }
    }
}

pub fn supply_of(
    prepared: PreparedTraffic,
    traffic: &LoadTraffic,
    part: Part,
    threads: usize,
    notes: Arc<Mutex<TrafficNotes>>,
    stop: &Stop,
) -> Result<Supply, TrafficError> {
    let end = if traffic.ends() { TrafficEnd::Sometime } else { TrafficEnd::Never };
    let tagging = prepared.tagging();
    let tags = traffic.tags.clone();
    let counter = Arc::default();
    let feed = |origin| Feed::new(&counter, origin);
    let (feeds, reader) = match prepared {
        PreparedTraffic::List(list) => {
            let origin = || Origin::List(shared_list(&list, traffic).of_part(part));
            ((0..threads).map(|_| feed(origin())).collect(), None)
        }
        PreparedTraffic::File { held, reading } => {
            let waits_for_others = reading.length.is_none();
            let (batch_writer, streams) = BatchWriter::new(threads);
            let (first, end_of_traffic) = (batch_writer.first(), batch_writer.end());
            let left = traffic.limit.unwrap_or(u64::MAX);
            let (passes, notes) = (traffic.passes, Arc::clone(&notes));
            let reader = Reader { batch_writer, passes, part, dealt: 0, left, notes };
            let order = traffic.order;
            let read = move || {
                // If no load thread is left, this is an end like any other.
                let _ = reader.run(held, *reading, order);
            };
            let reader = GuardedThread::spawn(NAME.to_owned(), read, end_of_traffic);
            let reader = reader.map_err(|source| TrafficError::Thread(Arc::new(source)))?;
            first(stop);
            let feeds = streams.into_iter().map(|stream| feed(Origin::Stream(stream)));
            // A pipe may block its reader forever. That thread ends by itself, or with our process.
            (feeds.collect(), (!waits_for_others).then_some(reader))
        }
    };
    Ok(Supply { feeds, end, tagging, tags, notes, reader })
}

/// A list that all threads send together.
fn shared_list(list: &Arc<[Request]>, traffic: &LoadTraffic) -> List {
    let of_passes = match traffic.passes {
        Passes::Endless => None,
        Passes::Times(times) => Some(times.saturating_mul(list.len() as u64)),
    };
    let seed = match traffic.order {
        Order::InTurn => None,
        Order::Random { seed } => Some(seed),
    };
    let count = [of_passes, traffic.limit].into_iter().flatten().min();
    List::new(Arc::clone(list), seed, count)
}

/// Where requests come from, after a look at the traffic.
pub enum PreparedTraffic {
    List(Arc<[Request]>),
    File { held: VecDeque<Request>, reading: Box<TrafficReader> },
}

impl PreparedTraffic {
    fn tagging(&self) -> Tagging {
        match self {
            PreparedTraffic::List(list) => {
                let tags: BTreeSet<Tag> = list.iter().map(|request| request.tag).collect();
                let only = if tags.len() == 1 { tags.first() } else { None };
                only.map_or(Tagging::Separate, |tag| Tagging::Only(*tag))
            }
            PreparedTraffic::File { reading, .. } if reading.format().has_tags() => {
                Tagging::Separate
            }
            PreparedTraffic::File { .. } => Tagging::Only(Tag::NONE),
        }
    }
}

/// Reads the beginning of a file before the first request. Returns a list if all of it fits into
/// memory, otherwise its beginning and the rest. An invalid entry in the beginning is an error,
/// because usually the whole file is invalid then.
pub fn read_beginning(
    mut reading: TrafficReader,
    passes: Passes,
    notes: &mut TrafficNotes,
) -> Result<PreparedTraffic, TrafficError> {
    notes.format = Some(reading.format().name().to_owned());
    let mut held = VecDeque::new();
    let mut held_bytes = 0;
    loop {
        let mut request = Request::default();
        let entry = reading.next(&mut request).map_err(|source| TrafficError::Unreadable {
            path: reading.file().path.clone(),
            source: Arc::new(source),
        })?;
        match entry {
            Entry::Request => {
                held_bytes += (request.bytes.capacity() + size_of::<Request>()) as u64;
                held.push_back(request);
                notes.requests += 1;
                reading.tell(notes);
            }
            Entry::Skipped(reason) => notes.skip(reason),
            Entry::Broken(broken) if reading.bytes() > PREVIEW_BYTES && !held.is_empty() => {
                notes.add_broken(&broken);
            }
            Entry::Broken(broken) => {
                let path = reading.file().path.clone();
                let (line, what, hint) = (broken.line, broken.what, broken.hint);
                return Err(TrafficError::Broken { path, line, what, hint });
            }
            Entry::End if held.is_empty() => return Err(empty(reading.file(), notes)),
            Entry::End => return Ok(PreparedTraffic::List(Vec::from(held).into())),
        }
        if held.is_empty() && reading.bytes() > reading.format().begins_within(MEMORY_BYTES) {
            return Err(empty(reading.file(), notes));
        }
        if held_bytes > MEMORY_BYTES || is_large(&reading, held_bytes, passes) {
            break;
        }
    }
    if reading.length.is_none() && passes != Passes::Times(1) {
        return Err(TrafficError::OnlyOnce(reading.file().path.clone()));
    }
    Ok(PreparedTraffic::File { held, reading: Box::new(reading) })
}

/// All requests of `bytes`, read as `file` says; if they do not fit into memory, the first ones. It
/// does what a load does before its first request, without a file and without a thread.
///
/// # Errors
/// The same as those of a load: the bytes are no valid traffic.
pub fn read_all(
    bytes: &[u8],
    file: &TrafficFile,
    habits: Habits,
) -> Result<(Vec<Request>, TrafficNotes), TrafficError> {
    read_tagged(bytes, file, habits, &Tags::new())
}

/// The same, with the tags of the requests in `tags`.
///
/// # Errors
/// As [`read_all`].
pub fn read_tagged(
    bytes: &[u8],
    file: &TrafficFile,
    habits: Habits,
    tags: &Tags,
) -> Result<(Vec<Request>, TrafficNotes), TrafficError> {
    let (bytes, length, mut notes) = (bytes.to_vec(), bytes.len() as u64, TrafficNotes::default());
    let open = move || Ok(Box::new(io::Cursor::new(bytes.clone())) as Box<dyn io::Read + Send>);
    let reading = TrafficReader::new(file, Box::new(open), Some(length), habits, tags)?;
    let requests = match read_beginning(reading, Passes::Times(1), &mut notes)? {
        PreparedTraffic::List(list) => list.to_vec(),
        PreparedTraffic::File { held, .. } => held.into(),
    };
    Ok((requests, notes))
}

/// Whether what was read so far shows that the whole does not fit into memory.
fn is_large(reading: &TrafficReader, held_bytes: u64, passes: Passes) -> bool {
    let read = reading.bytes();
    if read <= PREVIEW_BYTES || held_bytes == 0 {
        return false;
    }
    match reading.share_read() {
        Some(share) => held_bytes as f64 / share > MEMORY_BYTES as f64,
        // A pipe that is sent once need not fit; one that is sent again must.
        None => passes == Passes::Times(1),
    }
}

pub(super) fn empty(file: &TrafficFile, notes: &TrafficNotes) -> TrafficError {
    let skipped = notes.skipped.iter().map(|(why, count)| (why.clone(), *count)).collect();
    TrafficError::Empty { path: file.path.clone(), skipped }
}

/// Reads the file during the load.
struct Reader {
    batch_writer: BatchWriter,
    passes: Passes,
    /// Which requests are dealt to our threads; the others belong to other parts.
    part: Part,
    /// Requests dealt, of all parts.
    dealt: u64,
    /// Requests that may still be dealt, of all parts.
    left: u64,
    notes: Arc<Mutex<TrafficNotes>>,
}

/// Why no further request is dealt.
enum DealEnd {
    /// The limit is reached.
    Limit,
    NoThreadsLeft,
}

impl From<NoThreadsLeft> for DealEnd {
    fn from(_: NoThreadsLeft) -> DealEnd {
        DealEnd::NoThreadsLeft
    }
}

impl Reader {
    fn run(
        mut self,
        held: VecDeque<Request>,
        reading: TrafficReader,
        order: Order,
    ) -> Result<(), NoThreadsLeft> {
        let dealt = match order {
            Order::InTurn => self.deal_file(held, reading, |this, request| this.deal(request)),
            Order::Random { seed } => {
                let mut window = Window::new(seed);
                let dealt = self.deal_file(held, reading, |this, request| {
                    if window.swap(request) { this.deal(request) } else { Ok(()) }
                });
                self.note(|notes| notes.shuffled_within = Some(window.size()));
                dealt.and_then(|()| window.rest().try_for_each(|mut last| self.deal(&mut last)))
            }
        };
        match dealt {
            Ok(()) | Err(DealEnd::Limit) => {
                self.batch_writer.finish();
                Ok(())
            }
            Err(DealEnd::NoThreadsLeft) => Err(NoThreadsLeft),
        }
    }

    fn deal(&mut self, request: &mut Request) -> Result<(), DealEnd> {
        if self.left == 0 {
            return Err(DealEnd::Limit);
        }
        self.left -= 1;
        let number = self.dealt;
        self.dealt += 1;
        if self.part.has(number) { Ok(self.batch_writer.deal(request)?) } else { Ok(()) }
    }

    fn note(&self, how: impl FnOnce(&mut TrafficNotes)) {
        how(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Reads all passes of a file and calls `deal` for each request.
    fn deal_file(
        &mut self,
        held: VecDeque<Request>,
        mut reading: TrafficReader,
        mut deal: impl FnMut(&mut Reader, &mut Request) -> Result<(), DealEnd>,
    ) -> Result<(), DealEnd> {
        held.into_iter().try_for_each(|mut request| deal(self, &mut request))?;
        let mut request = Request::default();
        let mut pass = 1;
        loop {
            let ended = self.deal_pass(&mut reading, &mut request, pass, &mut deal)?;
            if self.passes == Passes::Times(pass) {
                return Ok(());
            }
            pass += 1;
            let again = ended.and_then(|()| Ok(reading.again()?));
            if let Err(error) = again {
                let path = reading.file().path.clone();
                self.note(|notes| notes.failed = Some(read_failure(path, &error)));
                return Ok(());
            }
        }
    }

    /// Reads to the end of the pass. The inner error says why this failed. It also ends the load,
    /// because the rest of the requests is unknown.
    fn deal_pass(
        &mut self,
        reading: &mut TrafficReader,
        request: &mut Request,
        pass: u64,
        deal: &mut impl FnMut(&mut Reader, &mut Request) -> Result<(), DealEnd>,
    ) -> Result<Result<(), PassError>, DealEnd> {
        let mut is_empty = pass > 1;
        loop {
            // Only the first pass takes notes, because later ones meet the same entries.
            let note = |how: &dyn Fn(&mut TrafficNotes)| {
                if pass == 1 {
                    self.note(how);
                }
            };
            match reading.next(request) {
                Ok(Entry::Request) => {
                    note(&|notes| notes.requests += 1);
                    is_empty = false;
                    deal(self, request)?;
                }
                Ok(Entry::Skipped(why)) => note(&|notes| notes.skip(why.clone())),
                Ok(Entry::Broken(broken)) => note(&|notes| notes.add_broken(&broken)),
                Ok(Entry::End) if is_empty => {
                    return Ok(Err(PassError::Empty));
                }
                Ok(Entry::End) => return Ok(Ok(())),
                Err(error) => return Ok(Err(error.into())),
            }
        }
    }
}

/// The failure of a file that cannot be read any more.
pub(super) fn read_failure_of(path: PathBuf, error: &io::Error) -> ReadFailure {
    ReadFailure::Unreadable { path, os_error: error.to_string() }
}

fn read_failure(path: PathBuf, error: &PassError) -> ReadFailure {
    match error {
        PassError::Io(error) => read_failure_of(path, error),
        PassError::Empty => ReadFailure::Emptied { path },
    }
}

/// Why the end of a pass cannot be reached.
#[derive(Debug, thiserror::Error)]
enum PassError {
    /// The file cannot be read any more.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file was changed meanwhile.
    #[error("it has no request in it any more")]
    Empty,
}

/// A window of requests from which the next one is chosen at random.
struct Window {
    random: fastrand::Rng,
    requests: Vec<Request>,
    bytes: usize,
}

impl Window {
    fn new(seed: u64) -> Window {
        let random = fastrand::Rng::with_seed(seed);
        Window { random, requests: Vec::new(), bytes: 0 }
    }

    fn size(&self) -> u64 {
        self.requests.len() as u64
    }

    /// Adds a request and replaces it with another one. `false`: it only added, and gave none back.
    fn swap(&mut self, request: &mut Request) -> bool {
        self.bytes += request.bytes.len() + size_of::<Request>();
        if self.bytes <= WINDOW_BYTES {
            self.requests.push(std::mem::take(request));
            return false;
        }
        if !self.requests.is_empty() {
            let place = self.random.usize(..self.requests.len());
            std::mem::swap(&mut self.requests[place], request);
        }
        self.bytes = self.bytes.saturating_sub(request.bytes.len() + size_of::<Request>());
        true
    }

    fn rest(mut self) -> impl Iterator<Item = Request> {
        self.random.shuffle(&mut self.requests);
        self.requests.into_iter()
    }
}

/// Bytes that are read before the first request. An invalid line in them is an error.
const PREVIEW_BYTES: u64 = 1 << 20;
/// Name of the threads that read.
const NAME: &str = "traffic";
/// Most bytes of requests that are kept in memory. Those need not be read again, and need no reader
/// thread.
const MEMORY_BYTES: u64 = 64 << 20;
/// Bytes of requests that are shuffled among each other, in a file that does not fit into memory.
const WINDOW_BYTES: usize = 16 << 20;
/// Longest time for which a stop may go unnoticed while waiting for a pipe.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(20);
