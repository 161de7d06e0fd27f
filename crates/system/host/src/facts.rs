//! Facts of the machine that a measurement was taken on, for its reader.

use std::fs;
use std::thread;

use nix::sched::{CloneFlags, unshare};
use serde::{Deserialize, Serialize};

bartizan_registry::made! {
    /// The machine and what this user may do on it.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Facts,
    /// Looks and tries; leaves nothing behind.
    pub gather() {
        let (namespaces, veth, capture) = permissions();
        /// Kernel release, as `uname -r` prints it.
        pub kernel: String = read("/proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown".to_owned()),
        /// Model name of the processor, when the kernel gives it.
        pub cpu: Option<String> = read("/proc/cpuinfo").as_deref().and_then(cpu_model),
        /// Processors this process may run on.
        pub cores: usize = thread::available_parallelism().map_or(1, usize::from),
        /// Load average over one minute when asked.
        pub load: Option<f64> = read("/proc/loadavg").and_then(|text| text.split(' ').next()?.parse().ok()),
        /// Memory in bytes.
        pub memory: Option<u64> = read("/proc/meminfo").as_deref().and_then(total_memory),
        /// True if the scheduler groups processes by session, so that `nice` has no effect between
        /// sessions.
        pub autogroup: Option<bool> = read("/proc/sys/kernel/sched_autogroup_enabled").map(|text| text == "1"),
        /// True if this is root.
        pub root: bool = nix::unistd::geteuid().is_root(),
        /// Making network namespaces, tried.
        pub namespaces: Permission,
        /// Joining them by veth, tried; refused when namespaces are.
        pub veth: Permission,
        /// Capturing packets, tried.
        pub capture: Permission,
    }
}

/// Permission for one action here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    /// It was tried and worked.
    Granted,
    /// It was tried and did not, with the reason.
    Refused(String),
}

impl Permission {
    /// Returns true if it worked.
    #[must_use]
    pub fn granted(&self) -> bool {
        *self == Self::Granted
    }
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim_end().to_owned())
}

fn cpu_model(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Bytes, from the text of `/proc/meminfo`, which counts in units of 1024.
fn total_memory(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

/// Tries on a thread of its own, in a namespace without a name that goes with the thread.
fn permissions() -> (Permission, Permission, Permission) {
    let tried = thread::spawn(|| {
        let refused = |error: String| Permission::Refused(error);
        if let Err(errno) = unshare(CloneFlags::CLONE_NEWNET) {
            let reason = refused(errno.to_string());
            return (reason.clone(), reason, capture_permission());
        }
        (Permission::Granted, veth_permission(), capture_permission())
    });
    tried.join().unwrap_or_else(|_| {
        let refused = Permission::Refused("the thread that tried has panicked".to_owned());
        (refused.clone(), refused.clone(), refused)
    })
}

fn capture_permission() -> Permission {
    match crate::capture::try_on_loopback() {
        Ok(()) => Permission::Granted,
        Err(error) => Permission::Refused(error.to_string()),
    }
}

/// In the namespace of the calling thread, which must be a throw-away one: a child inherits it.
fn veth_permission() -> Permission {
    let output = std::process::Command::new("ip")
        .args(["link", "add", "name", "btz0", "type", "veth", "peer", "name", "btz1"])
        .stdin(std::process::Stdio::null())
        .output();
    match output {
        Ok(output) if output.status.success() => Permission::Granted,
        Ok(output) => Permission::Refused(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Permission::Refused(format!("ip: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn facts_are_gathered_and_survive_json() {
        let facts = Facts::gather();
        assert_eq!(facts.kernel, read("/proc/sys/kernel/osrelease").unwrap());
        assert!(facts.cores >= 1);
        assert!(facts.memory.unwrap() > 1 << 20);
        let text = serde_json::to_string(&facts).unwrap();
        assert_eq!(serde_json::from_str::<Facts>(&text).unwrap(), facts);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_readers_panic(text: String) {
            let _ = cpu_model(&text);
            let _ = total_memory(&text);
            let _ = total_memory(&format!("MemTotal: {text} kB"));
        }
    }
}
