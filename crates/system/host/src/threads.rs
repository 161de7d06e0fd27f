//! Threads of a process: their names, their time on a processor, and a bound for it.

use std::fs;
use std::io;
use std::time::Duration;

use nix::errno::Errno;

use crate::{Error, Process};

/// `SCHED_OTHER` and `SCHED_DEADLINE` (sched(7)).
const OTHER: u32 = 0;
const DEADLINE: u32 = 6;

/// One thread of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    process: u32,
    id: i32,
    /// Its name, at most 15 bytes; that of the first is the program's.
    pub name: String,
}

/// The first form of `struct sched_attr` (sched_setattr(2)).
#[repr(C)]
#[derive(Debug, Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    /// In nanoseconds, of [`DEADLINE`] alone.
    runtime: u64,
    deadline: u64,
    period: u64,
}

impl Process {
    /// Its threads, the first of all first.
    ///
    /// # Errors
    ///
    /// When it has ended.
    pub fn threads(&self) -> Result<Vec<Thread>, Error> {
        threads(self.id()).map_err(Error::io(format!("listing the threads of process {}", self.id())))
    }
}

fn threads(process: u32) -> io::Result<Vec<Thread>> {
    let mut threads = Vec::new();
    for task in fs::read_dir(format!("/proc/{process}/task"))? {
        let task = task?;
        let Some(id) = task.file_name().to_str().and_then(|id| id.parse().ok()) else {
            continue;
        };
        // One may end between the listing and the reading.
        if let Ok(name) = fs::read_to_string(task.path().join("comm")) {
            let name = name.trim_end().to_owned();
            threads.push(Thread { process, id, name });
        }
    }
    threads.sort_unstable_by_key(|thread| (thread.id != i32::try_from(process).unwrap_or_default(), thread.id));
    Ok(threads)
}

impl Thread {
    /// Its time on a processor so far.
    ///
    /// # Errors
    ///
    /// When it has ended, or the kernel does not say.
    pub fn cpu(&self) -> Result<Duration, Error> {
        let Self { process, id, name } = self;
        let reading = || format!("reading the time of the thread {name} of process {process}");
        let text = fs::read_to_string(format!("/proc/{process}/task/{id}/schedstat")).map_err(Error::io(reading()))?;
        let nanoseconds = text.split(' ').next().and_then(|text| text.parse().ok());
        let wrong = || Error::io(reading())(io::ErrorKind::InvalidData.into());
        nanoseconds.map(Duration::from_nanos).ok_or_else(wrong)
    }

    /// Lets it have so much of a processor in each period and no more, before all programs that are scheduled as usual
    /// (`SCHED_DEADLINE`). It can start no thread meanwhile.
    ///
    /// # Errors
    ///
    /// Without CAP_SYS_NICE, for a share below a microsecond or a whole processor, where the process may not run on every processor, or where the
    /// shares of all such threads together are more than the kernel grants.
    pub fn bound(&self, share: Duration, period: Duration) -> Result<(), Error> {
        let nanoseconds = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.schedule(&Attributes {
            policy: DEADLINE,
            runtime: nanoseconds(share),
            deadline: nanoseconds(period),
            period: nanoseconds(period),
            ..Attributes::default()
        })
    }

    /// Has it scheduled as usual again, at this nice value.
    ///
    /// # Errors
    ///
    /// Without CAP_SYS_NICE, or when it has ended.
    pub fn unbound(&self, nice: i32) -> Result<(), Error> {
        self.schedule(&Attributes {
            policy: OTHER,
            nice,
            ..Attributes::default()
        })
    }

    fn schedule(&self, attributes: &Attributes) -> Result<(), Error> {
        let attributes = Attributes {
            size: u32::try_from(size_of::<Attributes>()).unwrap_or_default(),
            ..*attributes
        };
        // SAFETY: the kernel reads `size` bytes of a structure that lives until the call returns, and writes none that a policy without
        // an unknown field would make it write back.
        let set = unsafe { libc::syscall(libc::SYS_sched_setattr, self.id, &raw const attributes, 0_u32) };
        let action = || format!("scheduling the thread {} of process {}", self.name, self.process);
        Errno::result(set).map(drop).map_err(Error::errno(action()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// Two threads would take two processors, or one by halves; how much they take within the bound depends on the machine.
    #[test]
    fn a_bounded_thread_gets_its_share_and_no_more() {
        let process = std::process::id();
        let (begin, begins) = std::sync::mpsc::channel::<()>();
        let (runs, running) = std::sync::mpsc::channel();
        let computing = std::thread::Builder::new().name("bounded".to_owned()).spawn(move || {
            // It has its name by now.
            runs.send(()).unwrap();
            // Nothing to begin where the bound was refused.
            let Ok(begun) = begins.recv() else { return };
            let began = Instant::now();
            while began.elapsed() < Duration::from_millis(500) {
                std::hint::black_box(begun);
            }
        });
        running.recv().unwrap();
        let thread = threads(process)
            .unwrap()
            .into_iter()
            .find(|thread| thread.name == "bounded");
        let thread = thread.expect("its thread");
        if let Err(error) = thread.bound(Duration::from_millis(1), Duration::from_millis(10)) {
            // Somebody may only not be allowed to (sched_setattr(2)), and that is what it says.
            let words = error.to_string();
            assert!(words.contains("scheduling the thread bounded"), "{words}");
            assert!(words.contains("not permitted") || words.contains("busy"), "{words}");
            return;
        }
        begin.send(()).unwrap();
        std::thread::sleep(Duration::from_millis(400));
        let spent = thread.cpu().unwrap();
        assert!(spent < Duration::from_millis(200), "{spent:?}");
        thread.unbound(0).unwrap();
        computing.unwrap().join().unwrap();
        assert!(thread.cpu().is_err());
    }
}
