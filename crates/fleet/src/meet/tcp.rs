//! Agents that come to a TCP port of the coordinator.

use std::io::{self, Read as _};
use std::net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use stampede_model::agent_places::Meeting;
use stampede_model::stop::Stop;

use super::{Answer, Call, GATHER_MAX, Joined, MeetError, Token, shown};
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
    let (mut agents, mut has_strangers) = (Vec::new(), false);
    let begun = Instant::now();
    let mut waiting = 0;
    while agents.len() < wanted as usize {
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
        match greeted.recv_timeout(TICK) {
            Ok(Greeted::Agent(agent)) => agents.push(*agent),
            Ok(Greeted::Version(host, version)) => {
                return Err(MeetError::Version { host, version });
            }
            Ok(Greeted::Stranger) => has_strangers = true,
            Ok(Greeted::Nobody) => {}
            Err(_) => {
                if stop.is_asked() {
                    return Err(MeetError::Stopped);
                }
                if begun.elapsed() > GATHER_MAX {
                    let place = meeting.to_string();
                    return Err(match has_strangers && agents.is_empty() {
                        true => MeetError::OtherToken { place },
                        false => MeetError::Few {
                            place,
                            come: agents.len(),
                            wanted,
                            within_s: GATHER_MAX.as_secs(),
                        },
                    });
                }
                continue;
            }
        }
        waiting -= 1;
    }
    Ok(agents)
}

/// Who connected.
enum Greeted {
    Agent(Box<Joined>),
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
        Ok(agent) => Greeted::Agent(Box::new(agent)),
        Err(_) => Greeted::Nobody,
    }
}

fn joined(stream: &TcpStream, name: String, token: String) -> io::Result<Joined> {
    stream.set_read_timeout(None)?;
    stream.set_write_timeout(Some(WRITE_MAX))?;
    let (from, to, own) = (stream.try_clone()?, stream.try_clone()?, stream.try_clone()?);
    let close = move || {
        let _ = own.shutdown(Shutdown::Both);
    };
    Ok(Joined { name, token, from: Box::new(from), to: Box::new(to), close: Box::new(close) })
}

/// An agent's connection to a coordinator that wants its orders done, and the proof that this
/// coordinator will give. `None`: nobody listens there.
pub(super) fn offer(
    meeting: &Meeting,
    token: &Token,
) -> Result<Option<(TcpStream, String)>, FrameError> {
    let Some(address) = meeting.address.to_socket_addrs()?.next() else { return Ok(None) };
    let Ok(mut stream) = TcpStream::connect_timeout(&address, GREETING_MAX) else {
        return Ok(None);
    };
    prepare(&stream)?;
    let Some(call) = read_short::<Call>(&mut stream)? else { return Ok(None) };
    let answer = Answer::to(&call, token);
    write_message(&mut stream, &answer)?;
    stream.set_read_timeout(None)?;
    stream.set_write_timeout(Some(WRITE_MAX))?;
    Ok(Some((stream, answer.token_of_coordinator(&call, token))))
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
/// How long a greeting may take.
const GREETING_MAX: Duration = Duration::from_secs(5);
/// A connection that takes nothing for so long is broken.
const WRITE_MAX: Duration = Duration::from_secs(10);
/// Most bytes of a greeting.
const GREETING_BYTES_MAX: u64 = 4 << 10;
/// Most connections that are greeted at once.
const GREETED_MAX: usize = 256;
