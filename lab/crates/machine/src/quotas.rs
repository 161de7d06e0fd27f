//! A share of a processor for each of some threads, and no more: groups of the kernel's processor
//! controller (`cpu.cfs_quota_us` of cgroups v1, `cpu.max` of v2).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bartizan_host::Error;

use crate::Thread;

/// Threads of one process that have no more than their share until this is dropped.
#[derive(Debug)]
pub struct Quotas {
    /// Group that each thread, or the process, was in, in the order in which they go back.
    moved: Vec<(PathBuf, i32)>,
    /// Those that were made, the innermost last.
    groups: Vec<PathBuf>,
}

/// Place of the processor controller.
#[derive(Debug, PartialEq, Eq)]
enum Controller {
    /// The mount of a hierarchy of v1.
    First(PathBuf),
    /// The mount of v2.
    Second(PathBuf),
}

impl Quotas {
    /// Lets each of these threads of one process have `share` of a processor in each `period`.
    ///
    /// # Errors
    ///
    /// Without a processor controller that this process may write to, and when a thread has ended.
    pub fn of(threads: &[&Thread], share: Duration, period: Duration) -> Result<Self, Error> {
        let mut quotas = Self {
            moved: Vec::new(),
            groups: Vec::new(),
        };
        let bounding = || match threads.first() {
            Some(Thread { process, name, .. }) => format!("bounding the thread {name} of process {process}"),
            None => "bounding no thread".to_owned(),
        };
        // Changes made before the failure are undone as this is dropped.
        quotas.bound(threads, share, period).map_err(Error::io(bounding()))?;
        Ok(quotas)
    }

    fn bound(&mut self, threads: &[&Thread], share: Duration, period: Duration) -> io::Result<()> {
        let Some(process) = threads.first().map(|thread| thread.process) else {
            return Ok(());
        };
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        let controller = controller(&mounts, has_cpu).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::Unsupported,
                "no cgroups with a processor controller are mounted",
            )
        })?;
        let (share, period) = (share.as_micros(), period.as_micros());
        match controller {
            Controller::First(mount) => {
                for (number, thread) in threads.iter().enumerate() {
                    let group = self.make(mount.join(format!("bartizan-{process}-{number}")))?;
                    fs::write(group.join("cpu.cfs_period_us"), period.to_string())?;
                    fs::write(group.join("cpu.cfs_quota_us"), share.to_string())?;
                    let before = group_of(&format!("/proc/{process}/task/{}/cgroup", thread.id), |controllers| {
                        controllers.split(',').any(|controller| controller == "cpu")
                    })?;
                    fs::write(group.join("tasks"), thread.id.to_string())?;
                    self.moved.push((within(&mount, &before).join("tasks"), thread.id));
                }
            }
            Controller::Second(mount) => {
                enable(&mount)?;
                let whole = self.make(mount.join(format!("bartizan-{process}")))?;
                let before = group_of(&format!("/proc/{process}/cgroup"), str::is_empty)?;
                let id = i32::try_from(process).map_err(io::Error::other)?;
                fs::write(whole.join("cgroup.procs"), process.to_string())?;
                self.moved.push((within(&mount, &before).join("cgroup.procs"), id));
                let groups = (0..threads.len()).map(|number| {
                    let group = self.make(whole.join(number.to_string()))?;
                    fs::write(group.join("cgroup.type"), "threaded")?;
                    Ok(group)
                });
                let groups = groups.collect::<io::Result<Vec<_>>>()?;
                enable(&whole)?;
                for (thread, group) in threads.iter().zip(groups) {
                    fs::write(group.join("cpu.max"), format!("{share} {period}"))?;
                    fs::write(group.join("cgroup.threads"), thread.id.to_string())?;
                }
            }
        }
        Ok(())
    }

    fn make(&mut self, group: PathBuf) -> io::Result<PathBuf> {
        // One of a process that had this number and was killed.
        let _ = fs::remove_dir(&group);
        fs::create_dir(&group)?;
        self.groups.push(group.clone());
        Ok(group)
    }
}

