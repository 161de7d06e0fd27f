//! Both ends of a link through kernel ESP authenticate anew at once, while an SCTP association runs over it.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::sctp::{Arrival, Association, Listener, Opening};
use bartizan_host::{Namespace, Program};
use bartizan_ipsec::drops;
use bartizan_ledger::Why;

use super::reauthentication::{converged, reauthenticate};
use crate::boot::is_here;
use crate::stage::*;

const E2AP: u16 = 36_421;
/// Two IKE_SAs do not come to stand each time: one end may be done before the other begins.
const AT_MOST: usize = 40;
/// Pause for an echo before the next message is sent: an emulated machine has other work.
const PAUSE: Duration = Duration::from_millis(50);

/// Messages of an association.
#[derive(Debug, Default)]
struct Carried {
    sent: u32,
    echoed: u32,
    /// The longest time without an echo.
    longest: Duration,
}

/// Stops the association also where an assertion fails.
struct Stopped<'a>(&'a AtomicBool);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn at(number: u8, port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 78, 0, number)), port)
}

/// Sends back what comes, until the other end has ended.
fn echo(listener: &Listener) {
    let (mut association, _) = listener.accept().expect("an association");
    loop {
        match association.receive().expect("it is not lost") {
            Arrival::Message(message) => {
                let sent = association.send(message.stream, message.payload_protocol, &message.bytes);
                sent.expect("it is not lost");
            }
            Arrival::Nothing => {}
            Arrival::End => return,
        }
    }
}

/// Sends numbered messages until it is to stop, and waits for the echoes of all.
fn carry(mut association: Association, stop: &AtomicBool) -> Carried {
    association.set_patience(Some(PAUSE)).expect("an option");
    let (mut carried, mut last) = (Carried::default(), Instant::now());
    let mut ended = None;
    while ended.is_none_or(|ended: Instant| ended.elapsed() < PATIENCE) {
        if !stop.load(Ordering::Relaxed) {
            let sent = association.send(0, 0, &carried.sent.to_be_bytes());
            sent.expect("it is not lost");
            carried.sent += 1;
        } else if carried.echoed == carried.sent {
            break;
        } else {
            ended = ended.or(Some(Instant::now()));
        }
        while let Arrival::Message(message) = association.receive().expect("it is not lost") {
            // SCTP keeps the order of a stream.
            assert_eq!(message.bytes, carried.echoed.to_be_bytes());
            carried.echoed += 1;
            carried.longest = carried.longest.max(last.elapsed());
            last = Instant::now();
        }
    }
    association.finish().expect("it ends");
    carried
}

/// A node's kernel counters of dropped ESP, and DATA that SCTP sent again.
fn counters(space: &Namespace) -> BTreeMap<String, u64> {
    let read = || {
        let mut counters = drops::of_host().expect("the kernel counts");
        let sctp = std::fs::read_to_string("/proc/thread-self/net/sctp/snmp").expect("SCTP");
        let again = ["SctpT3Retransmits", "SctpFastRetransmits"];
        for line in sctp
            .lines()
            .filter(|line| again.iter().any(|name| line.starts_with(name)))
        {
            let (name, count) = line.split_once(char::is_whitespace).expect("a name and a number");
            counters.insert(name.to_owned(), count.trim().parse().expect("a number"));
        }
        counters
    };
    space.enter(read).expect("a namespace")
}

/// Increments since `before`.
fn since(before: &BTreeMap<String, u64>, now: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let more = now.into_iter().map(|(name, count)| {
        let count = count - before.get(&name).copied().unwrap_or(0);
        (name, count)
    });
    more.filter(|(_, count)| *count > 0).collect()
}

/// Number of ESP SAs, or of policies that require one, in a node's kernel.
fn esp(space: &Namespace, what: &str) -> usize {
    let ip = Program::new("ip").arguments(["xfrm", what, "list"]).inside(space);
    ip.run(PATIENCE).expect("ip").text().matches("proto esp").count()
}

#[test]
fn an_association_through_kernel_esp_loses_no_message_where_both_ends_authenticate_anew_at_once() {
    if !is_here() {
        return;
    }
    let stage = Stage::set_up("hybrid", "hybrid");
    let (_ric, _cu) = (stage.up("ric"), stage.up("cu"));
    stage.stands("cu");
    stage.settled();
    let spaces = [&stage.cu, &stage.ric];
    let policies = spaces.map(|space| esp(space, "policy"));
    let listener = stage.ric.enter(|| Listener::bind(at(2, E2AP), Opening::default()));
    let listener = listener.expect("a namespace").expect("it listens");
    let association = stage
        .cu
        .enter(|| Association::connect(at(1, 0), at(2, E2AP), Opening::default()));
    let association = association.expect("a namespace").expect("it is accepted");
    let before = spaces.map(counters);
    let stop = AtomicBool::new(false);
    let duplicates = || ends(&stage, "cu").iter().filter(|why| **why == Why::Duplicate).count();
    let (rounds, carried) = thread::scope(|scope| {
        let stopped = Stopped(&stop);
        scope.spawn(|| echo(&listener));
        let carries = scope.spawn(|| carry(association, &stop));
        let mut rounds = 0;
        while rounds < AT_MOST && duplicates() == 0 {
            rounds += 1;
            let ended = ends(&stage, "cu").len();
            reauthenticate(&stage);
            eventually("what stood is replaced", || {
                (ends(&stage, "cu").len() > ended).then_some(())
            });
            converged(&stage);
        }
        drop(stopped);
        (rounds, carries.join().expect("no panic"))
    });
    let lost = [0, 1].map(|node| since(&before[node], counters(spaces[node])));
    // Figures for a run by hand: `--nocapture`.
    println!(
        "{rounds} rounds, {} doubled; {carried:?}; cu {:?}, ric {:?}",
        duplicates(),
        lost[0],
        lost[1]
    );
    assert!(duplicates() > 0, "two never stood side by side in {rounds} rounds");
    assert!(carried.sent > 0 && carried.echoed == carried.sent, "{carried:?}");
    for (node, lost) in ["cu", "ric"].iter().zip(&lost) {
        assert_eq!(lost.get("XfrmInTmplMismatch"), None, "{node}: {lost:?}");
        let report = stage.stands(node);
        let link = &report["links"][0];
        let [ikes, children] = [&link["ike"], &link["children"][0]["sas"]].map(|sas| sas.as_array().map(Vec::len));
        assert_eq!((ikes, children), (Some(1), Some(1)), "{report}");
    }
    for (space, policies) in spaces.into_iter().zip(policies) {
        // One for each direction.
        eventually("one CHILD_SA is left", || (esp(space, "state") == 2).then_some(()));
        assert_eq!(esp(space, "policy"), policies);
    }
}
