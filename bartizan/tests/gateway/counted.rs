//! Number of system calls that a message costs two sidecars.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::stage::Node;

/// Calls by which data comes and goes.
const MOVING: [libc::c_long; 10] = [
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_writev,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_pwritev,
];

/// Counts the system calls of a sidecar, thread by thread, until it ends.
pub(crate) struct Counter {
    counting: Arc<AtomicBool>,
    calls: Arc<Mutex<BTreeMap<libc::c_long, usize>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Counter {
    pub(crate) fn of(node: &Node) -> Self {
        let counting = Arc::new(AtomicBool::new(false));
        let calls = Arc::default();
        let tasks = fs::read_dir(format!("/proc/{}/task", node.process.id())).unwrap();
        let threads = tasks.map(|task| {
            let number = task.unwrap().file_name().to_str().unwrap().parse().unwrap();
            let (counting, calls) = (Arc::clone(&counting), Arc::clone(&calls));
            spawn(move || follow(Pid::from_raw(number), &counting, &calls))
        });
        let threads = threads.collect();
        // Each is stopped once on its way.
        std::thread::sleep(Duration::from_millis(200));
        Self {
            counting,
            calls,
            threads,
        }
    }

    pub(crate) fn during<R>(counters: &[Self], work: impl FnOnce() -> R) -> R {
        let count = |on| counters.iter().for_each(|one| one.counting.store(on, Ordering::SeqCst));
        count(true);
        let done = work();
        count(false);
        done
    }

    /// Number of calls so far that move data.
    pub(crate) fn moving(counters: &[Self]) -> usize {
        let of = |one: &Self| -> usize {
            let calls = one.calls.lock().unwrap();
            MOVING.iter().filter_map(|number| calls.get(number)).sum()
        };
        counters.iter().map(of).sum()
    }

    /// Counts by system call number, of a sidecar that has ended.
    pub(crate) fn finish(self) -> BTreeMap<libc::c_long, usize> {
        for thread in self.threads {
            thread.join().unwrap();
        }
        self.calls.lock().unwrap().clone()
    }
}

/// Only the thread that traces may go on with what it traces.
fn follow(task: Pid, counting: &AtomicBool, calls: &Mutex<BTreeMap<libc::c_long, usize>>) {
    ptrace::seize(task, ptrace::Options::PTRACE_O_TRACESYSGOOD).unwrap();
    ptrace::interrupt(task).unwrap();
    loop {
        let mut signal = None;
        match waitpid(task, Some(WaitPidFlag::__WALL)) {
            Ok(WaitStatus::PtraceSyscall(_)) => {
                let Ok(info) = ptrace::syscall_info(task) else { return };
                if info.op == libc::PTRACE_SYSCALL_INFO_ENTRY && counting.load(Ordering::SeqCst) {
                    // SAFETY: `entry` is the variant that the kernel fills for PTRACE_SYSCALL_INFO_ENTRY.
                    let number = unsafe { info.u.entry.nr } as libc::c_long;
                    *calls.lock().unwrap().entry(number).or_insert(0) += 1;
                }
            }
            Ok(WaitStatus::Stopped(_, other)) if other != Signal::SIGTRAP => signal = Some(other),
            Ok(WaitStatus::PtraceEvent(..) | WaitStatus::Stopped(..)) => {}
            _ => return,
        }
        if ptrace::syscall(task, signal).is_err() {
            return;
        }
    }
}
