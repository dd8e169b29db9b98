//! Inspects answers while they are read, and reports which part of the check fails.
//!
//! It costs nothing where nothing is demanded: no byte of a body is examined or copied. A body is
//! kept only for a pattern or JSON, up to [`BODY_BYTES_MAX`]. The first bytes of an answer are kept
//! for an example only if it fails, or if a read ends inside it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::json::JsonMatch;
use super::search::ByteSearch;
use super::{BODY_BYTES_MAX, Check, Condition, Failed, HeaderDemand, RULES_MAX, Rule};
use stampede_traffic::answer::{AnswerEnd, AnswerShape, Checked};
use stampede_traffic::fields::{unfolded, values};

/// What all connections of a load thread share: the rules, because each copy of a pattern has its
/// own cache, and buffers that pass from one answer to the next.
#[derive(Debug)]
pub(crate) struct Inspection {
    check: Check,
    /// Whether any rule is about headers.
    headers: bool,
    /// Whether anything is demanded of bodies.
    bodies: bool,
    /// Whether a body must be kept as a whole.
    whole_bodies: bool,
    /// Whether any rule is about the time.
    timed: bool,
    spare_bodies: BufferPool,
    spare_starts: BufferPool,
}

/// Empty buffers, for reuse.
#[derive(Debug)]
struct BufferPool {
    buffers: RefCell<Vec<Vec<u8>>>,
    /// How many more buffers may be allocated.
    left: Cell<usize>,
}

impl BufferPool {
    fn new(most: usize) -> BufferPool {
        BufferPool { buffers: RefCell::default(), left: Cell::new(most) }
    }

    /// An empty buffer; `None`: all are in use.
    fn take(&self) -> Option<Vec<u8>> {
        if let Some(buffer) = self.buffers.borrow_mut().pop() {
            return Some(buffer);
        }
        self.left.set(self.left.get().checked_sub(1)?);
        Some(Vec::with_capacity(FIRST_BYTES))
    }

    fn give(&self, buffer: &mut Vec<u8>) {
        if buffer.capacity() > 0 {
            let mut buffer = std::mem::take(buffer);
            buffer.clear();
            self.buffers.borrow_mut().push(buffer);
        }
    }
}

impl Inspection {
    pub(crate) fn new(check: &Check) -> Rc<Inspection> {
        assert!(check.rules.len() <= RULES_MAX, "more rules than a check holds");
        let any = |of: fn(&Condition) -> bool| check.rules.iter().any(|rule| of(&rule.condition));
        let whole = any(|condition| {
            matches!(condition, Condition::BodyMatches(_) | Condition::Json { .. })
        });
        let parts =
            any(|condition| matches!(condition, Condition::BodyContains(_) | Condition::Size(..)));
        Rc::new(Inspection {
            // Each clone of a pattern has its own cache, so threads do not share one.
            check: check.clone(),
            headers: any(|condition| matches!(condition, Condition::Header { .. })),
            bodies: whole || parts || !check.body_contains.is_empty(),
            whole_bodies: whole,
            timed: any(|condition| matches!(condition, Condition::Time(_))),
            spare_bodies: BufferPool::new(usize::MAX),
            spare_starts: BufferPool::new(STARTS_MAX),
        })
    }
}

/// Receives the bytes of a body, without framing, as they arrive.
pub(crate) trait Sink {
    /// The next piece.
    fn piece(&mut self, bytes: &[u8]);
}

/// The inspection of the answer in progress on one connection.
#[derive(Debug)]
pub(crate) struct Inspector {
    shared: Rc<Inspection>,
    /// One search for `body_contains`, if demanded, then one per rule `body contains`.
    searches: Box<[(Failed, ByteSearch)]>,
    /// A bit for each rule about headers that the final head broke.
    broken_header_rules: u32,
    body_inspection: BodyInspection,
    /// Bytes of the body so far.
    size: u64,
    /// The body so far, if it must be kept as a whole.
    body: Vec<u8>,
    /// The beginning of the answer, as on the wire.
    start: Vec<u8>,
}

/// What the body's bytes are inspected for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyInspection {
    /// Nothing: no rule, a wrong status, or an answer to HEAD.
    Skip,
    /// Searches and size.
    Scan,
    /// Searches and size, and the whole body is kept.
    Keep,
    /// Searches and size; the body is too large to be kept.
    TooLarge,
}

