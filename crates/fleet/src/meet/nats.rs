//! Agents that wait at a NATS broker. The coordinator calls, those that are free answer, and each one
//! gets two subjects, one for each direction.

use std::collections::BTreeMap;
use std::env::var;
use std::time::{Duration, Instant};

use async_nats::{Client, ConnectOptions, Event, Message, Subscriber};
use futures_util::{Stream, StreamExt as _, stream};
use percent_encoding::percent_decode_str;
use stampede_model::agent_places::Meeting;
use stampede_model::stop::Stop;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::time::timeout;

use super::pipe::{self, Closer, PipeReader, PipeWriter};
use super::{Answer, Call, Come, GATHER_MAX, Joined, MeetError, Token, shown};
use crate::message::VERSION;

/// A connection to a broker, and the thread that keeps it.
pub(crate) struct Broker {
    client: Client,
    lost: watch::Receiver<bool>,
    place: String,
    runtime: Runtime,
}

impl Broker {
    pub(super) fn connect(meeting: &Meeting) -> Result<Broker, MeetError> {
        let place = meeting.to_string();
        let failed = |message: String| MeetError::Broker { place: meeting.to_string(), message };
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| failed(error.to_string()))?;
        let (gone, lost) = watch::channel(false);
        let connecting = async {
            let (server, user) = split(&meeting.address);
            let options = options(user).await.map_err(|error| error.to_string())?;
            let options = options.name("stampede").connection_timeout(CONNECT_MAX).event_callback(
                move |event| {
                    // Whatever was on its way may be lost, so the connections over it have ended.
                    let is_gone = matches!(event, Event::Disconnected | Event::Closed);
                    let _ = is_gone.then(|| gone.send(true));
                    async {}
                },
            );
            let connected = timeout(2 * CONNECT_MAX, options.connect(server.as_str()));
            let connected = connected.await.map_err(|_| "it does not answer".to_owned())?;
            connected.map_err(|error| with_causes(&error))
        };
        let client = runtime.block_on(connecting).map_err(failed)?;
        Ok(Broker { client, lost, place, runtime })
    }

    pub(super) fn is_lost(&self) -> bool {
        *self.lost.borrow()
    }

    fn failed(&self, error: &dyn std::error::Error) -> MeetError {
        MeetError::Broker { place: self.place.clone(), message: with_causes(error) }
    }

    async fn subscribe(&self, subject: String) -> Result<Subscriber, MeetError> {
        self.client.subscribe(subject).await.map_err(|error| self.failed(&error))
    }

    fn open(
        &self,
        inbound: impl Stream<Item = Message> + Unpin + Send + 'static,
        subject: String,
    ) -> (PipeReader, PipeWriter, Closer) {
        pipe::open(self.runtime.handle(), &self.client, inbound, subject, self.lost.clone())
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// The address without its user, and the user: a name with a password, or a token alone.
fn split(address: &str) -> (String, Option<(String, Option<String>)>) {
    let Some((scheme, (user, host))) =
        address.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?)))
    else {
        return (address.to_owned(), None);
    };
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let user = match user.split_once(':') {
        Some((name, password)) => (decoded(name), Some(decoded(password))),
        None => (decoded(user), None),
    };
    (format!("{scheme}://{host}"), Some(user))
}

/// What the URL says, and what a user of the tool `nats` has set for it.
async fn options(user: Option<(String, Option<String>)>) -> std::io::Result<ConnectOptions> {
    let mut options = match user {
        Some((name, Some(password))) => ConnectOptions::with_user_and_password(name, password),
        Some((token, None)) => ConnectOptions::with_token(token),
        None => ConnectOptions::new(),
    };
    if let (Ok(user), Ok(password)) = (var("NATS_USER"), var("NATS_PASSWORD")) {
        options = options.user_and_password(user, password);
    }
    if let Ok(token) = var("NATS_TOKEN") {
        options = options.token(token);
    }
    if let Ok(file) = var("NATS_CREDS") {
        options = options.credentials_file(file).await?;
    }
    if let Ok(file) = var("NATS_NKEY") {
        let seed = std::fs::read_to_string(file)?;
        options = options.nkey(seed.trim().to_owned());
    }
    if let Ok(file) = var("NATS_CA") {
        options = options.add_root_certificates(file.into());
    }
    if let (Ok(certificate), Ok(key)) = (var("NATS_CERT"), var("NATS_KEY")) {
        options = options.add_client_certificate(certificate.into(), key.into());
    }
    Ok(options)
}

