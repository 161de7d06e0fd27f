//! An event loop for what carries associations, which enters the kernel for data, to wait, and for nothing else.
//!
//! tokio reads the clock four times each time its thread wakes up, which is a system call each where the kernel gives programs no clock to
//! read (User-Mode Linux); a message wakes a sidecar once, and is two calls itself. This loop reads the clock once, and only where a task asks.
//! What is neither a socket nor a timer of tokio works here as it does there: its channels and locks wake tasks of any loop.

mod alarm;
mod source;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::io;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Instant;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};

pub(crate) use self::alarm::{Alarm, within};
use self::source::Source;
pub(crate) use self::source::{Registration, TcpStream};

/// Events that are taken from the kernel at once.
const EVENTS: usize = 256;
/// Turns of tasks that wake one another before the kernel is asked what has come.
const BATCHES: usize = 16;
/// Tasks that share one reading of the clock.
pub(super) const RUSH: usize = 32;
/// The number of what rings from other threads.
const BELL: u64 = 0;

thread_local! {
    /// The loop that this thread runs.
    static HERE: RefCell<Option<Reactor>> = const { RefCell::new(None) };
    /// When the turn began, once somebody has asked.
    static NOW: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// A loop, which its thread runs until [`Thread`] is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Reactor(Arc<Core>);

/// The thread of a loop. What it runs is dropped with this.
#[derive(Debug)]
pub(crate) struct Thread(Reactor);

#[derive(Debug)]
struct Core {
    epoll: Epoll,
    bell: EventFd,
    /// It rings, and the loop has not heard it yet.
    rung: AtomicBool,
    ends: AtomicBool,
    /// Of sources, tasks and alarms.
    next: AtomicU64,
    sources: Mutex<HashMap<u64, Arc<Source>>>,
    tasks: Mutex<HashMap<u64, Arc<Task>>>,
    ready: Mutex<Vec<Arc<Task>>>,
    alarms: Mutex<BTreeMap<(Instant, u64), Waker>>,
}

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Task {
    number: u64,
    reactor: Reactor,
    work: Mutex<Option<Work>>,
    queued: AtomicBool,
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// What is held for a few instructions, by one thread nearly always.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The time, as it was when somebody asked first in this turn of a loop.
pub(crate) fn now() -> Instant {
    let here = HERE.with_borrow(Option::is_some);
    if !here {
        return Instant::now();
    }
    NOW.get().unwrap_or_else(|| {
        let now = Instant::now();
        NOW.set(Some(now));
        now
    })
}

/// Has the clock read again: a turn has taken time, which nobody may take for silence of a peer.
pub(crate) fn look_again() {
    NOW.set(None);
}

impl Thread {
    /// Starts a loop in a thread of its own, which inherits what the calling thread is confined to.
    ///
    /// # Errors
    /// Where the system gives no descriptors or no thread.
    pub(crate) fn start(name: &str) -> io::Result<Self> {
        let core = Core {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            bell: EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?,
            rung: AtomicBool::new(false),
            ends: AtomicBool::new(false),
            next: AtomicU64::new(BELL + 1),
            sources: Mutex::default(),
            tasks: Mutex::default(),
            ready: Mutex::default(),
            alarms: Mutex::default(),
        };
        core.epoll.add(&core.bell, EpollEvent::new(EpollFlags::EPOLLIN, BELL))?;
        let reactor = Reactor(Arc::new(core));
        let running = reactor.clone();
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || running.run())?;
        Ok(Self(reactor))
    }

    pub(crate) const fn reactor(&self) -> &Reactor {
        &self.0
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.0.0.ends.store(true, Ordering::SeqCst);
        self.0.ring();
    }
}

impl Reactor {
    /// The loop of the calling thread.
    ///
    /// # Errors
    /// Where the thread runs none.
    pub(crate) fn here() -> io::Result<Self> {
        HERE.with_borrow(Clone::clone)
            .ok_or_else(|| io::Error::other("this thread has no event loop for associations"))
    }

    /// Has the loop run it.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let work: Work = Box::pin(work);
        let task = Arc::new(Task {
            number: self.number(),
            reactor: self.clone(),
            work: Mutex::new(Some(work)),
            queued: AtomicBool::new(false),
        });
        lock(&self.0.tasks).insert(task.number, Arc::clone(&task));
        task.wake();
    }

    /// Watches a descriptor that does not block: for what comes, and for room where it is wanted. Both count as there until they were not.
    ///
    /// # Errors
    /// Where the kernel watches no descriptor more.
    pub(crate) fn register(&self, io: impl AsFd, room: bool) -> io::Result<Registration> {
        let number = self.number();
        let source = Arc::new(Source::default());
        lock(&self.0.sources).insert(number, Arc::clone(&source));
        let registration = Registration::new(self.clone(), number, source);
        self.0.epoll.add(io, EpollEvent::new(interest(room), number))?;
        Ok(registration)
    }

    fn number(&self) -> u64 {
        self.0.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Has the loop take a turn, if another thread asks.
    fn ring(&self) {
        let here = HERE.with_borrow(|here| here.as_ref().is_some_and(|here| Arc::ptr_eq(&here.0, &self.0)));
        if !here && !self.0.rung.swap(true, Ordering::SeqCst) {
            let _ = self.0.bell.write(1);
        }
    }

    fn run(self) {
        HERE.set(Some(self.clone()));
        let mut events = vec![EpollEvent::empty(); EVENTS];
        let mut batch = Vec::new();
        while !self.0.ends.load(Ordering::SeqCst) {
            // One that is woken by another has its turn before the kernel is asked again.
            for _ in 0..BATCHES {
                std::mem::swap(&mut batch, &mut *lock(&self.0.ready));
                if batch.is_empty() {
                    break;
                }
                for (index, task) in batch.drain(..).enumerate() {
                    task.turn();
                    if index % RUSH == RUSH - 1 {
                        look_again();
                    }
                }
            }
            if let Some(now) = NOW.get() {
                self.ring_alarms(now);
            }
            let timeout = self.timeout();
            let happened = match self.0.epoll.wait(&mut events, timeout) {
                Ok(happened) => happened,
                Err(nix::errno::Errno::EINTR) => 0,
                Err(error) => {
                    tracing::error!(%error, hint = "restart the sidecar", "associations are no longer carried");
                    break;
                }
            };
            NOW.set(None);
            for event in &events[..happened] {
                self.report(*event);
            }
            if happened == 0 {
                self.ring_alarms(now());
            }
        }
        // Tasks hold the loop, and the loop holds them.
        let tasks = std::mem::take(&mut *lock(&self.0.tasks));
        for task in tasks.into_values() {
            drop(lock(&task.work).take());
        }
        lock(&self.0.ready).clear();
        lock(&self.0.alarms).clear();
        lock(&self.0.sources).clear();
        HERE.set(None);
    }

    fn report(&self, event: EpollEvent) {
        if event.data() == BELL {
            let _ = self.0.bell.read();
            self.0.rung.store(false, Ordering::SeqCst);
            return;
        }
        let source = lock(&self.0.sources).get(&event.data()).cloned();
        if let Some(source) = source {
            source.report(event.events());
        }
    }

    /// How long to wait for events.
    fn timeout(&self) -> EpollTimeout {
        if !lock(&self.0.ready).is_empty() {
            return EpollTimeout::ZERO;
        }
        let first = lock(&self.0.alarms).first_key_value().map(|((due, _), _)| *due);
        let Some(due) = first else {
            return EpollTimeout::NONE;
        };
        // Rounded up: not a moment too early, which would be one turn for nothing.
        let wait = due.saturating_duration_since(now()).as_micros().div_ceil(1000);
        EpollTimeout::try_from(wait).unwrap_or(EpollTimeout::MAX)
    }

    fn ring_alarms(&self, now: Instant) {
        let mut alarms = lock(&self.0.alarms);
        let later = alarms.split_off(&(now, u64::MAX));
        let due = std::mem::replace(&mut *alarms, later);
        drop(alarms);
        due.into_values().for_each(Waker::wake);
    }
}

/// The events that are asked for. Each is reported once, when it comes.
fn interest(room: bool) -> EpollFlags {
    let incoming = EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
    if room {
        incoming | EpollFlags::EPOLLOUT
    } else {
        incoming
    }
}

impl Task {
    fn turn(self: Arc<Self>) {
        // Whoever wakes it from here on wakes it for the next turn.
        self.queued.store(false, Ordering::SeqCst);
        let mut work = lock(&self.work);
        let Some(future) = work.as_mut() else { return };
        let waker = Waker::from(Arc::clone(&self));
        let polled = catch_unwind(AssertUnwindSafe(|| {
            future.as_mut().poll(&mut Context::from_waker(&waker))
        }));
        if !matches!(polled, Ok(std::task::Poll::Pending)) {
            // What it holds is dropped without the lock: it may wake this task.
            let done = work.take();
            drop(work);
            drop(done);
            lock(&self.reactor.0.tasks).remove(&self.number);
        }
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        if !self.queued.swap(true, Ordering::SeqCst) {
            let reactor = self.reactor.clone();
            lock(&reactor.0.ready).push(self);
            reactor.ring();
        }
    }
}

#[cfg(test)]
mod tests;