impl Drop for Quotas {
    fn drop(&mut self) {
        for (group, id) in self.moved.drain(..) {
            // One that has ended is nowhere.
            let _ = fs::write(group, id.to_string());
        }
        for group in self.groups.drain(..).rev() {
            let _ = fs::remove_dir(group);
        }
    }
}

/// Lets groups within this one have quotas.
fn enable(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.subtree_control"), "+cpu")
}

/// Returns true if the controllers that are free for v2 have the processor's among them.
fn has_cpu(mount: &Path) -> bool {
    let controllers = fs::read_to_string(mount.join("cgroup.controllers")).unwrap_or_default();
    controllers.split_whitespace().any(|controller| controller == "cpu")
}

/// The controller by the text of `/proc/self/mounts`.
fn controller(mounts: &str, has_cpu: impl Fn(&Path) -> bool) -> Option<Controller> {
    mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (mount, kind, options) = (PathBuf::from(fields.next()?), fields.next()?, fields.next()?);
        match kind {
            "cgroup" if options.split(',').any(|option| option == "cpu") => Some(Controller::First(mount)),
            "cgroup2" if has_cpu(&mount) => Some(Controller::Second(mount)),
            _ => None,
        }
    })
}

/// The group that a file `cgroup` of `/proc` names for a hierarchy with these controllers.
fn group_of(file: &str, of: impl Fn(&str) -> bool) -> io::Result<String> {
    let text = fs::read_to_string(file)?;
    let group = text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next()?, fields.next()?);
        of(controllers).then(|| group.to_owned())
    });
    group.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn within(mount: &Path, group: &str) -> PathBuf {
    mount.join(group.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, mpsc};
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_controller_is_found_in_both_kinds_of_cgroups() {
        let first = "proc /proc proc rw 0 0\ncgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,cpu,cpuacct 0 0\n\
                     cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        let second =
            "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n";
        assert_eq!(
            controller(first, |_| false),
            Some(Controller::First("/sys/fs/cgroup/cpu,cpuacct".into()))
        );
        assert_eq!(
            controller(second, |_| true),
            Some(Controller::Second("/sys/fs/cgroup".into()))
        );
        assert_eq!(controller(second, |_| false), None);
    }

    /// A thread that computes takes a whole processor, or half of one; how much it takes within the
    /// bound depends on the machine.
    #[test]
    fn a_bounded_thread_gets_its_share_and_no_more() {
        let (begin, begins) = mpsc::channel::<()>();
        let (runs, running) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let computing = std::thread::Builder::new().name("bounded".to_owned()).spawn(move || {
            // It has its name by now.
            runs.send(()).unwrap();
            // Nothing to begin where the bound was refused.
            let Ok(begun) = begins.recv() else { return };
            while !stopped.load(Ordering::Relaxed) {
                std::hint::black_box(begun);
            }
        });
        running.recv().unwrap();
        let threads = crate::threads::of(std::process::id()).unwrap();
        let thread = threads.iter().find(|thread| thread.name == "bounded").expect("it");
        let quotas = match Quotas::of(&[thread], Duration::from_millis(2), Duration::from_millis(20)) {
            Ok(quotas) => quotas,
            // Containers may write to no controller; then nothing is bounded, and this is what it says.
            Err(error) => {
                let words = error.to_string();
                return assert!(words.contains("bounding the thread bounded"), "{words}");
            }
        };
        let groups = quotas.groups.clone();
        let began = Instant::now();
        begin.send(()).unwrap();
        let spent = loop {
            std::thread::sleep(Duration::from_millis(500));
            let spent = thread.cpu().unwrap();
            // On a busy machine it may not have run at all.
            if spent > Duration::ZERO {
                break spent;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "it never runs");
        };
        let elapsed = began.elapsed();
        stop.store(true, Ordering::Relaxed);
        assert!(spent < elapsed * 2 / 5, "{spent:?} of {elapsed:?}");
        drop(quotas);
        assert!(
            !groups.is_empty() && groups.iter().all(|group| !group.exists()),
            "{groups:?}"
        );
        computing.unwrap().join().unwrap();
    }
}
