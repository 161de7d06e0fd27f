//! Threads of a process: their names, and their time on a processor.

use std::fs;
use std::io;
use std::time::Duration;

use bartizan_host::{Error, Process};

/// One thread of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    pub(crate) process: u32,
    pub(crate) id: i32,
    /// Its name, at most 15 bytes; that of the first is the program's.
    pub name: String,
}

/// Its threads, the first of all first.
///
/// # Errors
///
/// When it has ended.
pub fn threads_of(process: &Process) -> Result<Vec<Thread>, Error> {
    of(process.id()).map_err(Error::io(format!("listing the threads of process {}", process.id())))
}

pub(crate) fn of(process: u32) -> io::Result<Vec<Thread>> {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_names_and_times_and_the_first_is_the_process() {
        let (ends, ended) = std::sync::mpsc::channel::<()>();
        let (runs, running) = std::sync::mpsc::channel();
        let other = std::thread::Builder::new().name("the other".to_owned()).spawn(move || {
            // It has its name by now.
            runs.send(()).unwrap();
            let _ = ended.recv();
        });
        running.recv().unwrap();
        let process = std::process::id();
        let all = of(process).unwrap();
        assert_eq!(u32::try_from(all[0].id), Ok(process));
        let named = all.iter().find(|thread| thread.name == "the other").expect("it");
        assert!(named.cpu().unwrap() < Duration::from_secs(1));
        ends.send(()).unwrap();
        other.unwrap().join().unwrap();
        // The kernel takes it from the list a moment after it was joined.
        while of(process).unwrap().contains(named) {
            std::thread::yield_now();
        }
        assert!(named.cpu().is_err());
    }
}