impl Inspector {
    pub(crate) fn new(shared: &Rc<Inspection>) -> Inspector {
        let check = &shared.check;
        let own = Some((Failed::CONTAINS, check.body_contains.as_slice()));
        let own = own.filter(|(_, text)| !text.is_empty());
        let rules =
            check.rules.iter().enumerate().filter_map(|(index, rule)| match &rule.condition {
                Condition::BodyContains(text) => Some((Failed::rule(index), text.as_slice())),
                _ => None,
            });
        let searches = own.into_iter().chain(rules);
        Inspector {
            searches: searches.map(|(failed, text)| (failed, ByteSearch::new(text))).collect(),
            shared: Rc::clone(shared),
            broken_header_rules: 0,
            body_inspection: BodyInspection::Skip,
            size: 0,
            body: Vec::new(),
            start: Vec::new(),
        }
    }

    /// Prepares for another answer, or for none.
    pub(crate) fn restart(&mut self) {
        self.broken_header_rules = 0;
        self.body_inspection = BodyInspection::Skip;
        self.size = 0;
        self.searches.iter_mut().for_each(|(_, search)| search.restart());
        self.shared.spare_bodies.give(&mut self.body);
        self.shared.spare_starts.give(&mut self.start);
    }

    /// Inspects the final head, as on the wire.
    pub(crate) fn head(&mut self, raw: &[u8], status: u16, shape: AnswerShape) {
        if !(self.shared.headers || self.shared.bodies) || !self.shared.check.right_status(status) {
            return;
        }
        if self.shared.headers {
            self.broken_header_rules = broken_header_rules(&self.shared.check.rules, raw);
        }
        // An answer to HEAD has no body to check. Other bodies need no look if nothing is demanded
        // of them.
        self.body_inspection = match shape {
            AnswerShape::ByHeaders if self.shared.whole_bodies => BodyInspection::Keep,
            AnswerShape::ByHeaders if self.shared.bodies => BodyInspection::Scan,
            _ => BodyInspection::Skip,
        };
    }

    /// Result of the check of a whole answer, except for its time.
    pub(crate) fn checked(&self) -> Checked {
        if self.body_inspection == BodyInspection::Skip && self.broken_header_rules == 0 {
            return Checked::Right;
        }
        let own = self.searches.first().filter(|(failed, _)| *failed == Failed::CONTAINS);
        if own.is_some_and(|(_, search)| {
            self.body_inspection != BodyInspection::Skip && !search.found()
        }) {
            return Checked::Wrong(Failed::CONTAINS);
        }
        let rules = self.shared.check.rules.iter().enumerate();
        let mut failed = rules.filter_map(|(index, rule)| self.failure_of(rule, index));
        failed.next().map_or(Checked::Right, Checked::Wrong)
    }

