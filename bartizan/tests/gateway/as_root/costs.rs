//! Memory and system calls of associations.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use super::{ANY, again, libc_signal, message};
use crate::boot::is_here;
use crate::counted::Counter;
use crate::function::{Function, Seen, accept, listen, opening};
use crate::stage::{CARRIERS, Stage, forward, listener};

#[test]
fn idle_associations_take_little_memory_of_each_sidecar_and_one_that_floods_holds_up_no_other() {
    if !is_here() {
        return;
    }
    // A thousand take minutes in a guest, one processor and a build without optimisation: BARTIZAN_ASSOCIATIONS=1000.
    let many = std::env::var("BARTIZAN_ASSOCIATIONS").map_or(300, |many| many.parse().expect("a number"));
    for carrier in CARRIERS {
        let stage = Stage::new(carrier);
        let nodes = [stage.start("amf"), stage.start("gnb")];
        let waiting = listen(&stage.amf, forward());
        let resident = || {
            nodes
                .each_ref()
                .map(|node| bartizan_testing::resident(node.process.id()))
        };
        let before = resident();
        // A peer that took too long to answer is called again.
        let open: Vec<_> = (0..many).map(|_| again(&stage, &waiting)).collect();
        let after = resident();
        let grown = [after[0].saturating_sub(before[0]), after[1].saturating_sub(before[1])];
        println!("{many} associations over {carrier}: {grown:?} octets");
        // Part of it is a fixed cost. quinn has a task and two queues for each connection.
        let each = if carrier == "quic" { 60_000 } else { 40_000 };
        assert!(grown.iter().all(|&grown| grown < 5_000_000 + each * many), "{grown:?}");
        // All of them are alive.
        for (function, other) in &open {
            function.send(&message(2, 60, 20));
            assert!(matches!(other.next(), Seen::Message(_)));
        }
        one_floods(open);
    }
}

/// One of many associations of a loop floods, while some of the others are used.
fn one_floods(mut open: Vec<(Function, Function)>) {
    let (flooding, flooded) = open.swap_remove(0);
    let (flood, end) = (message(3, 60, 1000), message(3, 60, 20));
    let (ends, sent) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let (ends, sent, flood, end) = (&ends, &sent, &flood, &end);
        let sender = scope.spawn(move || {
            while !ends.load(Relaxed) {
                flooding.send(flood);
                sent.fetch_add(1, Relaxed);
            }
            flooding.send(end);
            flooding
        });
        let receiver = scope.spawn(move || {
            let mut received = 0;
            loop {
                match flooded.next() {
                    Seen::Message(message) if message == *flood => received += 1,
                    seen => break (received, seen, flooded),
                }
            }
        });
        let mut took = Vec::new();
        // Once over, and on until it is a flood: on a machine that does much else it takes a while.
        for (at, (function, other)) in open.iter().step_by(20).cycle().enumerate() {
            if at >= open.len() / 20 && (sent.load(Relaxed) > 500 || at > 1000) {
                break;
            }
            let began = Instant::now();
            let [request, answer] = [message(1, 60, 165), message(1, 60, 80)];
            function.send(&request);
            assert_eq!(other.next(), Seen::Message(request));
            other.send(&answer);
            assert_eq!(function.next(), Seen::Message(answer));
            took.push(began.elapsed());
        }
        ends.store(true, Relaxed);
        let (_flooding, (received, seen, _)) = (sender.join().unwrap(), receiver.join().unwrap());
        let sent = sent.load(Relaxed);
        took.sort_unstable();
        let (median, longest) = (took[took.len() / 2], took[took.len() - 1]);
        println!(
            "while {sent} messages of 1000 octets flooded one: {median:?} for an exchange of another, {longest:?} at most"
        );
        assert_eq!((received, &seen), (sent, &Seen::Message(end.clone())));
        assert!(sent > 500, "{sent} messages are no flood");
        // One of them may meet a moment in which the machine does something else; half of them do not.
        assert!(
            median < Duration::from_secs(3) && longest < Duration::from_secs(60),
            "{median:?} {longest:?}"
        );
    });
}

#[test]
fn a_message_costs_two_sidecars_few_system_calls() {
    if !is_here() {
        return;
    }
    for carrier in CARRIERS {
        // Each sidecar receives it and passes it on: four. In a slow guest each is acknowledged on
        // its own as well: six. QUIC acknowledges datagrams too, and quinn asks its socket again
        // after each.
        let most = if carrier == "quic" { 9.5 } else { 6.5 };
        let few = (0..3).map(|_| moving_calls(carrier)).any(|moving| moving < most);
        assert!(few, "{carrier}: {most} or more, three times");
    }
}

/// Calls that move data, of both sidecars, for a message: the number that a quarter of all turns do
/// not exceed. Other calls depend on the time in between: a busy machine adds calls to some turns,
/// and takes none away.
fn moving_calls(carrier: &'static str) -> f64 {
    const TURNS: usize = 20;
    /// In a turn, half of them each way.
    const MESSAGES: usize = 20;
    let stage = Stage::new(carrier);
    let mut nodes = [stage.start("amf"), stage.start("gnb")];
    let waiting = listen(&stage.amf, forward());
    let function = Function::open(&stage.gnb, ANY, listener(), opening(10, 10));
    let other = accept(&waiting);
    let [request, answer] = [message(1, 60, 165), message(1, 60, 80)];
    let exchange = |times| {
        for _ in 0..times {
            function.send(&request);
            assert_eq!(other.next(), Seen::Message(request.clone()));
            other.send(&answer);
            assert_eq!(function.next(), Seen::Message(answer.clone()));
        }
    };
    exchange(20);
    let counters = nodes.each_ref().map(Counter::of);
    exchange(20);
    let mut turns = Counter::during(&counters, || {
        let turn = |_| {
            let before = Counter::moving(&counters);
            exchange(MESSAGES / 2);
            (Counter::moving(&counters) - before) as f64 / MESSAGES as f64
        };
        (0..TURNS).map(turn).collect::<Vec<_>>()
    });
    nodes.iter_mut().for_each(|node| node.process.send(libc_signal::KILL));
    let calls = counters.map(Counter::finish);
    turns.sort_unstable_by(f64::total_cmp);
    let moving = turns[TURNS / 4];
    println!("{carrier}: {moving:.1} calls for a message move data, by turns {turns:?}; in all {calls:?}");
    moving
}
