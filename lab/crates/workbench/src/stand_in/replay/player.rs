//! The network functions that call.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime;
use tokio::task::JoinSet;

use super::channel::{Channel, Silence};
use super::clock::Clock;
use super::record::{ConnectionRecord, Fault, Outcome, RequestRecord, microseconds};
use super::{Error, Targets};
use crate::Exchange;
use crate::stand_in::exchange::{Answer, Connection, Request};

/// Maximum number of retries of a request that the server refused unprocessed.
const RETRIES: u32 = 5;

/// Timing of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speed {
    /// Connections are opened and closed and requests sent when they were in the recording; a request that waited
    /// there for the one before it on its connection waits here too.
    Recorded,
    /// One connection after the other, each request as soon as the one before it is answered.
    AsFastAsPossible,
}

/// Plays the callers of an exchange against these targets, on the calling thread and from its network namespace.
///
/// Every recorded connection is opened, also those on which the recorded server refused everything. A request that was
/// refused unprocessed in the recording is not sent: the core sent it again on another connection, and that one is
/// played. A request that is refused unprocessed *now* is sent again on a new connection, as Go's client does.
///
/// Must not be called from inside an asynchronous runtime.
///
/// # Errors
///
/// Fails if a network function of the exchange has no target, or a runtime cannot be started. Later
/// faults are in [`Outcome::faults`].
pub fn play(exchange: &Exchange, targets: &Targets, speed: Speed) -> Result<Outcome, Error> {
    let mut parts = Vec::with_capacity(exchange.connections().len());
    for (number, connection) in exchange.connections().iter().enumerate() {
        let Some(&target) = targets.get(&connection.server) else {
            return Err(Error::NoAddress {
                server: connection.server.clone(),
            });
        };
        parts.push(Part {
            number,
            connection: connection.clone(),
            target,
        });
    }
    let starting = || Error::io("starting the player");
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(starting())?;
    let clock = Clock::start().map_err(starting())?;
    let stage = Arc::new(Stage {
        clock,
        speed,
        begun: Instant::now(),
    });
    let played = runtime.block_on(async {
        let mut played = Vec::with_capacity(parts.len());
        match speed {
            Speed::AsFastAsPossible => {
                for part in parts {
                    played.push(part.play(Arc::clone(&stage)).await);
                }
            }
            Speed::Recorded => {
                let mut tasks: JoinSet<Played> = parts.into_iter().map(|part| part.play(Arc::clone(&stage))).collect();
                while let Some(task) = tasks.join_next().await {
                    // A task is never cancelled; its panic is ours.
                    played.push(task.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())));
                }
                played.sort_by_key(|part| part.number);
            }
        }
        played
    });
    let duration_us = microseconds(stage.begun.elapsed());
    let mut outcome = Outcome {
        requests: Vec::new(),
        connections: Vec::new(),
        faults: Vec::new(),
        duration_us,
    };
    for part in played {
        outcome.requests.extend(part.requests);
        outcome.connections.extend(part.connections);
        outcome.faults.extend(part.faults);
    }
    Ok(outcome)
}

/// State shared by all connections.
struct Stage {
    clock: Clock,
    speed: Speed,
    begun: Instant,
}

impl Stage {
    async fn until(&self, offset: Duration) {
        if self.speed == Speed::Recorded {
            self.clock.until(self.begun + offset).await;
        }
    }
}

/// One connection to be played.
struct Part {
    number: usize,
    connection: Connection,
    target: SocketAddr,
}

/// Result of a connection.
#[derive(Default)]
struct Played {
    number: usize,
    requests: Vec<RequestRecord>,
    connections: Vec<ConnectionRecord>,
    faults: Vec<Fault>,
}