    /// Bytes of the body so far.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    fn failure_of(&self, rule: &Rule, index: usize) -> Option<Failed> {
        let is_inspected = self.body_inspection != BodyInspection::Skip;
        let holds = match &rule.condition {
            Condition::Header { .. } => self.broken_header_rules & (1 << index) == 0,
            Condition::Time(_) => true,
            _ if !is_inspected => true,
            Condition::BodyContains(_) => {
                let own = self.searches.iter().find(|(failed, _)| *failed == Failed::rule(index));
                own.is_some_and(|(_, search)| search.found())
            }
            Condition::Size(compare, bytes) => compare.holds(self.size, *bytes),
            Condition::BodyMatches(_) | Condition::Json { .. }
                if self.body_inspection == BodyInspection::TooLarge =>
            {
                return Some(Failed::TOO_LARGE);
            }
            Condition::BodyMatches(pattern) => pattern.is_match(&self.body),
            Condition::Json { path, value } => {
                path.match_in(&self.body, value.as_ref()) == JsonMatch::Found
            }
        };
        (!holds).then(|| Failed::rule(index))
    }

    /// A read ended inside the answer: keeps its start, in case it fails.
    pub(crate) fn read_ended(&mut self, bytes: &[u8]) {
        if self.start.len() < START_BYTES {
            self.keep_start(bytes);
        }
    }

    /// The answer has ended; `bytes` are its last ones.
    pub(crate) fn ended(&mut self, bytes: &[u8], end: AnswerEnd) {
        let AnswerEnd::Whole { status, check: Checked::Right } = end else {
            return self.read_ended(bytes);
        };
        if !self.shared.check.right_status(status) {
            return self.read_ended(bytes);
        }
        self.shared.spare_bodies.give(&mut self.body);
        if self.shared.timed {
            // It may still be too slow, which the driver decides.
            self.read_ended(bytes);
        } else {
            self.shared.spare_starts.give(&mut self.start);
        }
    }

    #[cold]
    fn keep_start(&mut self, bytes: &[u8]) {
        if self.start.capacity() == 0 {
            let Some(buffer) = self.shared.spare_starts.take() else { return };
            self.start = buffer;
        }
        let room = START_BYTES - self.start.len();
        self.start.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    /// The beginning of the answer on the wire, as far as it was kept.
    pub(crate) fn start(&self) -> &[u8] {
        &self.start
    }

    /// What was found instead, in words; `raw` is the head.
    pub(crate) fn found(&self, failed: Failed, raw: &[u8]) -> String {
        let check = &self.shared.check;
        let rule = check.rules.get(usize::from(failed.0).wrapping_sub(1));
        match (failed, rule) {
            (Failed::CONTAINS, _) => {
                super::words::does_not_contain(&check.body_contains, self.size)
            }
            (_, Some(rule)) => super::words::describe(&rule.condition, raw, self.size, &self.body),
            (_, None) => super::words::too_large(self.size),
        }
    }
}

impl Sink for Inspector {
    fn piece(&mut self, bytes: &[u8]) {
        self.size += bytes.len() as u64;
        if self.body_inspection == BodyInspection::Skip {
            return;
        }
        self.searches.iter_mut().for_each(|(_, search)| search.feed(bytes));
        if self.body_inspection != BodyInspection::Keep {
            return;
        }
        if self.body.len() + bytes.len() > BODY_BYTES_MAX {
            self.body_inspection = BodyInspection::TooLarge;
            return;
        }
        if self.body.capacity() == 0 {
            self.body = self.shared.spare_bodies.take().unwrap_or_default();
        }
        self.body.extend_from_slice(bytes);
    }
}

/// A bit for each rule about headers that `raw` breaks.
fn broken_header_rules(rules: &[Rule], raw: &[u8]) -> u32 {
    let about = rules.iter().enumerate().filter_map(|(index, rule)| match &rule.condition {
        Condition::Header { name, value } => Some((index, name, value)),
        _ => None,
    });
    about.fold(0, |bits, (index, name, wanted)| {
        let holds = values(raw, name).any(|value| wanted.is_met_by(value));
        bits | u32::from(!holds) << index
    })
}

impl HeaderDemand {
    /// Whether a value satisfies the demand. A value that is folded over several lines is first
    /// joined to one.
    fn is_met_by(&self, value: &[u8]) -> bool {
        let is_folded = value.contains(&b'\n');
        match self {
            HeaderDemand::Anything => true,
            HeaderDemand::Equal(wanted) if is_folded => unfolded(value).eq(wanted.iter().copied()),
            HeaderDemand::Equal(wanted) => value == wanted,
            HeaderDemand::Containing(part) if is_folded => contains(unfolded(value), part),
            HeaderDemand::Containing(part) => {
                value.windows(part.len()).any(|window| window == part)
            }
        }
    }
}

fn contains(mut bytes: impl Iterator<Item = u8> + Clone, part: &[u8]) -> bool {
    loop {
        if bytes.clone().take(part.len()).eq(part.iter().copied()) {
            return true;
        }
        if bytes.next().is_none() {
            return false;
        }
    }
}

/// Most bytes of an answer's beginning that are kept: a head of 4 KiB, 2 KiB of body, and framing.
const START_BYTES: usize = 8 << 10;

/// Most connections of a thread for which the beginning of an answer is kept at once: 4 MiB in all,
/// however many there are. Only the first failed answer of each kind is shown. So more are needed
/// only by a load all of whose answers arrive in pieces.
const STARTS_MAX: usize = 512;

/// Capacity of a new buffer: a usual answer.
const FIRST_BYTES: usize = 1 << 10;
