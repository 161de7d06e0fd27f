//! Client of an NRF. It keeps one connection or opens one for each request, and sends one request
//! at a time or many.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use super::channel::Silence;
use super::{Channel, Error, Question, Said, Target};

/// Maximum number of retries of a request that an NRF has not processed: free5GC ends idle
/// connections after a millisecond.
const AGAIN: u32 = 5;

/// Reuse of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connections {
    /// One for all questions.
    Kept,
    /// A new one for each, whose opening counts.
    New,
}

impl Connections {
    /// The levels of the factor `connection`.
    pub const LEVELS: [&'static str; 2] = ["kept", "new"];

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "kept" => Some(Self::Kept),
            "new" => Some(Self::New),
            _ => None,
        }
    }
}

/// A question and its answer.
#[derive(Debug, Clone)]
pub struct Exchanged {
    /// The answer.
    pub said: Said,
    /// From just before the question was sent (or its connection opened, where that is new) until the answer was whole.
    pub took: Duration,
    /// Time at which it began.
    pub began: Instant,
    /// Time to open its connection, if new.
    pub opening: Option<Duration>,
}

/// Client of an NRF, on the calling thread.
#[derive(Debug)]
pub struct Client {
    runtime: Runtime,
    target: Target,
    connections: Connections,
    kept: Option<Arc<Channel>>,
    opened: u64,
}

impl Client {
    /// One that has not connected yet.
    ///
    /// # Errors
    /// Fails if no runtime can be started.
    pub fn new(target: Target, connections: Connections) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(Self {
            runtime: runtime.map_err(Error::io("starting a client"))?,
            target,
            connections,
            kept: None,
            opened: 0,
        })
    }

    /// The target it goes.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Connections it has opened.
    #[must_use]
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// Asks one question.
    ///
    /// # Errors
    /// Fails if there is no whole response. The caller judges its content.
    pub fn exchange(&mut self, question: &Question) -> Result<Exchanged, Error> {
        let Self {
            runtime,
            target,
            connections,
            kept,
            opened,
        } = self;
        runtime.block_on(async {
            let began = Instant::now();
            let mut opening = None;
            let mut again = 0;
            loop {
                let channel = match kept.take() {
                    Some(channel) => channel,
                    None => {
                        let opens = Instant::now();
                        let channel = Channel::open(target).await?;
                        *opened += 1;
                        opening = Some(opens.elapsed());
                        Arc::new(channel)
                    }
                };
                let said = match channel.ask(question).await {
                    Ok(said) => said,
                    Err(Silence::Unprocessed(_)) if again < AGAIN => {
                        again += 1;
                        continue;
                    }
                    Err(silence) => return Err(silence.into()),
                };
                let took = began.elapsed();
                match connections {
                    Connections::Kept => *kept = Some(channel),
                    // Not counted: a function closes what it has no use for at its leisure.
                    Connections::New => close(channel).await,
                }
                return Ok(Exchanged {
                    said,
                    took,
                    began,
                    opening,
                });
            }
        })
    }

    /// Asks the same question so often, with so many under way at once, each judged by `judge`; how long each took.
    ///
    /// # Errors
    /// The first question without a whole answer, or whose answer is judged wrong.
    pub fn load(
        &mut self,
        question: &Arc<Question>,
        streams: usize,
        count: usize,
        judge: fn(&Question, &Said, &str) -> Result<(), Error>,
    ) -> Result<Vec<Duration>, Error> {
        let url = self.target.url.clone();
        let channel = self.channel()?;
        self.runtime.block_on(async {
            let left = Arc::new(std::sync::atomic::AtomicUsize::new(count));
            let mut workers = tokio::task::JoinSet::new();
            for _ in 0..streams.min(count) {
                let (channel, question, left) = (Arc::clone(&channel), Arc::clone(question), Arc::clone(&left));
                let url = url.clone();
                workers.spawn(async move {
                    use std::sync::atomic::Ordering::Relaxed;
                    let mut took = Vec::new();
                    while left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
                        let began = Instant::now();
                        let said = channel.ask(&question).await?;
                        took.push(began.elapsed());
                        judge(&question, &said, &url)?;
                    }
                    Ok::<_, Error>(took)
                });
            }
            let mut took = Vec::with_capacity(count);
            while let Some(worker) = workers.join_next().await {
                // A worker is never cancelled; its panic is ours.
                let worker = worker.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
                took.extend(worker?);
            }
            Ok(took)
        })
    }

    /// Asks the same question `rate` times a second for so long, whether or not answers come: how
    /// long each took from the moment it was due. One that was due while too many are under way is
    /// not asked and counts as taking for ever, which the second number counts.
    ///
    /// # Errors
    /// As [`Client::load`].
    pub fn stream(
        &mut self,
        question: &Arc<Question>,
        rate: f64,
        lasting: Duration,
        judge: fn(&Question, &Said, &str) -> Result<(), Error>,
    ) -> Result<(Vec<Duration>, u64), Error> {
        /// Under target at once: beyond it the NRF is behind by whatever the bound is.
        const MOST: usize = 512;
        let url = self.target.url.clone();
        let channel = self.channel()?;
        let count = (rate * lasting.as_secs_f64()).ceil().max(1.0);
        self.runtime.block_on(async {
            let begin = Instant::now();
            let (mut took, mut dropped) = (Vec::new(), 0);
            let mut asked = tokio::task::JoinSet::new();
            let mut number = 0.0;
            while number < count {
                let due = begin + Duration::from_secs_f64(number / rate);
                number += 1.0;
                until(due).await;
                while let Some(done) = asked.try_join_next() {
                    took.push(joined(done)?);
                }
                if asked.len() >= MOST {
                    dropped += 1;
                    continue;
                }
                let (channel, question, url) = (Arc::clone(&channel), Arc::clone(question), url.clone());
                asked.spawn(async move {
                    let said = channel.ask(&question).await?;
                    let took = due.elapsed();
                    judge(&question, &said, &url)?;
                    Ok::<_, Error>(took)
                });
            }
            while let Some(done) = asked.join_next().await {
                took.push(joined(done)?);
            }
            Ok((took, dropped))
        })
    }

    fn channel(&mut self) -> Result<Arc<Channel>, Error> {
        if let Some(kept) = &self.kept {
            return Ok(Arc::clone(kept));
        }
        let channel = Arc::new(self.runtime.block_on(Channel::open(&self.target))?);
        self.opened += 1;
        self.kept = Some(Arc::clone(&channel));
        Ok(channel)
    }

    /// Closes the connection that is kept; the next question opens another.
    pub fn hang_up(&mut self) {
        if let Some(channel) = self.kept.take() {
            self.runtime.block_on(close(channel));
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A socket that is only dropped would leave the NRF's side to find out.
        self.hang_up();
    }
}

async fn close(channel: Arc<Channel>) {
    if let Some(channel) = Arc::into_inner(channel) {
        channel.close().await;
    }
}

fn joined(done: Result<Result<Duration, Error>, tokio::task::JoinError>) -> Result<Duration, Error> {
    done.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

/// The timer wakes by the millisecond; what is left is spent letting others run.
async fn until(due: Instant) {
    const SLACK: Duration = Duration::from_millis(2);
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        if left > SLACK {
            tokio::time::sleep(left - SLACK).await;
        } else {
            tokio::task::yield_now().await;
        }
    }
}
