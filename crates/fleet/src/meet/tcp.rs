//! Agents that come to a TCP port of the coordinator.

use std::io::{self, Read as _, Write};
use std::net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::net::RecvFlags;
use serde::de::DeserializeOwned;
use stampede_model::agent_places::Meeting;
use stampede_model::stop::Stop;

use super::pipe::Closer;
use super::serve::Offered;
use super::{Answer, Call, GATHER_MAX, Joined, MeetError, SILENCE_MAX, Token, shown};
use crate::frame::{Frame, FrameError, read_frame, write_message};
use crate::message::VERSION;

/// Waits for as many agents as the meeting says. The port is closed when they are there.
pub(super) fn gather(
    meeting: &Meeting,
    token: &Token,
    stop: &Stop,
) -> Result<Vec<Joined>, MeetError> {
    let failed = |source| MeetError::Listen { place: meeting.to_string(), source };
    let wanted = meeting.agents.unwrap_or(1);
    let listener = TcpListener::bind(&meeting.address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let (to_us, greeted) = mpsc::channel();
    let mut came = Came::default();
    let (begun, mut waiting) = (Instant::now(), 0);
    loop {
        match listener.accept() {
            // Whoever connects and says nothing keeps nobody waiting.
            Ok((stream, _)) if waiting < GREETED_MAX => {
                waiting += 1;
                let (token, to_us) = (token.clone(), to_us.clone());
                std::thread::spawn(move || {
                    let _ = to_us.send(greet(stream, &token));
                });
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(failed(error)),
        }
        if let Ok(greeted) = greeted.recv_timeout(TICK) {
            waiting -= 1;
            came.add(greeted);
        }
        // One that has gone again is none.
        came.agents.retain(|(_, stream)| is_open(stream));
        if came.agents.len() >= wanted as usize {
            return Ok(came.agents.into_iter().map(|(agent, _)| agent).collect());
        }
        if stop.is_asked() {
            return Err(MeetError::Stopped);
        }
        if begun.elapsed() > GATHER_MAX {
            return Err(came.too_few(meeting.to_string(), wanted));
        }
    }
}

/// Who came to a port.
#[derive(Default)]
struct Came {
    agents: Vec<(Joined, TcpStream)>,
    version: Option<(String, u32)>,
    has_strangers: bool,
}

impl Came {
    fn add(&mut self, greeted: Greeted) {
        match greeted {
            Greeted::Agent(agent, stream) => self.agents.push((*agent, stream)),
            Greeted::Version(host, version) => self.version = Some((host, version)),
            Greeted::Stranger => self.has_strangers = true,
            Greeted::Nobody => {}
        }
    }

    fn too_few(self, place: String, wanted: u32) -> MeetError {
        let come = self.agents.len();
        match self.version {
            Some((host, version)) => MeetError::Version { host, version },
            None if self.has_strangers && come == 0 => MeetError::OtherToken { place },
            None => MeetError::Few { place, come, wanted, within_s: GATHER_MAX.as_secs() },
        }
    }
}

/// Whether the other side has not closed. An agent says nothing before it is spoken to.
fn is_open(stream: &TcpStream) -> bool {
    // Only this call must not wait, so no flag of the socket is changed.
    let mut byte = [0; 1];
    match rustix::net::recv(stream, &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok((_, length)) => length > 0,
        Err(error) => error == rustix::io::Errno::AGAIN,
    }
}

/// Who connected.
enum Greeted {
    Agent(Box<Joined>, TcpStream),
    /// An agent of another version.
    Version(String, u32),
    /// An agent with another token.
    Stranger,
    /// No agent.
    Nobody,
}

fn greet(mut stream: TcpStream, token: &Token) -> Greeted {
    let call = Call::new();
    let answer = stream
        .set_nonblocking(false)
        .and_then(|()| prepare(&stream))
        .map_err(FrameError::from)
        .and_then(|()| write_message(&mut stream, &call))
        .and_then(|()| read_short::<Answer>(&mut stream));
    let Ok(Some(answer)) = answer else { return Greeted::Nobody };
    if answer.version != VERSION {
        return Greeted::Version(shown(&answer.host), answer.version);
    }
    if !answer.fits(&call, token) {
        return Greeted::Stranger;
    }
    let proof = answer.token_of_coordinator(&call, token);
    match joined(&stream, shown(&answer.host), proof) {
        Ok(agent) => Greeted::Agent(Box::new(agent), stream),
        Err(_) => Greeted::Nobody,
    }
}

fn joined(stream: &TcpStream, name: String, token: String) -> io::Result<Joined> {
    stream.set_read_timeout(None)?;
    stream.set_write_timeout(Some(WRITE_MAX))?;
    let (from, to, own) = (stream.try_clone()?, stream.try_clone()?, stream.try_clone()?);
    Ok(Joined { name, token, from: Box::new(from), to: Box::new(Sending(to)), close: closer(own) })
}

fn closer(stream: TcpStream) -> Closer {
    Box::new(move || {
        let _ = stream.shutdown(Shutdown::Both);
    })
}

/// The side that writes. Dropping it tells the other side that nothing more comes.
struct Sending(TcpStream);

impl Write for Sending {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.0.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

/// An agent's connection to a coordinator that may want its orders done. `None`: nobody listens there.
pub(super) fn offer(
    meeting: &Meeting,
    token: &Token,
    stop: &Stop,
) -> Result<Option<Offered>, FrameError> {
    let mut addresses = meeting.address.to_socket_addrs()?;
    let connect = |at| TcpStream::connect_timeout(&at, GREETING_MAX).ok();
    let Some(mut stream) = addresses.find_map(connect) else { return Ok(None) };
    prepare(&stream)?;
    let Some(call) = read_short::<Call>(&mut stream)? else { return Ok(None) };
    let answer = Answer::to(&call, token);
    write_message(&mut stream, &answer)?;
    // Others may have to come before it says anything.
    let until = Instant::now() + 2 * GATHER_MAX;
    stream.set_read_timeout(Some(LOOK))?;
    while !has_spoken(&stream) {
        if stop.is_asked() || Instant::now() > until {
            return Ok(None);
        }
    }
    stream.set_read_timeout(Some(SILENCE_MAX))?;
    stream.set_write_timeout(Some(WRITE_MAX))?;
    let (from, own) = (stream.try_clone()?, stream.try_clone()?);
    let proof = answer.token_of_coordinator(&call, token);
    let (from, to) = (Box::new(from), Box::new(Sending(stream)));
    Ok(Some(Offered { from, to, close: closer(own), proof }))
}

/// Waits a moment for bytes, or for the end of the connection.
fn has_spoken(stream: &TcpStream) -> bool {
    let waiting = [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut, io::ErrorKind::Interrupted];
    match stream.peek(&mut [0; 1]) {
        Ok(_) => true,
        Err(error) => !waiting.contains(&error.kind()),
    }
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    // A ping must not wait for the next one.
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(GREETING_MAX))?;
    stream.set_write_timeout(Some(GREETING_MAX))
}

/// Reads a message of somebody who has not shown a token yet.
fn read_short<M: DeserializeOwned>(stream: &mut TcpStream) -> Result<Option<M>, FrameError> {
    match read_frame(&mut stream.take(GREETING_BYTES_MAX))? {
        Some(Frame::Message(message)) => Ok(Some(message)),
        Some(Frame::Bytes(_)) | None => Ok(None),
    }
}

const TICK: Duration = Duration::from_millis(10);
const LOOK: Duration = Duration::from_millis(200);
/// How long a greeting may take.
const GREETING_MAX: Duration = Duration::from_secs(5);
/// A connection that takes nothing for so long is broken.
const WRITE_MAX: Duration = Duration::from_secs(10);
/// Most bytes of a greeting.
const GREETING_BYTES_MAX: u64 = 4 << 10;
/// Most connections that are greeted at once.
const GREETED_MAX: usize = 256;