/// The subjects of one agent in one run: where it reads, and where the coordinator does.
fn subjects(call: &Call, answer: &Answer) -> [String; 2] {
    ["to", "from"].map(|way| format!("stampede.agents.{}.{}.{way}", call.nonce, answer.nonce))
}

/// Calls until as many agents have answered as the meeting says, or for a second without another one.
pub(super) fn gather(meeting: &Meeting, token: &Token, stop: &Stop) -> Result<Come, MeetError> {
    let broker = Broker::connect(meeting)?;
    let call = Call::new();
    let answers = broker.runtime.block_on(answers(&broker, meeting, (token, &call), stop))?;
    let mut agents = Vec::with_capacity(answers.len());
    for answer in answers.into_values() {
        let [to, from] = subjects(&call, &answer);
        let inbound = broker.runtime.block_on(broker.subscribe(from))?;
        let (from, to, close) = broker.open(inbound, to);
        agents.push(Joined {
            name: shown(&answer.host),
            token: answer.token_of_coordinator(&call, token),
            from: Box::new(from),
            to: Box::new(to),
            close,
        });
    }
    Ok(Come { agents, broker: Some(broker) })
}

async fn answers(
    broker: &Broker,
    meeting: &Meeting,
    (token, call): (&Token, &Call),
    stop: &Stop,
) -> Result<BTreeMap<String, Answer>, MeetError> {
    let inbox = broker.client.new_inbox();
    let mut inbound = broker.subscribe(inbox.clone()).await?;
    let text = serde_json::to_vec(call).unwrap_or_default();
    let (mut come, mut has_strangers) = (BTreeMap::new(), false);
    let (begun, mut last, mut called) = (Instant::now(), Instant::now(), None::<Instant>);
    loop {
        if called.is_none_or(|called| called.elapsed() > CALLS_APART) {
            called = Some(Instant::now());
            let calling =
                broker.client.publish_with_reply(CALL, inbox.clone(), text.clone().into());
            calling.await.map_err(|error| broker.failed(&error))?;
        }
        if let Ok(Some(message)) = timeout(TICK, inbound.next()).await {
            match serde_json::from_slice::<Answer>(&message.payload) {
                Ok(answer) if answer.version != VERSION => {
                    let (host, version) = (shown(&answer.host), answer.version);
                    return Err(MeetError::Version { host, version });
                }
                Ok(answer) if answer.fits(call, token) => {
                    // Each call is answered again.
                    if come.insert(answer.nonce.clone(), answer).is_none() {
                        last = Instant::now();
                    }
                }
                _ => has_strangers = true,
            }
        }
        if stop.is_asked() {
            return Err(MeetError::Stopped);
        }
        let is_enough = match meeting.agents {
            Some(wanted) => come.len() >= wanted as usize,
            None => !come.is_empty() && last.elapsed() > QUIET,
        };
        if is_enough {
            return Ok(come);
        }
        let most = if meeting.agents.is_some() { GATHER_MAX } else { CALL_MAX };
        if broker.is_lost() {
            let message = "the connection was lost".to_owned();
            return Err(MeetError::Broker { place: broker.place.clone(), message });
        }
        if begun.elapsed() > most {
            return Err(missing(meeting, come.len(), has_strangers, most));
        }
    }
}

fn missing(meeting: &Meeting, come: usize, has_strangers: bool, within: Duration) -> MeetError {
    let place = meeting.to_string();
    match has_strangers && come == 0 {
        true => MeetError::OtherToken { place },
        false => MeetError::Few {
            place,
            come,
            wanted: meeting.agents.unwrap_or(1),
            within_s: within.as_secs(),
        },
    }
}

