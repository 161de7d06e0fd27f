//! seccomp: the system calls a serving sidecar makes, and no others.
//!
//! A call that is not on the list fails with EPERM: a library that tries something new on a rare path must not take the core
//! network down. Calls that only an attacker's code would make, execve first, end the process, and the kernel logs which one
//! (`audit: type=1326 ... syscall=59`).

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

use super::Outcome;

/// Sockets, the event loop and timers.
const NETWORK: &[c_long] = &[
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept4,
    libc::SYS_connect,
    libc::SYS_shutdown,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
];

/// Files: credentials read again, the ledger written, `/proc/self` for metrics. Which ones is Landlock's part.
const FILES: &[c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_statx,
    libc::SYS_newfstatat,
    libc::SYS_fstatfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_ftruncate,
    libc::SYS_flock,
    libc::SYS_fcntl,
    libc::SYS_ioctl,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_unlinkat,
    libc::SYS_inotify_init1,
    libc::SYS_inotify_add_watch,
    libc::SYS_inotify_rm_watch,
];

/// Memory, threads, signals, time and chance. `clone3` is answered with ENOSYS below; `prctl` can only take more away.
const PROCESS: &[c_long] = &[
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_clone3,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity,
    // Without CAP_SYS_NICE a thread can only lower its own.
    libc::SYS_getpriority,
    libc::SYS_setpriority,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_tgkill,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getrusage,
    libc::SYS_prlimit64,
    libc::SYS_prctl,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
];

/// Older forms that only this architecture has and its C library still uses.
#[cfg(target_arch = "x86_64")]
const OLDER: &[c_long] = &[
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_rename,
    libc::SYS_unlink,
    libc::SYS_poll,
    libc::SYS_epoll_wait,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[c_long] = &[];

/// Calls that no sidecar makes: starting programs, looking into other processes, changing the
/// kernel, the mounts or the user.
const HOSTILE: &[c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_bpf,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_kexec_load,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_setuid,
    libc::SYS_setresuid,
    libc::SYS_setgid,
    libc::SYS_setresgid,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_perf_event_open,
    libc::SYS_keyctl,
];

pub(super) fn restrict() -> Outcome {
    let Ok(architecture) = TargetArch::try_from(std::env::consts::ARCH) else {
        return Outcome::Unavailable(format!("no list of system calls for {}", std::env::consts::ARCH));
    };
    let filters = match filters(architecture) {
        Ok(filters) => filters,
        Err(error) => return Outcome::Failed(error.to_string()),
    };
    for filter in &filters {
        match seccompiler::apply_filter_all_threads(filter) {
            Ok(()) => {}
            Err(seccompiler::Error::Seccomp(error)) if error.raw_os_error() == Some(libc::EINVAL) => {
                return Outcome::Unavailable("this kernel was built without it".to_owned());
            }
            Err(error) => return Outcome::Failed(error.to_string()),
        }
    }
    let [allowed, hostile] = counts();
    Outcome::Done(format!(
        "{allowed} system calls allowed, {hostile} end the process, the others fail with EPERM"
    ))
}

/// Number of system calls that are allowed, and of those that end the process.
fn counts() -> [usize; 2] {
    let always = NETWORK.len() + FILES.len() + PROCESS.len() + OLDER.len();
    [always + conditional().map_or(0, |rules| rules.len()), HOSTILE.len()]
}

/// Several filters: the kernel takes the strictest answer among them.
fn filters(architecture: TargetArch) -> Result<[BpfProgram; 3], seccompiler::Error> {
    let always = |calls: &[c_long]| -> BTreeMap<i64, Vec<SeccompRule>> {
        calls.iter().map(|&call| (call, Vec::new())).collect()
    };
    let hostile = SeccompFilter::new(
        always(HOSTILE),
        SeccompAction::Allow,
        SeccompAction::KillProcess,
        architecture,
    )?;
    let mut allowed = always(NETWORK);
    allowed.extend(always(FILES));
    allowed.extend(always(PROCESS));
    allowed.extend(always(OLDER));
    allowed.extend(conditional()?);
    let allowed = SeccompFilter::new(
        allowed,
        SeccompAction::Errno(libc::EPERM as u32),
        SeccompAction::Allow,
        architecture,
    )?;
    // Its flags are behind a pointer, where no filter sees them; the C library then takes `clone`.
    let clone3 = SeccompFilter::new(
        always(&[libc::SYS_clone3]),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::ENOSYS as u32),
        architecture,
    )?;
    // The list comes last: it refuses to load further filters.
    Ok([hostile.try_into()?, clone3.try_into()?, allowed.try_into()?])
}

/// Calls that depend on an argument: threads yes, processes no; memory yes, memory that is written and then executed no.
fn conditional() -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::Error> {
    let argument = |index, operator, value| SeccompCondition::new(index, SeccompCmpArgLen::Qword, operator, value);
    let rule = |condition| SeccompRule::new(vec![condition]);
    let thread = libc::CLONE_THREAD as u64;
    let executable = libc::PROT_EXEC as u64;
    Ok(BTreeMap::from([
        (
            libc::SYS_clone,
            vec![rule(argument(0, SeccompCmpOp::MaskedEq(thread), thread)?)?],
        ),
        (
            libc::SYS_mmap,
            vec![rule(argument(2, SeccompCmpOp::MaskedEq(executable), 0)?)?],
        ),
        (
            libc::SYS_mprotect,
            vec![rule(argument(2, SeccompCmpOp::MaskedEq(executable), 0)?)?],
        ),
    ]))
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::{OLDER, counts};

    #[test]
    fn the_document_has_the_numbers_of_the_log() {
        let [allowed, hostile] = counts();
        let words = format!(
            "| {allowed} system calls allowed ({} on aarch64), others fail with EPERM; `execve` and {} others",
            allowed - OLDER.len(),
            hostile - 1
        );
        assert!(include_str!("../../../../docs/deploy.md").contains(&words), "{words}");
    }
}
