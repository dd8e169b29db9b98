//! An agent that waits for orders. Each coordinator's orders are done by a program of its own, which
//! ends with them: nothing of one load is left when the next one comes.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use stampede_model::agent_places::{Meeting, MeetingKind};
use stampede_model::stop::Stop;

use super::nats::{self, Broker};
use super::pipe::Closer;
use super::{MeetError, Token, tcp};
use crate::frame::{Frame, read_frame};
use crate::message::ToAgent;

/// The program that does orders on its standard input, and answers on its output.
#[derive(Clone, Debug)]
pub struct Worker {
    /// Its path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The variables that it must not have.
    pub without: &'static [&'static str],
    /// The variable of its environment that says what the coordinator will show.
    pub variable: &'static str,
}

/// What happens while an agent waits.
#[derive(Debug)]
pub enum Served {
    /// It waits for a coordinator.
    Waiting,
    /// It cannot wait now, and tries again.
    Away(MeetError),
    /// A coordinator has gone again: it has agents enough, or another token.
    Stranger,
    /// It does the orders of a coordinator.
    Working,
    /// These orders are done.
    Done,
}

/// How an agent serves.
#[derive(Clone, Copy, Debug)]
pub struct Serving<'a> {
    /// What does the orders.
    pub worker: &'a Worker,
    /// Whether it ends after the orders of one coordinator.
    pub once: bool,
    /// How long it waits for its first coordinator. `None`: as long as it takes.
    pub patience: Option<Duration>,
}

/// Waits for orders and does them, until asked to stop. Returns whether it did any.
///
/// # Errors
/// The program that does the orders cannot be started.
pub fn serve(
    meeting: &Meeting,
    token: &Token,
    serving: Serving<'_>,
    stop: &Stop,
    tell: &mut dyn FnMut(Served),
) -> io::Result<bool> {
    let mut point = Point { meeting, broker: None };
    let begun = Instant::now();
    let (mut is_told, mut has_served) = (false, false);
    tell(Served::Waiting);
    while !stop.is_asked() {
        let patience = serving.patience.filter(|_| !has_served);
        if patience.is_some_and(|most| begun.elapsed() > most) {
            break;
        }
        let trouble = match point.wait(token, (stop, patience)) {
            Ok(Some(mut offered)) => match first_order(&mut offered) {
                Some(first) => {
                    (is_told, has_served) = (false, true);
                    tell(Served::Working);
                    do_orders(serving.worker, offered, &first, stop)?;
                    tell(Served::Done);
                    if serving.once {
                        break;
                    }
                    tell(Served::Waiting);
                    continue;
                }
                None => {
                    (offered.close)();
                    Some(Served::Stranger)
                }
            },
            Ok(None) => None,
            Err(error) => Some(Served::Away(error)),
        };
        if let Some(trouble) = trouble
            && !std::mem::replace(&mut is_told, true)
        {
            tell(trouble);
        }
        std::thread::sleep(AGAIN);
    }
    Ok(has_served)
}

/// A connection to a coordinator.
pub(super) struct Offered {
    pub from: Box<dyn Read + Send>,
    pub to: Box<dyn Write + Send>,
    pub close: Closer,
    /// What the coordinator will show.
    pub proof: String,
}

/// Reads the first order, if it is from who knows the token.
fn first_order(offered: &mut Offered) -> Option<Vec<u8>> {
    let mut read = Copied { from: &mut offered.from, bytes: Vec::new() };
    match read_frame::<ToAgent>(&mut (&mut read).take(FIRST_BYTES_MAX)) {
        Ok(Some(Frame::Message(ToAgent::Hello { token, .. }))) if token == offered.proof => {
            Some(read.bytes)
        }
        _ => None,
    }
}

/// Keeps what is read.
struct Copied<'a> {
    from: &'a mut dyn Read,
    bytes: Vec<u8>,
}

impl Read for Copied<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        self.bytes.extend_from_slice(&buffer[..count]);
        Ok(count)
    }
}

/// Where an agent waits.
struct Point<'a> {
    meeting: &'a Meeting,
    broker: Option<Broker>,
}

impl Point<'_> {
    fn wait(
        &mut self,
        token: &Token,
        until: (&Stop, Option<Duration>),
    ) -> Result<Option<Offered>, MeetError> {
        match self.meeting.kind {
            MeetingKind::Nats => {
                let broker = match self.broker.take().filter(|broker| !broker.is_lost()) {
                    Some(broker) => broker,
                    None => Broker::connect(self.meeting)?,
                };
                // After an error it is connected anew.
                let offered = nats::wait(&broker, token, until)?;
                self.broker = Some(broker);
                Ok(offered)
            }
            // Nobody listens, or who does is no coordinator: both may change.
            MeetingKind::Tcp => Ok(tcp::offer(self.meeting, token, until.0).unwrap_or_default()),
        }
    }
}

/// Carries orders to a program, and its answers back, until it has ended.
fn do_orders(worker: &Worker, offered: Offered, first: &[u8], stop: &Stop) -> io::Result<()> {
    let Offered { mut from, mut to, close, proof } = offered;
    let mut command = Command::new(&worker.program);
    command.args(&worker.arguments);
    for name in worker.without {
        command.env_remove(name);
    }
    command.env(worker.variable, proof).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let (Some(mut orders), Some(mut answers)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("the standard streams are not there"));
    };
    // If it has ended already, that is seen below.
    let _ = orders.write_all(first);
    // Ends with the connection. Then the program's orders end, and so does it.
    std::thread::spawn(move || copy(&mut from, &mut orders));
    let answering = std::thread::spawn(move || copy(&mut answers, &mut to));
    while matches!(child.try_wait(), Ok(None)) {
        if stop.is_asked() || answering.is_finished() {
            // The program sees the end of its orders, and stops sending at once.
            close();
            end(&mut child);
            break;
        }
        std::thread::sleep(TICK);
    }
    let _ = child.wait();
    // Its last words may still be on their way.
    let until = Instant::now() + ENDING_MAX;
    while !answering.is_finished() && Instant::now() < until {
        std::thread::sleep(TICK);
    }
    close();
    Ok(())
}

/// Copies as it comes: a ping must not wait for a full buffer.
fn copy(from: &mut impl Read, to: &mut impl Write) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..count]).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}

/// Ends a program of ours that has had its time to end by itself.
fn end(child: &mut Child) {
    let until = Instant::now() + ENDING_MAX;
    while Instant::now() < until {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(TICK);
    }
    let _ = child.kill();
}

const TICK: Duration = Duration::from_millis(20);
/// Most bytes of a first order.
const FIRST_BYTES_MAX: u64 = 4 << 10;
/// How long after a failure it is tried again.
const AGAIN: Duration = Duration::from_millis(500);
/// How long a program may take to end: an agent ends within a second after its orders.
const ENDING_MAX: Duration = Duration::from_secs(1);