impl Part {
    async fn play(self, stage: Arc<Stage>) -> Played {
        let mut played = Played {
            number: self.number,
            ..Played::default()
        };
        stage.until(self.connection.opened).await;
        let mut channel = self.open(&stage, false, &mut played).await;
        for (index, request) in self.connection.requests.iter().enumerate() {
            let Some(recorded) = &request.answer else { continue };
            stage.until(request.sent).await;
            match self.ask(&stage, &mut channel, request, &mut played).await {
                Ok(reply) => match difference(recorded, &reply.answer) {
                    None => played.requests.push(self.record(&stage, index, request, &reply)),
                    Some(what) => played.faults.push(self.fault(Some(request), what)),
                },
                Err(what) => played.faults.push(self.fault(Some(request), what)),
            }
        }
        if let Some(closed) = self.connection.closed {
            stage.until(closed).await;
        }
        if let Some(channel) = channel {
            channel.close().await;
        }
        played
    }

    /// Opens the connection, and notes it or why not.
    async fn open(&self, stage: &Stage, again: bool, played: &mut Played) -> Option<Channel> {
        let opened_us = microseconds(stage.begun.elapsed());
        match Channel::open(self.target).await {
            Ok(channel) => {
                played.connections.push(ConnectionRecord {
                    connection: self.number,
                    server: self.connection.server.clone(),
                    again,
                    opened_us,
                    setup_us: microseconds(channel.setup),
                });
                Some(channel)
            }
            Err(what) => {
                played.faults.push(self.fault(None, what));
                None
            }
        }
    }

    async fn ask(
        &self,
        stage: &Stage,
        channel: &mut Option<Channel>,
        request: &Request,
        played: &mut Played,
    ) -> Result<Reply, String> {
        let mut refused = 0;
        loop {
            let Some(open) = channel else {
                return Err("there is no connection".to_owned());
            };
            match open.ask(request).await {
                Ok(answer) => return Ok(Reply { answer, refused }),
                Err(Silence::Unprocessed(_)) if refused < RETRIES => {
                    refused += 1;
                    if let Some(channel) = channel.take() {
                        channel.close().await;
                    }
                    *channel = self.open(stage, true, played).await;
                }
                Err(Silence::Unprocessed(what)) => return Err(format!("refused {} times: {what}", refused + 1)),
                Err(Silence::Failed(what)) => return Err(what),
            }
        }
    }

    fn record(&self, stage: &Stage, index: usize, request: &Request, reply: &Reply) -> RequestRecord {
        let latency = reply.answer.complete;
        RequestRecord {
            connection: self.number,
            request: index,
            server: self.connection.server.clone(),
            consumer: request.consumer.clone(),
            method: request.method.to_string(),
            path: request.path.to_string(),
            status: reply.answer.status.as_u16(),
            sent_us: microseconds(stage.begun.elapsed().saturating_sub(latency)),
            latency_us: microseconds(latency),
            think_us: microseconds(request.think().unwrap_or_default()),
            refused: reply.refused,
        }
    }

    fn fault(&self, request: Option<&Request>, what: String) -> Fault {
        Fault {
            connection: self.number,
            server: self.connection.server.clone(),
            request: request.map(|request| format!("{} {}", request.method, request.path)),
            what,
        }
    }
}

struct Reply {
    answer: Answer,
    refused: u32,
}

/// Difference of an answer from the recorded one: in status, body, or a header field that is
/// missing or changed. Fields may be added on the way.
fn difference(recorded: &Answer, got: &Answer) -> Option<String> {
    if recorded.status != got.status {
        return Some(format!(
            "status {} instead of {}",
            got.status.as_u16(),
            recorded.status.as_u16()
        ));
    }
    if recorded.body != got.body {
        let same = recorded
            .body
            .iter()
            .zip(&got.body)
            .take_while(|(one, other)| one == other)
            .count();
        let (got, recorded) = (got.body.len(), recorded.body.len());
        return Some(format!(
            "body of {got} bytes differs from the recorded {recorded} bytes at byte {same}"
        ));
    }
    let mut names = recorded.headers.keys();
    let all = |headers: &http::HeaderMap, name| headers.get_all(name).iter().cloned().collect::<Vec<_>>();
    let name = names.find(|name| all(&recorded.headers, *name) != all(&got.headers, *name))?;
    Some(format!("header field {name} is missing or changed"))
}
