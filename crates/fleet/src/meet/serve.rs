//! An agent that waits for orders. Each coordinator's orders are done by a program of its own, which
//! ends with them: nothing of one load is left when the next one comes.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use stampede_model::agent_places::{Meeting, MeetingKind};
use stampede_model::stop::Stop;

use super::nats::{self, Broker};
use super::{MeetError, TOKEN_VARIABLE, Token, tcp};

/// The program that does orders on its standard input, and answers on its output.
#[derive(Clone, Debug)]
pub struct Worker {
    /// Its path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
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
    /// It does the orders of a coordinator.
    Working,
    /// These orders are done.
    Done,
}

/// Waits for orders and does them, until asked to stop; with `once`, those of one coordinator.
///
/// # Errors
/// The program that does the orders cannot be started.
pub fn serve(
    meeting: &Meeting,
    token: &Token,
    (worker, once): (&Worker, bool),
    stop: &Stop,
    tell: &mut dyn FnMut(Served),
) -> io::Result<()> {
    let mut point = Point { meeting, broker: None };
    let mut is_away = false;
    tell(Served::Waiting);
    while !stop.is_asked() {
        let offered = match point.wait(token, stop) {
            Ok(offered) => offered,
            Err(error) => {
                if !std::mem::replace(&mut is_away, true) {
                    tell(Served::Away(error));
                }
                None
            }
        };
        let Some(Offered { from, to, proof }) = offered else {
            std::thread::sleep(AGAIN);
            continue;
        };
        is_away = false;
        tell(Served::Working);
        do_orders(worker, from, to, (&proof, stop))?;
        tell(Served::Done);
        if once {
            break;
        }
        tell(Served::Waiting);
    }
    Ok(())
}

struct Offered {
    from: Box<dyn Read + Send>,
    to: Box<dyn Write + Send>,
    proof: String,
}

/// Where an agent waits.
struct Point<'a> {
    meeting: &'a Meeting,
    broker: Option<Broker>,
}

impl Point<'_> {
    fn wait(&mut self, token: &Token, stop: &Stop) -> Result<Option<Offered>, MeetError> {
        match self.meeting.kind {
            MeetingKind::Nats => {
                if self.broker.as_ref().is_some_and(Broker::is_lost) {
                    self.broker = None;
                }
                let broker = match &mut self.broker {
                    Some(broker) => broker,
                    none => none.insert(Broker::connect(self.meeting)?),
                };
                let offered = nats::wait(broker, token, stop)?;
                Ok(offered.map(|nats::Offered { from, to, proof }| Offered {
                    from: Box::new(from),
                    to: Box::new(to),
                    proof,
                }))
            }
            MeetingKind::Tcp => {
                // Nobody listens, or who does is no coordinator: both may change.
                let Ok(Some((stream, proof))) = tcp::offer(self.meeting, token) else {
                    return Ok(None);
                };
                let Ok(from) = stream.try_clone() else { return Ok(None) };
                Ok(Some(Offered { from: Box::new(from), to: Box::new(stream), proof }))
            }
        }
    }
}

/// Carries orders to a program, and its answers back, until it has ended.
fn do_orders(
    worker: &Worker,
    mut from: Box<dyn Read + Send>,
    mut to: Box<dyn Write + Send>,
    (proof, stop): (&str, &Stop),
) -> io::Result<()> {
    let mut child = Command::new(&worker.program)
        .args(&worker.arguments)
        .env(worker.variable, proof)
        .env_remove(TOKEN_VARIABLE)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(mut orders), Some(mut answers)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("the standard streams are not there"));
    };
    // Ends with the connection. Then the program's orders end, and so does it.
    std::thread::spawn(move || copy(&mut from, &mut orders));
    let answering = std::thread::spawn(move || copy(&mut answers, &mut to));
    while matches!(child.try_wait(), Ok(None)) {
        if stop.is_asked() || answering.is_finished() {
            end(&mut child);
            break;
        }
        std::thread::sleep(TICK);
    }
    let _ = child.wait();
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
/// How long after a failure it is tried again.
const AGAIN: Duration = Duration::from_millis(500);
/// How long a program may take to end: an agent ends a second after its orders.
const ENDING_MAX: Duration = Duration::from_millis(1_500);
