//! Counters of the running kernel about its processors and SCTP.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::time::{Duration, Instant};

use bartizan_host::Namespace;
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;

use crate::Error;

/// Some tens of a slow clock's ticks (100 a second).
const PROOF: Duration = Duration::from_millis(300);

/// Processor time so far by use, in ticks of the kernel's clock (proc_stat(5)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::workload) struct Ticks {
    user: u64,
    system: u64,
    interrupts: u64,
    idle: u64,
}

/// Shares of the time of all processors, in per cent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::workload) struct Shares {
    pub(in crate::workload) user: f64,
    pub(in crate::workload) system: f64,
    /// Hard and soft interrupts: packets that come.
    pub(in crate::workload) interrupts: f64,
    pub(in crate::workload) busy: f64,
}

impl Ticks {
    pub(in crate::workload) fn now() -> Result<Self, Error> {
        let path = "/proc/stat";
        let text = fs::read_to_string(path).map_err(Error::file(path))?;
        Self::parse(&text).ok_or_else(|| Error::Configuration(format!("{path} has no line of processors")))
    }

    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let counts: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        // user nice system idle iowait irq softirq; steal, the hypervisor's share, is left out.
        let [user, nice, system, idle, waiting, hard, soft, ..] = counts[..] else {
            return None;
        };
        Some(Self {
            user: user + nice,
            system,
            interrupts: hard + soft,
            idle: idle + waiting,
        })
    }

    /// Since an earlier look; none where no tick has passed.
    pub(in crate::workload) fn since(self, earlier: Self) -> Option<Shares> {
        let passed = |get: fn(Self) -> u64| get(self).saturating_sub(get(earlier)) as f64;
        let (user, system) = (passed(|ticks| ticks.user), passed(|ticks| ticks.system));
        let (interrupts, idle) = (passed(|ticks| ticks.interrupts), passed(|ticks| ticks.idle));
        let all = user + system + interrupts + idle;
        let share = |part: f64| 100.0 * part / all;
        (all > 0.0).then(|| Shares {
            user: share(user),
            system: share(system),
            interrupts: share(interrupts),
            busy: share(all - idle),
        })
    }
}

/// Number of processors that shares refer to: all of the kernel, including those this program may
/// not use.
pub(in crate::workload) fn processors() -> Result<f64, Error> {
    let path = "/proc/stat";
    let text = fs::read_to_string(path).map_err(Error::file(path))?;
    Ok(processors_in(&text).max(1) as f64)
}

fn processors_in(stat: &str) -> usize {
    let names = stat.lines().filter_map(|line| line.split_whitespace().next());
    let numbers = names.filter_map(|name| name.strip_prefix("cpu"));
    numbers.filter(|number| number.parse::<u32>().is_ok()).count()
}

/// True if the kernel accounts system calls apart from user time. A thread that only has zeros
/// copied is the test. User-Mode Linux does not: it accounts all ticks as user time.
pub(super) fn tells_system_calls() -> Result<bool, Error> {
    let path = "/dev/zero";
    let mut zeros = File::open(path).map_err(Error::file(path))?;
    let mut room = vec![0; 1 << 20];
    let usage = || getrusage(UsageWho::RUSAGE_THREAD).map_err(|errno| Error::Broken(errno.into()));
    let (before, began) = (usage()?, Instant::now());
    while began.elapsed() < PROOF {
        zeros.read_exact(&mut room).map_err(Error::file(path))?;
    }
    let after = usage()?;
    let spent = |time: fn(&Usage) -> TimeVal| time(&after) - time(&before);
    Ok(spent(Usage::system_time) > spent(Usage::user_time))
}

/// Counters of a namespace, by name: a file of lines of a name and a number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counters(BTreeMap<String, u64>);

impl Counters {
    pub(super) fn of_sctp(namespace: &Namespace) -> Result<Self, Error> {
        Self::read(namespace, "/proc/thread-self/net/sctp/snmp")
    }

    /// Packets that ESP's tables sent to nowhere, by reason.
    pub(super) fn of_esp(namespace: &Namespace) -> Result<Self, Error> {
        Self::read(namespace, "/proc/thread-self/net/xfrm_stat")
    }

