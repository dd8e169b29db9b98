//! Agents that wait at a NATS broker. The coordinator calls, those that are free answer, and each one
//! gets two subjects, one for each direction.

use std::collections::BTreeMap;
use std::env::var;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::{Client, ConnectOptions, Event, Message, Subscriber};
use futures_util::{Stream, StreamExt as _, stream};
use percent_encoding::percent_decode_str;
use stampede_model::agent_places::Meeting;
use stampede_model::stop::Stop;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::time::timeout;

use super::pipe::{self, Closer, PipeReader, PipeWriter, Seal};
use super::serve::Offered;
use super::{Answer, Call, Come, GATHER_MAX, Joined, MeetError, Side, Token, is_nonce, shown};
use crate::causes::with_causes;
use crate::message::VERSION;

/// A connection to a broker, and the thread that keeps it.
pub(crate) struct Broker {
    client: Client,
    lost: watch::Receiver<bool>,
    /// What the broker refused last, such as a subject.
    refused: Arc<Mutex<Option<String>>>,
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
        let refused: Arc<Mutex<Option<String>>> = Arc::default();
        let said = Arc::clone(&refused);
        let happened = move |event| {
            if let Event::ServerError(error) = &event {
                *said.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
            }
            // Whatever was on its way may be lost, so the connections over it have ended.
            let is_gone = matches!(event, Event::Disconnected | Event::Closed);
            let _ = is_gone.then(|| gone.send(true));
            async {}
        };
        let connecting = async {
            let (server, user) = split(&meeting.address);
            let options = options(user).await.map_err(|error| error.to_string())?;
            let options = options.name("stampede").connection_timeout(CONNECT_MAX);
            let options = options.ping_interval(PINGS_APART).event_callback(happened);
            let connected = timeout(2 * CONNECT_MAX, options.connect(server.as_str()));
            let connected = connected.await.map_err(|_| "it does not answer".to_owned())?;
            connected.map_err(|error| with_causes(&error))
        };
        let client = runtime.block_on(connecting).map_err(failed)?;
        Ok(Broker { client, lost, refused, place, runtime })
    }

    pub(super) fn is_lost(&self) -> bool {
        *self.lost.borrow()
    }

    /// Whether the broker refuses what agents and coordinators need.
    fn check(&self) -> Result<(), MeetError> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let lost = self.is_lost().then(|| "the connection was lost".to_owned());
        match refused.or(lost) {
            Some(message) => Err(MeetError::Broker { place: self.place.clone(), message }),
            None => Ok(()),
        }
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
        to: (String, Seal),
    ) -> (PipeReader, PipeWriter, Closer) {
        pipe::open(self.runtime.handle(), &self.client, inbound, to, self.lost.clone())
    }
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
    for answer in answers {
        let [to, from] = subjects(&call, &answer);
        let inbound = broker.runtime.block_on(broker.subscribe(from))?;
        let sides = (Side::Coordinator, Side::Agent);
        let seal = Seal::new(token, sides, &call.nonce, &answer.nonce);
        let (from, to, close) = broker.open(inbound, (to, seal));
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
) -> Result<Vec<Answer>, MeetError> {
    let inbox = broker.client.new_inbox();
    let mut inbound = broker.subscribe(inbox.clone()).await?;
    let text = serde_json::to_vec(call).unwrap_or_default();
    let mut come: BTreeMap<String, (Answer, Instant)> = BTreeMap::new();
    let (mut has_strangers, mut version) = (false, None);
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
                    version = Some((shown(&answer.host), answer.version));
                }
                Ok(answer) if answer.fits(call, token) => {
                    let heard = Instant::now();
                    if come.insert(answer.nonce.clone(), (answer, heard)).is_none() {
                        last = heard;
                    }
                }
                _ => has_strangers = true,
            }
        }
        if stop.is_asked() {
            return Err(MeetError::Stopped);
        }
        // Each call is answered again: an agent that does not has gone.
        come.retain(|_, (_, heard)| heard.elapsed() < GONE_AFTER);
        let most = if meeting.agents.is_some() { GATHER_MAX } else { CALL_MAX };
        let is_enough = match meeting.agents {
            Some(wanted) => come.len() >= wanted as usize,
            None => !come.is_empty() && (last.elapsed() > QUIET || begun.elapsed() > most),
        };
        if is_enough {
            let wanted = meeting.agents.unwrap_or(u32::MAX) as usize;
            return Ok(come.into_values().map(|(answer, _)| answer).take(wanted).collect());
        }
        broker.check()?;
        if begun.elapsed() > most {
            return Err(match version {
                Some((host, version)) => MeetError::Version { host, version },
                None => missing(meeting, come.len(), has_strangers, most),
            });
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

/// Waits at a broker until a coordinator calls, and is offered the orders. `None`: asked to stop, or
/// the broker is lost.
pub(super) fn wait(
    broker: &Broker,
    token: &Token,
    (stop, most): (&Stop, Option<Duration>),
) -> Result<Option<Offered>, MeetError> {
    let begun = Instant::now();
    broker.runtime.block_on(async {
        // Subscribed to anew each time, so that no call of earlier is answered.
        let mut calls = broker.subscribe(CALL.to_owned()).await?;
        while !stop.is_asked() && most.is_none_or(|most| begun.elapsed() < most) {
            broker.check()?;
            let Ok(Some(message)) = timeout(CALLS_APART, calls.next()).await else { continue };
            let Some(call) = call_of(&message) else { continue };
            // The client connects again by itself, and hears calls; but this broker counts as lost.
            broker.check()?;
            if let Some(offered) =
                offer(broker, &mut calls, (&call, message), (token, stop)).await?
            {
                return Ok(Some(offered));
            }
        }
        Ok(None)
    })
}

fn call_of(message: &Message) -> Option<Call> {
    message.reply.as_ref()?;
    serde_json::from_slice::<Call>(&message.payload).ok().filter(|call| is_nonce(&call.nonce))
}

/// Answers a call until the first order comes, or nobody calls any more.
async fn offer(
    broker: &Broker,
    calls: &mut Subscriber,
    (call, message): (&Call, Message),
    (token, stop): (&Token, &Stop),
) -> Result<Option<Offered>, MeetError> {
    let answer = Answer::to(call, token);
    let [to, from] = subjects(call, &answer);
    let mut inbound = broker.subscribe(to).await?;
    let seal = Seal::new(token, (Side::Agent, Side::Coordinator), &call.nonce, &answer.nonce);
    let text = serde_json::to_vec(&answer).unwrap_or_default();
    let (mut reply, mut heard) = (message.reply, Instant::now());
    loop {
        if let Some(inbox) = reply.take() {
            let answering = broker.client.publish(inbox, text.clone().into());
            answering.await.map_err(|error| broker.failed(&error))?;
        }
        let again = tokio::select! {
            order = inbound.next() => match order {
                Some(order) if seal.open(&order.payload).is_some() => {
                    broker.check()?;
                    let rest = stream::iter([order]).chain(inbound);
                    let (from, to, close) = broker.open(rest, (from, seal));
                    let proof = answer.token_of_coordinator(call, token);
                    let (from, to) = (Box::new(from), Box::new(to));
                    return Ok(Some(Offered { from, to, close, proof }));
                }
                // Somebody else writes here.
                Some(_) => continue,
                None => return Ok(None),
            },
            again = timeout(TICK, calls.next()) => again,
        };
        if let Ok(Some(again)) = again
            && call_of(&again).as_ref() == Some(call)
        {
            (reply, heard) = (again.reply, Instant::now());
        }
        if heard.elapsed() > CALLED_MAX || stop.is_asked() {
            return Ok(None);
        }
        broker.check()?;
    }
}

/// Where coordinators call.
const CALL: &str = "stampede.agents.call";
const TICK: Duration = Duration::from_millis(20);
const CALLS_APART: Duration = Duration::from_millis(300);
/// Without a further answer for so long, all have answered.
const QUIET: Duration = Duration::from_secs(1);
/// An agent that has not answered the last calls has gone.
const GONE_AFTER: Duration = Duration::from_millis(1_500);
/// How often a silent broker is asked whether it is there.
const PINGS_APART: Duration = Duration::from_secs(5);
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
