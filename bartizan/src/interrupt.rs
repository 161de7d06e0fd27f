//! Ctrl-C: a command ends at its next step and cleans up; a second one ends it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::Failure;

#[derive(Clone)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    pub(crate) fn install() -> Result<Self, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: the first signal finds the flag down and only raises it, the second finds it up.
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&asked))
                .and_then(|_| flag::register(signal, Arc::clone(&asked)))
                .map_err(|error| Failure::new(format!("signal handling: {error}")))?;
        }
        Ok(Self(asked))
    }

    pub(crate) fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error once Ctrl-C was pressed.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.asked() {
            Err(Failure::new("interrupted"))
        } else {
            Ok(())
        }
    }

    /// Until Ctrl-C.
    pub(crate) fn wait(&self) {
        while !self.asked() {
            thread::sleep(Duration::from_millis(100));
        }
    }
}