    fn read(namespace: &Namespace, path: &str) -> Result<Self, Error> {
        let text = namespace
            .enter(|| fs::read_to_string(path))?
            .map_err(Error::file(path))?;
        let unread = || Error::Configuration(format!("{path} is not names and numbers"));
        Self::parse(&text).ok_or_else(unread)
    }

    fn parse(text: &str) -> Option<Self> {
        let pair = |line: &str| {
            let (name, count) = line.split_once(char::is_whitespace)?;
            Some((name.to_owned(), count.trim().parse().ok()?))
        };
        text.lines().map(pair).collect::<Option<_>>().map(Self)
    }

    fn get(&self, name: &str) -> Result<u64, Error> {
        let count = self.0.get(name).copied();
        count.ok_or_else(|| Error::Configuration(format!("the kernel does not count {name}")))
    }

    /// DATA chunks that were sent again.
    pub(super) fn retransmissions(&self) -> Result<u64, Error> {
        let names = ["SctpT3Retransmits", "SctpFastRetransmits", "SctpPmtudRetransmits"];
        names.into_iter().map(|name| self.get(name)).sum()
    }

    /// INIT chunks that nothing answered in time.
    pub(super) fn unanswered_inits(&self) -> Result<u64, Error> {
        self.get("SctpT1InitExpireds")
    }

    /// Packets whose checksum was wrong when they came.
    pub(super) fn wrong_checksums(&self) -> Result<u64, Error> {
        self.get("SctpChecksumErrors")
    }

    /// Counters that have grown since an earlier look, with their growth.
    pub(super) fn since(&self, earlier: &Self) -> BTreeMap<String, u64> {
        let more = self.0.iter().map(|(name, count)| {
            let before = earlier.0.get(name).copied().unwrap_or_default();
            (name.clone(), count.saturating_sub(before))
        });
        more.filter(|(_, count)| *count > 0).collect()
    }
}

/// DATA chunks that the SCTP of a namespace has sent again until now.
pub(super) fn retransmissions(namespace: &Namespace) -> Result<u64, Error> {
    Counters::of_sctp(namespace)?.retransmissions()
}

/// Sets a value of a namespace's network, `sctp/rto_initial` for one.
pub(super) fn set(namespace: &Namespace, name: &str, value: u64) -> Result<(), Error> {
    let path = format!("/proc/sys/net/{name}");
    namespace
        .enter(|| fs::write(&path, value.to_string()))?
        .map_err(Error::file(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_what_was_busy() {
        let earlier = Ticks::parse("cpu  100 0 10 1000 0 0 5 0 0 0\ncpu0 1 2 3 4\n").unwrap();
        let later = Ticks::parse("cpu  150 0 20 1020 0 5 20 0 0 0\n").unwrap();
        let shares = later.since(earlier).unwrap();
        assert_eq!(
            shares,
            Shares {
                user: 50.0,
                system: 10.0,
                interrupts: 20.0,
                busy: 80.0
            }
        );
        assert_eq!(later.since(later), None);
        assert_eq!(processors_in("cpu  1 2 3 4\ncpu0 1 2 3 4\ncpu1 1 2 3 4\nintr 5\n"), 2);
        assert_eq!(Ticks::parse("cpu0 1 2 3\n"), None);
        assert_eq!(Ticks::parse("cpu 1 2 3\n"), None);
        assert!(Ticks::now().is_ok());
    }

    #[test]
    fn a_kernel_is_believed_after_a_proof() {
        // Either result is right; the call must not fail.
        assert!(tells_system_calls().is_ok());
    }

    #[test]
    fn counters_are_read_by_name_and_what_is_new_is_reported() {
        let earlier = Counters::parse("XfrmInError \t0\nXfrmOutNoStates   2\n").unwrap();
        let later = Counters::parse("XfrmInError \t0\nXfrmOutNoStates   5\n").unwrap();
        assert_eq!(
            later.since(&earlier),
            BTreeMap::from([("XfrmOutNoStates".to_owned(), 3)])
        );
        assert!(later.retransmissions().is_err());
        assert_eq!(Counters::parse("a\n"), None);
        assert_eq!(Counters::parse("a b\n"), None);
    }
}
