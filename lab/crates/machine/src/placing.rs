//! Processors and scheduling priority of threads and processes.

use std::fs;

use bartizan_host::{Error, Process, ready_to_start};
use bartizan_testing::group_members;
use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// The file of the scheduler's group of our session (sched(7), "The autogroup feature").
const AUTOGROUP: &str = "/proc/self/autogroup";

/// Processors that this thread may run on, by number.
///
/// # Errors
///
/// When the kernel does not say.
pub fn processors() -> Result<Vec<usize>, Error> {
    let set = sched_getaffinity(Pid::from_raw(0)).map_err(Error::errno("asking for processors"))?;
    Ok((0..CpuSet::count())
        .filter(|&core| set.is_set(core).unwrap_or(false))
        .collect())
}

/// Lets the calling thread, and threads that it starts afterwards, run on these processors only.
/// Programs that it starts may run on all that the process had: [`pin`] is for them.
///
/// # Errors
///
/// When there is none among them that it may run on.
pub fn pin_this_thread(cores: &[usize]) -> Result<(), Error> {
    let place = || format!("pinning a thread to {cores:?}");
    // Programs have the processors of the thread that starts them, which has those of the one by which it was started.
    ready_to_start().map_err(Error::io(place()))?;
    let set = set(cores).map_err(Error::errno(place()))?;
    sched_setaffinity(Pid::from_raw(0), &set).map_err(Error::errno(place()))
}

fn set(cores: &[usize]) -> Result<CpuSet, Errno> {
    let mut set = CpuSet::new();
    cores.iter().try_for_each(|&core| set.set(core))?;
    Ok(set)
}

/// Processors that it may run on, by number.
///
/// # Errors
///
/// When it has ended, or the kernel does not say.
pub fn processors_of(process: &Process) -> Result<Vec<usize>, Error> {
    let place = || format!("asking for the processors of process {}", process.id());
    let id = i32::try_from(process.id()).map_err(|_| Error::errno(place())(Errno::EINVAL))?;
    let set = sched_getaffinity(Pid::from_raw(id)).map_err(Error::errno(place()))?;
    Ok((0..CpuSet::count())
        .filter(|&core| set.is_set(core).unwrap_or(false))
        .collect())
}

/// Lets all its threads, and those of what it has started, run on these processors only.
///
/// # Errors
///
/// When there is none among them that they may run on.
pub fn pin(process: &Process, cores: &[usize]) -> Result<(), Error> {
    let place = || format!("pinning process {} to {cores:?}", process.id());
    let set = set(cores).map_err(Error::errno(place()))?;
    for pid in group_members(process.id()) {
        for thread in fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let Some(id) = thread.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            match sched_setaffinity(Pid::from_raw(id), &set) {
                // It may have ended since it was listed.
                Ok(()) | Err(Errno::ESRCH) => {}
                Err(errno) => return Err(Error::errno(place())(errno)),
            }
        }
    }
    Ok(())
}

/// Precedence over other programs, for this process and what it starts while this is kept.
///
/// If the scheduler groups processes by session, `nice` counts within the session alone: the group
/// is raised too, which holds for everything else of this session (the shell that started us) until
/// this is dropped. A killed process cannot drop: `echo 0 > /proc/self/autogroup` in that shell
/// resets it.
#[derive(Debug)]
pub struct Priority {
    nice: i32,
    autogroup: Option<i32>,
}

impl Priority {
    /// The highest that `nice` knows, -20.
    ///
    /// # Errors
    ///
    /// [`Error::NotPermitted`] without root.
    pub fn highest() -> Result<Self, Error> {
        let priority = Self {
            nice: nice_of_this_process(),
            // The highest is what a run that was killed, or one in parallel with this, has left: 0
            // is the kernel's default.
            autogroup: autogroup_nice().map(|nice| if nice == -20 { 0 } else { nice }),
        };
        set_nice(-20)?;
        if priority.autogroup.is_some() {
            let raise = fs::write(AUTOGROUP, "-20");
            raise.map_err(Error::io(format!("raising {AUTOGROUP}")))?;
        }
        Ok(priority)
    }

    /// The autogroup's precedence now; `None` where the scheduler does not group.
    #[must_use]
    pub fn autogroup(&self) -> Option<i32> {
        self.autogroup.and_then(|_| autogroup_nice())
    }
}

impl Drop for Priority {
    fn drop(&mut self) {
        // Nothing can be reported here.
        let _ = set_nice(self.nice);
        if let Some(nice) = self.autogroup {
            let _ = fs::write(AUTOGROUP, nice.to_string());
        }
    }
}

/// From a line such as `/autogroup-42 nice 0`.
fn autogroup_nice() -> Option<i32> {
    let text = fs::read_to_string(AUTOGROUP).ok()?;
    text.trim_end().rsplit_once("nice ")?.1.parse().ok()
}

fn nice_of_this_process() -> i32 {
    // SAFETY: getpriority takes numbers and returns one. -1 is a precedence as well as an error, which cannot be: the
    // process asks for itself.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
}

/// For every thread there is: on Linux precedence belongs to threads, and children get that of the
/// one that starts them.
fn set_nice(nice: i32) -> Result<(), Error> {
    for thread in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let Some(id) = thread.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // SAFETY: setpriority takes numbers and touches no memory of ours.
        if unsafe { libc::setpriority(libc::PRIO_PROCESS, id, nice) } != 0 {
            let error = std::io::Error::last_os_error();
            // The thread may have ended since it was listed.
            if error.raw_os_error() != Some(libc::ESRCH) {
                return Err(Error::io(format!("setting the priority to {nice}"))(error));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bartizan_host::Program;

    #[test]
    fn a_process_and_what_it_started_run_where_they_are_pinned() {
        let all = processors().unwrap();
        let last = *all.last().unwrap();
        let mut process = Program::new("sh")
            .arguments(["-c", "sleep 30 & echo started $!; wait"])
            .start()
            .unwrap();
        process
            .wait_for_line("started", std::time::Duration::from_secs(120))
            .unwrap();
        let child = process.stdout().trim().rsplit(' ').next().unwrap().to_owned();
        pin(&process, &[last]).unwrap();
        for pid in [process.id().to_string(), child] {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            let allowed = status
                .lines()
                .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
                .unwrap();
            assert_eq!(allowed.trim(), last.to_string());
        }
        assert!(pin(&process, &[]).is_err());
    }

    #[test]
    fn a_thread_is_pinned_and_only_that_thread() {
        let all = processors().unwrap();
        let (first, expected) = (all[0], all.clone());
        std::thread::spawn(move || {
            pin_this_thread(&[first]).unwrap();
            assert_eq!(processors().unwrap(), [first]);
        })
        .join()
        .unwrap();
        assert_eq!(processors().unwrap(), expected);
    }

    #[test]
    fn priority_is_given_back() {
        if !nix::unistd::geteuid().is_root() {
            assert!(matches!(Priority::highest(), Err(Error::NotPermitted(_))));
            return;
        }
        let before = (nice_of_this_process(), autogroup_nice());
        let priority = Priority::highest().unwrap();
        assert_eq!(nice_of_this_process(), -20);
        assert_eq!(priority.autogroup(), before.1.map(|_| -20));
        // A second one is not taken for the state before.
        drop(Priority::highest().unwrap());
        assert_eq!(autogroup_nice(), before.1.map(|_| 0));
        drop(priority);
        assert_eq!((nice_of_this_process(), autogroup_nice()), before);
    }
}
