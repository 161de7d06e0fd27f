//! Numbered frames through a link: each that is lost, comes twice or is changed is seen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bartizan_host::FrameSocket;
use bartizan_registry::ethertype::ECPRI;

use crate::stage::{DEVICE, LONG, Stage};

/// Frames that run from one end to the other until they are stopped.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    /// Until now.
    sent: Arc<AtomicU64>,
    sender: JoinHandle<u64>,
    receiver: JoinHandle<Arrived>,
}

/// Counts of received frames.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub(crate) frames: u64,
    pub(crate) lost: u64,
    pub(crate) out_of_order: u64,
    pub(crate) changed: u64,
}

const PAYLOAD: usize = 300;
const PACE: Duration = Duration::from_micros(500);
/// Silence that ends a test after all frames have come, and after a loss.
const QUIET: Duration = Duration::from_millis(300);
const LOST: Duration = Duration::from_secs(5);

impl Load {
    pub(crate) fn start(stage: &Stage, from: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let open = |end: usize| {
            let open = || FrameSocket::open(DEVICE, [2, 0, 0, 0, 9, end as u8], ECPRI).expect("a socket");
            stage.hosts[end].enter(open).expect("a namespace")
        };
        let (mut out, mut back) = (open(from), open(1 - from));
        let (stops, over) = (Arc::clone(&stop), Arc::new(AtomicBool::new(false)));
        let ended = Arc::clone(&over);
        let sent = Arc::new(AtomicU64::new(0));
        let [counts, counted] = [(); 2].map(|()| Arc::clone(&sent));
        let sender = std::thread::spawn(move || {
            let mut number = 0u64;
            while !stops.load(Ordering::Relaxed) {
                out.send(&payload(number)).expect("sent");
                number += 1;
                counts.store(number, Ordering::Relaxed);
                std::thread::sleep(PACE);
            }
            ended.store(true, Ordering::Release);
            number
        });
        let receiver = std::thread::spawn(move || {
            let (mut arrived, mut next, mut quiet) = (Arrived::default(), 0, None::<Instant>);
            loop {
                if let Some(frame) = back.receive().expect("received") {
                    quiet = None;
                    let (number, _) = frame.split_first_chunk().expect("a number");
                    let number = u64::from_be_bytes(*number);
                    arrived.frames += 1;
                    arrived.changed += u64::from(frame != payload(number));
                    match number.checked_sub(next) {
                        Some(missing) => {
                            arrived.lost += missing;
                            next = number + 1;
                        }
                        None => {
                            arrived.out_of_order += 1;
                            arrived.lost = arrived.lost.saturating_sub(1);
                        }
                    }
                    continue;
                }
                let since = *quiet.get_or_insert_with(Instant::now);
                if over.load(Ordering::Acquire) {
                    let is_all = arrived.frames >= counted.load(Ordering::Relaxed);
                    let enough = if is_all { QUIET } else { LOST };
                    if since.elapsed() > enough {
                        return arrived;
                    }
                }
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        Self {
            stop,
            sent,
            sender,
            receiver,
        }
    }

    /// Waits until so many were sent.
    pub(crate) fn until_sent(&self, least: u64) {
        let deadline = Instant::now() + LONG;
        while self.sent.load(Ordering::Relaxed) < least {
            assert!(Instant::now() < deadline && !self.sender.is_finished(), "no load");
            std::thread::sleep(PACE);
        }
    }

    /// Stops it; every frame that was sent has arrived once, in order and unchanged, or the test fails.
    pub(crate) fn end_without_loss(self, least: u64) -> u64 {
        self.until_sent(least);
        let (sent, arrived) = self.end();
        let whole = Arrived {
            frames: sent,
            ..Arrived::default()
        };
        assert_eq!(arrived, whole, "of {sent} frames");
        assert!(sent >= least, "{sent} frames are no load");
        sent
    }

    pub(crate) fn end(self) -> (u64, Arrived) {
        self.stop.store(true, Ordering::Relaxed);
        let sent = self.sender.join().expect("it did not panic");
        (sent, self.receiver.join().expect("it did not panic"))
    }
}

fn payload(number: u64) -> Vec<u8> {
    let mut payload = number.to_be_bytes().to_vec();
    payload.resize(PAYLOAD, number as u8);
    payload
}