/// A connection to a coordinator that wants an agent's orders done.
pub(super) struct Offered {
    pub from: PipeReader,
    pub to: PipeWriter,
    /// What the coordinator will show.
    pub proof: String,
}

/// Waits at a broker until a coordinator calls, and is offered the orders. `None`: asked to stop, or
/// the broker is lost.
pub(super) fn wait(
    broker: &Broker,
    token: &Token,
    stop: &Stop,
) -> Result<Option<Offered>, MeetError> {
    broker.runtime.block_on(async {
        // Subscribed to anew each time, so that no call of earlier is answered.
        let mut calls = broker.subscribe(CALL.to_owned()).await?;
        while !stop.is_asked() && !broker.is_lost() {
            let Ok(Some(message)) = timeout(CALLS_APART, calls.next()).await else { continue };
            let Some(call) = call_of(&message) else { continue };
            if let Some(offered) = offer(broker, &mut calls, (&call, message), token).await? {
                return Ok(Some(offered));
            }
        }
        Ok(None)
    })
}

fn call_of(message: &Message) -> Option<Call> {
    message.reply.as_ref()?;
    serde_json::from_slice::<Call>(&message.payload).ok().filter(|call| call.nonce.len() == 32)
}

/// Answers a call until the first order comes, or nobody calls any more.
async fn offer(
    broker: &Broker,
    calls: &mut Subscriber,
    (call, message): (&Call, Message),
    token: &Token,
) -> Result<Option<Offered>, MeetError> {
    let answer = Answer::to(call, token);
    let [to, from] = subjects(call, &answer);
    let mut inbound = broker.subscribe(to).await?;
    let text = serde_json::to_vec(&answer).unwrap_or_default();
    let (mut reply, mut heard) = (message.reply, Instant::now());
    loop {
        if let Some(inbox) = reply.take() {
            let answering = broker.client.publish(inbox, text.clone().into());
            answering.await.map_err(|error| broker.failed(&error))?;
        }
        let again = tokio::select! {
            order = inbound.next() => match order {
                Some(order) => {
                    let rest = stream::iter([order]).chain(inbound);
                    let (from, to, _) = broker.open(rest, from);
                    let proof = answer.token_of_coordinator(call, token);
                    return Ok(Some(Offered { from, to, proof }));
                }
                None => return Ok(None),
            },
            again = timeout(TICK, calls.next()) => again,
        };
        if let Ok(Some(again)) = again
            && call_of(&again).as_ref() == Some(call)
        {
            (reply, heard) = (again.reply, Instant::now());
        }
        if heard.elapsed() > CALLED_MAX || broker.is_lost() {
            return Ok(None);
        }
    }
}

/// Where coordinators call.
const CALL: &str = "stampede.agents.call";
const TICK: Duration = Duration::from_millis(20);
const CALLS_APART: Duration = Duration::from_millis(300);
/// Without a further answer for so long, all have answered.
const QUIET: Duration = Duration::from_secs(1);
/// How long any agent is waited for.
const CALL_MAX: Duration = Duration::from_secs(10);
/// A coordinator that has not called for so long has enough agents, or is gone.
const CALLED_MAX: Duration = Duration::from_secs(3);
/// How long a broker may take to answer.
const CONNECT_MAX: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_of_an_address_may_have_any_letters() {
        let user = |name: &str, password: Option<&str>| {
            Some((name.to_owned(), password.map(str::to_owned)))
        };
        for (address, server, expected) in [
            ("nats://broker:4222", "nats://broker:4222", None),
            ("tls://me:p%40ss:w@broker", "tls://broker", user("me", Some("p@ss:w"))),
            ("nats://a@b:c@[::1]:4222", "nats://[::1]:4222", user("a@b", Some("c"))),
            ("nats://token@broker", "nats://broker", user("token", None)),
        ] {
            assert_eq!(split(address), (server.to_owned(), expected), "{address}");
        }
    }
}
