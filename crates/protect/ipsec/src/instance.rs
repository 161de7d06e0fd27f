//! A charon of our own: started with its own configuration, socket and directory, and nothing of it left afterwards.

mod engine;
mod kernel;
mod settings;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::{Namespace, Process, private_directory};

pub use engine::Engine;
pub use kernel::Kernel;
pub use settings::Settings;

use crate::vici::{self, Client, Section};

/// Time limit from charon's start to its first answer: 50 ms on an idle machine.
const START: Duration = Duration::from_secs(60);

/// Interval between requests to a charon that is starting.
const POLL: Duration = Duration::from_millis(5);

/// Time limit for charon to delete its SAs and end.
const GRACE: Duration = Duration::from_secs(10);

const SOCKET: &str = "charon.vici";
const CONFIGURATION: &str = "strongswan.conf";
const LOG: &str = "charon.log";

/// Content of the file that a Bartizan engine locks.
const WITHOUT: &str = "# The engine of Bartizan is configured through its socket.\n";

/// Why an instance did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The environment: program, privileges, processes.
    #[error(transparent)]
    Host(#[from] bartizan_host::Error),
    /// The environment: a file or directory.
    #[error("{action}: {source}")]
    Io {
        /// The attempted action.
        action: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// It runs and does not answer.
    #[error("charon started and does not answer: {0}")]
    Vici(#[from] vici::Error),
    /// It ended instead; these are its last lines.
    #[error("charon ended when it started: {0}")]
    Ended(String),
    /// The environment: another instance has this directory.
    #[error("{} belongs to another charon, which is running", .0.display())]
    Taken(PathBuf),
}

/// A running charon that ends with this value: its SAs are deleted, its directory is removed.
#[derive(Debug)]
pub struct Instance {
    process: Option<Process>,
    directory: PathBuf,
    /// Locked as long as charon is ours: two that start at once cannot both have the directory.
    _configuration: File,
}

impl Instance {
    /// Starts charon in `directory`, which is made (0700), must be ours alone and must not hold a living charon, inside `namespace` or in ours, and
    /// waits for its first answer.
    ///
    /// # Errors
    ///
    /// See [`StartError`]; nothing is left of a start that failed.
    pub fn start(
        engine: &Engine,
        directory: &Path,
        namespace: Option<&Namespace>,
        settings: &Settings,
    ) -> Result<Self, StartError> {
        let socket = directory.join(SOCKET);
        let failed = |action: &str| {
            let action = format!("{action} {}", directory.display());
            move |source| StartError::Io { action, source }
        };
        private_directory(directory)?;
        // Any process that can read the file could lock it.
        let configuration = File::options()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(directory.join(CONFIGURATION))
            .map_err(failed("writing in"))?;
        configuration
            .set_permissions(fs::Permissions::from_mode(0o600))
            .map_err(failed("writing in"))?;
        if configuration.try_lock().is_err() {
            return Err(StartError::Taken(directory.to_owned()));
        }
        let inside = engine.sees(directory);
        let text = match engine {
            Engine::Bartizan(_) => WITHOUT.to_owned(),
            _ => settings.render(&inside.join(SOCKET), &inside.join(LOG)),
        };
        let written = configuration
            .set_len(0)
            .and_then(|()| (&configuration).write_all(text.as_bytes()));
        let mut instance = Self {
            process: None,
            directory: directory.to_owned(),
            _configuration: configuration,
        };
        written.map_err(failed("writing in"))?;
        // A charon that was killed leaves its socket behind.
        match fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed("clearing")(error)),
            _ => {}
        }
        let program = engine
            .program(directory, settings)?
            .environment("STRONGSWAN_CONF", inside.join(CONFIGURATION))
            .environment("LC_ALL", "C");
        let program = match namespace {
            Some(namespace) => program.inside(namespace),
            None => program,
        };
        instance.process = Some(program.start()?);
        instance.wait()?;
        Ok(instance)
    }

    /// Until it answers: the socket is there a moment before charon serves it.
    fn wait(&mut self) -> Result<(), StartError> {
        let deadline = Instant::now() + START;
        loop {
            if let Some(process) = &mut self.process
                && process.ended()?.is_some()
            {
                let tail = process.tail();
                let log = fs::read_to_string(self.log()).unwrap_or_default();
                let last = log.lines().last().unwrap_or_default();
                let tail = if tail.is_empty() { last.to_owned() } else { tail };
                return Err(StartError::Ended(tail));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let answer = self
                .client(left.max(POLL))
                .and_then(|mut client| client.request("version", Section::new()));
            match answer {
                Ok(_) => return Ok(()),
                Err(error) if left.is_zero() || !error.is_absence() => return Err(error.into()),
                Err(_) => thread::sleep(POLL),
            }
        }
    }

    /// Its VICI socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.join(SOCKET)
    }

    /// Its log.
    pub fn log(&self) -> PathBuf {
        self.directory.join(LOG)
    }

    /// A connection to it.
    ///
    /// # Errors
    ///
    /// Fails if it does not listen any more.
    pub fn client(&self, patience: Duration) -> Result<Client, vici::Error> {
        Client::connect(&self.socket(), patience)
    }

    /// Its process: for signals, and to see whether it still runs.
    pub fn process(&mut self) -> Option<&mut Process> {
        self.process.as_mut()
    }

    /// Ends it: its SAs are deleted at both ends, its directory is removed.
    ///
    /// # Errors
    ///
    /// When the kernel does not say how it ended.
    pub fn stop(mut self) -> Result<(), StartError> {
        if let Some(process) = self.process.take() {
            process.terminate(GRACE)?;
        }
        Ok(())
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            // Nothing can be reported here; the process dies with us in any case.
            let _ = process.terminate(GRACE);
        }
        for file in [SOCKET, CONFIGURATION, LOG] {
            let _ = fs::remove_file(self.directory.join(file));
        }
        // Only when it is empty: whatever else is in it is not ours.
        let _ = fs::remove_dir(&self.directory);
    }
}
