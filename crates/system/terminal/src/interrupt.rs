//! Ctrl-C: a command ends at its next step and cleans up; a second one ends it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::Failure;

/// A flag for signals that ask the command to end.
#[derive(Debug, Clone)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Takes SIGINT, SIGTERM and SIGHUP.
    ///
    /// # Errors
    /// When a handler cannot be installed.
    pub fn install() -> Result<Self, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: the first signal finds the flag down and only raises it, the second finds it up.
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&asked))
                .and_then(|_| flag::register(signal, Arc::clone(&asked)))
                .map_err(|error| Failure::new(format!("signal handling: {error}")))?;
        }
        Ok(Self(asked))
    }

    /// True once one has arrived.
    #[must_use]
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error once Ctrl-C was pressed.
    ///
    /// # Errors
    /// Then.
    pub fn check(&self) -> Result<(), Failure> {
        if self.asked() {
            Err(Failure::new("interrupted"))
        } else {
            Ok(())
        }
    }

    /// Waits for Ctrl-C.
    pub fn wait(&self) {
        while !self.asked() {
            thread::sleep(Duration::from_millis(100));
        }
    }
}
