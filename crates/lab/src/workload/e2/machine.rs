//! What the kernel that runs us says of its processors and of SCTP.

use std::fs;

use bartizan_host::Namespace;

use crate::bench::Error;

/// How the processors spent their time until now, in ticks of the kernel's clock (proc_stat(5)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ticks {
    user: u64,
    system: u64,
    interrupts: u64,
    idle: u64,
}

/// Shares of the time of all processors, in per cent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shares {
    pub(super) user: f64,
    pub(super) system: f64,
    /// Hard and soft interrupts: packets that come.
    pub(super) interrupts: f64,
    pub(super) busy: f64,
}

impl Ticks {
    pub(super) fn now() -> Result<Self, Error> {
        let path = "/proc/stat";
        let text = fs::read_to_string(path).map_err(Error::file(path))?;
        Self::parse(&text).ok_or_else(|| Error::Configuration(format!("{path} has no line of processors")))
    }

    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let counts: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        // user nice system idle iowait irq softirq; what a hypervisor stole is nobody's.
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
    pub(super) fn since(self, earlier: Self) -> Option<Shares> {
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

/// DATA chunks that the SCTP of a namespace has sent again until now.
pub(super) fn retransmissions(namespace: &Namespace) -> Result<u64, Error> {
    let path = "/proc/thread-self/net/sctp/snmp";
    let text = namespace
        .enter(|| fs::read_to_string(path))?
        .map_err(Error::file(path))?;
    let sum = |text: &str| {
        let lines = text.lines().filter_map(|line| line.split_once(char::is_whitespace));
        let counted = lines
            .filter(|(name, _)| ["SctpT3Retransmits", "SctpFastRetransmits", "SctpPmtudRetransmits"].contains(name));
        counted
            .map(|(_, count)| count.trim().parse::<u64>())
            .collect::<Result<Vec<_>, _>>()
    };
    match sum(&text) {
        Ok(counts) if counts.len() == 3 => Ok(counts.iter().sum()),
        _ => Err(Error::Configuration(format!(
            "{path} does not count what was sent again"
        ))),
    }
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
        assert_eq!(Ticks::parse("cpu0 1 2 3\n"), None);
        assert_eq!(Ticks::parse("cpu 1 2 3\n"), None);
        assert!(Ticks::now().is_ok());
    }
}
