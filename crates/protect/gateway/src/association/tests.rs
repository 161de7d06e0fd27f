mod handover;
mod properties;
mod resume;
mod streams;
mod wires;

use std::collections::BTreeMap;

use self::wires::Wires;
use super::*;
use crate::frame::{FRAGMENT, LARGEST_MESSAGE, Lane, Order, PathState};
use crate::{Cause, Fragment};

const PATIENCE: Patience = Patience {
    opening: Duration::from_secs(5),
    silence: Duration::from_secs(9),
    resume: Duration::from_secs(63),
    closed: Duration::from_millis(750),
    abort: Duration::from_secs(2),
};
const TOKEN: Token = Token([7; 16]);
const STREAMS: Streams = Streams {
    outbound: 30,
    inbound: 10,
};

/// Events that a function's socket saw.
#[derive(Debug, Default)]
struct Function {
    messages: Vec<Message>,
    /// Number of messages before the last opening.
    void: usize,
    shut_down: bool,
    aborted: Option<Cause>,
    connected: usize,
    /// It reads nothing.
    stalled: bool,
}

/// Two nodes, their functions and a carrier between them.
struct Pair {
    nodes: [Association; 2],
    functions: [Function; 2],
    carriage: Carriage,
    wires: [Wires; 2],
    now: Instant,
}

const BOTH: [Carriage; 2] = [Carriage::Stream, Carriage::Streams];

impl Pair {
    fn new(carriage: Carriage) -> Self {
        let now = Instant::now();
        Self {
            nodes: [
                Association::initiator(TOKEN, STREAMS, carriage, PATIENCE, now),
                Association::responder(carriage, PATIENCE, now),
            ],
            functions: Default::default(),
            carriage,
            wires: Default::default(),
            now,
        }
    }

    fn open(carriage: Carriage) -> Self {
        let mut pair = Self::new(carriage);
        pair.run();
        assert_eq!(pair.functions[1].connected, 1);
        pair
    }

    fn command(&mut self, end: usize) -> bool {
        let (node, function) = (&mut self.nodes[end], &mut self.functions[end]);
        let Some(command) = node.command().cloned() else {
            return false;
        };
        match command {
            Command::Connect(streams) => {
                assert_eq!(end, 1);
                function.connected += 1;
                function.void = function.messages.len();
                function.aborted = None;
                node.function_established(streams, self.now);
                return true;
            }
            Command::Send(_) if function.stalled => return false,
            Command::Send(message) => function.messages.push(message),
            Command::Shutdown => {
                function.shut_down = true;
                node.command_done(self.now);
                node.function_shut_down(self.now);
                return true;
            }
            Command::Abort(cause) => function.aborted = Some(cause),
        }
        node.command_done(self.now);
        true
    }

    fn carry(&mut self, from: usize, most: usize) -> bool {
        if self.carriage == Carriage::Streams {
            let mut moved = false;
            self.wires[from].take(&mut self.nodes[from]);
            let numbers: Vec<u64> = self.wires[from].lanes.keys().copied().collect();
            for number in numbers {
                moved |= self.wires[from].deliver_lane(number, &mut self.nodes[1 - from], most, self.now);
            }
            moved |= self.wires[from].deliver_control(&mut self.nodes[1 - from], most, self.now);
            return moved;
        }
        self.wires[from].take(&mut self.nodes[from]);
        self.wires[from].deliver_control(&mut self.nodes[1 - from], most, self.now)
    }

    /// No carrier comes any more, and none is waited for.
    fn lose(&mut self, detail: &str) {
        self.cut(detail);
        self.now += PATIENCE.resume;
        self.nodes.iter_mut().for_each(|node| node.handle_timeout(self.now));
    }

    /// Loses everything under way.
    fn cut(&mut self, detail: &str) {
        self.wires = Default::default();
        for node in &mut self.nodes {
            node.carrier_ended(Loss::Broken, detail, self.now);
        }
    }

    /// Only one of the streams gets on, as where a packet of the others is lost.
    fn carry_one(&mut self, from: usize, most: usize, which: usize) {
        if self.carriage == Carriage::Stream {
            self.carry(from, most);
            return;
        }
        self.wires[from].take(&mut self.nodes[from]);
        let (wires, node) = (&mut self.wires[from], &mut self.nodes[1 - from]);
        match which % (wires.lanes.len() + 1) {
            0 => wires.deliver_control(node, most, self.now),
            index => {
                let number = *wires.lanes.keys().nth(index - 1).unwrap();
                wires.deliver_lane(number, node, most, self.now)
            }
        };
    }

    /// An abort overtakes what is under way on other streams, and that is void then.
    fn arrives_if_unordered(&mut self) {
        if self.carriage == Carriage::Streams {
            self.run();
        }
    }

    /// Until nothing happens any more.
    fn run(&mut self) {
        while self.command(0) | self.command(1) | self.carry(0, 10_000) | self.carry(1, 777) {}
    }

    /// As a socket does: pieces of at most 64 KiB, as far as they are wanted. Whether all of it was.
    fn send(&mut self, from: usize, message: &Message) -> bool {
        let mut rest = &message.bytes[..];
        loop {
            if !self.nodes[from].wants_messages() {
                self.run();
                if !self.nodes[from].wants_messages() {
                    return false;
                }
            }
            let (piece, later) = rest.split_at(rest.len().min(READ));
            rest = later;
            self.nodes[from].function_sent(message.delivery, piece, rest.is_empty(), self.now);
            if rest.is_empty() {
                return true;
            }
        }
    }

    fn after(&mut self, wait: Duration) {
        self.now += wait;
        self.nodes.iter_mut().for_each(|node| node.handle_timeout(self.now));
        self.run();
    }

    fn ending(&self, end: usize) -> Ending {
        self.nodes[end].end().unwrap().ending
    }
}

fn message(stream: u16, payload_protocol: u32, bytes: &[u8]) -> Message {
    Message {
        delivery: Delivery {
            stream,
            payload_protocol,
            order: Order::Ordered,
        },
        bytes: bytes.to_vec(),
    }
}

/// Messages by their lane: a carrier with streams keeps no order between lanes.
fn by_lane(messages: &[Message]) -> BTreeMap<Lane, Vec<&Message>> {
    let mut lanes = BTreeMap::<Lane, Vec<&Message>>::new();
    for message in messages {
        lanes.entry(message.delivery.into()).or_default().push(message);
    }
    lanes
}

#[test]
fn stream_ppid_order_and_boundaries_of_every_message_are_kept_in_both_directions() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        let mut there = vec![
            message(0, 60, &[1; 165]),
            message(29, 0, &[]),
            message(7, 70, &vec![7; 2809]),
            message(1, u32::MAX, &vec![3; LARGEST_MESSAGE]),
        ];
        there[2].delivery.order = Order::Unordered;
        let back = [message(9, 60, &[2; 19]), message(0, 0, &vec![9; FRAGMENT_AND_ONE])];
        there.iter().for_each(|message| assert!(pair.send(0, message)));
        back.iter().for_each(|message| assert!(pair.send(1, message)));
        pair.run();
        assert_eq!(by_lane(&pair.functions[1].messages), by_lane(&there));
        assert_eq!(by_lane(&pair.functions[0].messages), by_lane(&back));
    }
}

const FRAGMENT_AND_ONE: usize = FRAGMENT + 1;

#[test]
fn messages_sent_before_the_other_function_is_connected_reach_it() {
    for carriage in BOTH {
        let mut pair = Pair::new(carriage);
        let early = message(0, 60, b"NG Setup");
        assert!(pair.send(0, &early));
        pair.run();
        assert_eq!(pair.functions[1].messages, [early]);
    }
}

#[test]
fn a_function_that_never_reads_stops_the_sender_within_a_window_and_then_gets_everything() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        pair.functions[1].stalled = true;
        let mut sent = Vec::new();
        for number in 0..100_000_u32 {
            let flood = message(3, number, &[0; 1000]);
            if !pair.send(0, &flood) {
                break;
            }
            sent.push(flood);
        }
        assert!(sent.len() < WINDOW / 1000, "{}", sent.len());
        assert!(pair.nodes.iter().all(|node| node.held() <= 2 * WINDOW + 2 * OUTPUT));
        // The other direction and the association's life are not held up.
        let answer = message(0, 1, b"answer");
        assert!(pair.send(1, &answer));
        pair.after(PATIENCE.silence / 2);
        pair.after(PATIENCE.silence / 2);
        assert_eq!(pair.functions[0].messages, [answer]);
        pair.functions[1].stalled = false;
        pair.run();
        assert_eq!(pair.functions[1].messages, sent);
        assert!(pair.nodes[0].wants_messages());
    }
}

#[test]
fn tiny_messages_cannot_make_the_peer_hold_more_than_a_window() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        pair.functions[1].stalled = true;
        let sent = (0..1_000_000).take_while(|_| pair.send(0, &message(0, 0, &[]))).count();
        assert!(sent <= WINDOW / MESSAGE_COST, "{sent}");
    }
}

#[test]
fn a_shutdown_comes_after_every_message_and_both_ends_know_that_all_was_acknowledged() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        let last = message(0, 60, b"last");
        assert!(pair.send(0, &last));
        pair.nodes[0].function_shut_down(pair.now);
        pair.run();
        assert_eq!(pair.functions[1].messages, [last]);
        assert!(pair.functions[1].shut_down && pair.functions[1].aborted.is_none());
        for (end, sent, received) in [(0, 1, 0), (1, 0, 1)] {
            let End { ending, totals } = pair.nodes[end].end().unwrap();
            assert_eq!(ending, Ending::ShutDown);
            assert_eq!(
                (totals.sent, totals.received, totals.unacknowledged),
                (sent, received, 0)
            );
            assert!(pair.nodes[end].is_over());
            assert_eq!(pair.nodes[end].streams(), Some(STREAMS));
        }
    }
}

#[test]
fn a_node_that_stops_shuts_both_associations_down_where_nothing_is_under_way() {
    for carriage in BOTH {
        for end in [0, 1] {
            let mut pair = Pair::open(carriage);
            assert!(pair.send(1 - end, &message(0, 60, b"to the node that stops")));
            assert!(pair.send(end, &message(0, 60, b"from it")));
            assert!(!pair.nodes[end].is_quiet());
            pair.run();
            // Handed to both functions, and acknowledged by neither.
            assert!(!pair.nodes[end].is_quiet());
            pair.nodes[end].function_acknowledged(pair.now);
            assert!(!pair.nodes[end].is_quiet());
            pair.nodes[1 - end].function_acknowledged(pair.now);
            pair.run();
            assert!(pair.nodes[end].is_quiet());
            pair.nodes[end].shut_down_both(pair.now);
            pair.run();
            assert_eq!([pair.ending(0), pair.ending(1)], [Ending::ShutDown, Ending::ShutDown]);
            for (function, node) in pair.functions.iter().zip(&pair.nodes) {
                assert!(function.shut_down && function.aborted.is_none() && node.is_over());
                assert_eq!(node.end().unwrap().totals.unacknowledged, 0);
            }
        }
    }
}

#[test]
fn functions_that_shut_down_at_once_end_well() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        pair.nodes[0].function_shut_down(pair.now);
        pair.nodes[1].function_shut_down(pair.now);
        pair.run();
        assert_eq!([pair.ending(0), pair.ending(1)], [Ending::ShutDown, Ending::ShutDown]);
    }
}

#[test]
fn a_shutdown_before_the_other_function_is_connected_still_delivers() {
    for carriage in BOTH {
        let mut pair = Pair::new(carriage);
        let only = message(0, 60, b"only");
        assert!(pair.send(0, &only));
        pair.nodes[0].function_shut_down(pair.now);
        pair.run();
        assert_eq!(pair.functions[1].messages, [only]);
        assert_eq!([pair.ending(0), pair.ending(1)], [Ending::ShutDown, Ending::ShutDown]);
    }
}

#[test]
fn an_abort_carries_its_cause_after_what_was_sent_before_it() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        let before = message(0, 60, b"before");
        assert!(pair.send(0, &before));
        pair.arrives_if_unordered();
        let cause = Cause::new(12, "gNB stops");
        pair.nodes[0].function_aborted(cause.clone(), pair.now);
        pair.run();
        assert_eq!(pair.functions[1].messages, [before]);
        assert_eq!(pair.functions[1].aborted, Some(cause.clone()));
        assert_eq!(pair.ending(0), Ending::Aborted(cause.clone()));
        assert_eq!(pair.ending(1), Ending::PeerAborted(cause));
        assert!(pair.nodes.iter().all(Association::is_over));
    }
}

#[test]
fn an_abort_in_the_middle_of_a_message_delivers_nothing_of_it() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        let delivery = message(0, 60, b"").delivery;
        pair.nodes[0].function_sent(delivery, &[1; 50_000], false, pair.now);
        pair.run();
        pair.nodes[0].function_aborted(Cause::new(0, ""), pair.now);
        pair.run();
        assert!(pair.functions[1].messages.is_empty() && pair.functions[1].aborted.is_some());
    }
}

#[test]
fn an_abort_does_not_wait_for_a_function_that_never_reads() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        pair.functions[1].stalled = true;
        assert!(pair.send(0, &message(0, 60, b"unread")));
        pair.arrives_if_unordered();
        pair.nodes[0].function_aborted(Cause::new(0, ""), pair.now);
        pair.run();
        assert_eq!(pair.functions[1].aborted, None);
        pair.after(PATIENCE.abort);
        assert!(pair.functions[1].aborted.is_some());
        assert_eq!(pair.nodes[1].end().unwrap().totals.undelivered, 1);
    }
}

#[test]
fn a_restart_voids_what_was_under_way_and_makes_the_association_anew() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        pair.functions[1].stalled = true;
        assert!(pair.send(0, &message(0, 60, b"void")));
        // On its way when the function restarts.
        assert!(pair.send(1, &message(0, 60, b"void too")));
        let fewer = Streams {
            outbound: 2,
            inbound: 2,
        };
        pair.nodes[0].function_restarted(fewer, pair.now);
        let fresh = message(1, 60, b"NG Setup again");
        assert!(pair.send(0, &fresh));
        pair.functions[1].stalled = false;
        // The first association's message is handed over where it came before the restart did.
        while pair.carry(0, 100_000) | pair.carry(1, 100_000) {}
        assert!(matches!(pair.nodes[1].command(), Some(Command::Abort(_))));
        pair.run();
        assert_eq!(pair.functions[1].messages, [fresh]);
        assert_eq!(pair.functions[1].connected, 2);
        assert!(pair.functions[0].messages.is_empty());
        let answer = message(1, 60, b"answer");
        assert!(pair.send(1, &answer));
        pair.run();
        assert_eq!(pair.functions[0].messages, [answer]);
        assert!(pair.nodes.iter().all(|node| node.end().is_none()));
        assert_eq!(pair.nodes[1].streams(), Some(fewer));
    }
}

#[test]
fn restarts_without_end_hold_no_more_than_one_window() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        pair.functions[1].stalled = true;
        for _ in 0..50 {
            while pair.send(0, &message(0, 60, &[0; 60_000])) {}
            pair.nodes[0].function_restarted(STREAMS, pair.now);
            pair.run();
            assert!(pair.nodes.iter().all(|node| node.held() <= 2 * WINDOW + 2 * OUTPUT));
            assert!(pair.nodes.iter().all(|node| node.end().is_none()));
        }
        assert_eq!(pair.functions[1].connected, 51);
    }
}

#[test]
fn a_restart_by_the_other_function_aborts_both_with_that_cause() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        pair.nodes[1].function_restarted(STREAMS, pair.now);
        pair.run();
        for function in &pair.functions {
            assert!(function.aborted.as_ref().unwrap().text.contains("restarted"));
        }
    }
}

#[test]
fn a_lost_carrier_aborts_both_functions_after_what_was_received_whole() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        let whole = message(0, 60, b"whole");
        assert!(pair.send(0, &whole));
        assert!(pair.carry(0, 100));
        pair.nodes[0].function_sent(whole.delivery, b"begun", false, pair.now);
        pair.carry(0, 100);
        pair.lose("connection reset");
        pair.run();
        assert_eq!(pair.functions[1].messages, [whole]);
        for (function, node) in pair.functions.iter().zip(&pair.nodes) {
            let cause = function.aborted.as_ref().unwrap();
            assert!(cause.text.ends_with("was lost: connection reset"), "{cause}");
            assert!(node.is_over());
        }
        assert_eq!(pair.nodes[0].end().unwrap().totals.unacknowledged, 1);
    }
}

#[test]
fn acknowledged_messages_are_known_to_the_sender_and_the_rest_is_counted() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        assert!(pair.send(0, &message(0, 60, b"one")));
        pair.run();
        pair.nodes[1].function_acknowledged(pair.now);
        pair.run();
        assert!(pair.send(0, &message(0, 60, b"two")));
        pair.lose("gone");
        let totals = pair.nodes[0].end().unwrap().totals;
        assert_eq!((totals.sent, totals.unacknowledged), (2, 1));
    }
}

#[test]
fn what_was_handed_over_after_the_acknowledgement_is_not_reported_with_it() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        assert!(pair.send(0, &message(0, 60, b"one")));
        pair.run();
        pair.nodes[1].function_acknowledged(pair.now);
        assert!(pair.send(0, &message(0, 60, b"two")));
        pair.run();
        pair.after(ASKED_AFTER);
        pair.lose("gone");
        assert_eq!(pair.nodes[0].end().unwrap().totals.unacknowledged, 1);
    }
}

#[test]
fn the_kernel_is_asked_for_acknowledgements_ever_less_often_until_there_is_one() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        let asks = |pair: &Pair| pair.nodes[1].asks_for_acknowledgement(pair.now);
        assert!(pair.send(0, &message(0, 60, b"one")));
        pair.run();
        let mut questions = 0;
        for _ in 0..100 {
            pair.now += ASKED_AFTER;
            questions += usize::from(asks(&pair));
            pair.after(Duration::ZERO);
        }
        // After 0.1, 0.3, 0.7, 1.5 seconds, then every 1.6.
        assert_eq!(questions, 9);
        // The next message is asked about as soon as the first one was.
        assert!(pair.send(0, &message(0, 60, b"two")));
        pair.run();
        pair.now += ASKED_AFTER;
        assert!(asks(&pair));
        pair.nodes[1].function_acknowledged(pair.now);
        assert!(!asks(&pair));
        pair.run();
        pair.after(ASKED_AT_LEAST);
        assert!(!asks(&pair));
        pair.lose("gone");
        assert_eq!(pair.nodes[0].end().unwrap().totals.unacknowledged, 0);
    }
}

#[test]
fn nodes_that_have_nothing_to_say_stay_in_touch_and_a_silent_one_ends_it() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        for _ in 0..20 {
            let due = pair.nodes.iter().filter_map(Association::deadline).min().unwrap();
            pair.after(due.saturating_duration_since(pair.now));
        }
        assert!(pair.nodes.iter().all(|node| node.end().is_none()));
        // The other one is killed: nothing is carried any more.
        pair.now += PATIENCE.silence * 2 / 3;
        pair.nodes[0].handle_timeout(pair.now);
        assert!(pair.nodes[0].end().is_none());
        pair.now += PATIENCE.silence / 3;
        pair.nodes[0].handle_timeout(pair.now);
        assert!(pair.nodes[0].end().is_none() && pair.nodes[0].wants_carrier());
        pair.now += PATIENCE.resume - PATIENCE.silence;
        pair.nodes[0].handle_timeout(pair.now);
        assert_eq!(pair.ending(0), Ending::Silent);
        assert!(pair.command(0) && pair.functions[0].aborted.is_some());
    }
}

#[test]
fn a_node_that_was_stopped_itself_hears_its_peer_before_it_calls_it_silent() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        // Both were: a machine that was suspended with them.
        pair.after(10 * PATIENCE.silence);
        assert!(pair.nodes.iter().all(|node| node.end().is_none()));
        pair.after(PATIENCE.silence / 3);
        assert!(pair.nodes.iter().all(|node| node.end().is_none()));
        // One alone, and the other is gone.
        pair.now += 10 * PATIENCE.silence;
        pair.nodes[0].handle_timeout(pair.now);
        assert!(pair.nodes[0].end().is_none());
        pair.now += PATIENCE.silence / 3;
        pair.nodes[0].handle_timeout(pair.now);
        assert!(pair.nodes[0].end().is_none() && pair.nodes[0].wants_carrier());
        pair.now += PATIENCE.resume - PATIENCE.silence;
        pair.nodes[0].handle_timeout(pair.now);
        assert_eq!(pair.ending(0), Ending::Silent);
    }
}

#[test]
fn a_peer_that_does_not_open_its_side_in_time_is_not_waited_for() {
    for carriage in BOTH {
        let mut pair = Pair::new(carriage);
        pair.now += PATIENCE.opening;
        pair.nodes[0].handle_timeout(pair.now);
        assert_eq!(pair.ending(0), Ending::NotOpened);
        assert!(pair.command(0));
        assert!(pair.functions[0].aborted.as_ref().unwrap().text.contains("in time"));
    }
}

#[test]
fn a_function_that_cannot_be_reached_is_asked_to_the_one_that_called() {
    for carriage in BOTH {
        let mut pair = Pair::new(carriage);
        pair.carry(0, 100);
        assert_eq!(pair.nodes[1].command(), Some(&Command::Connect(STREAMS)));
        pair.nodes[1].function_aborted(Cause::new(0, "127.0.0.5:38412 refuses"), pair.now);
        pair.run();
        let cause = pair.functions[0].aborted.as_ref().unwrap();
        assert!(cause.text.contains("127.0.0.5:38412 refuses"));
    }
}

#[test]
fn a_message_on_a_stream_that_was_not_granted_is_not_moved_to_another() {
    for carriage in BOTH {
        for connected in [true, false] {
            let mut pair = if connected {
                Pair::open(carriage)
            } else {
                Pair::new(carriage)
            };
            assert!(pair.send(0, &message(30, 60, b"no such stream")));
            pair.run();
            assert_eq!(
                pair.ending(1),
                Ending::NoStream {
                    stream: 30,
                    granted: 30
                }
            );
            assert!(pair.functions[1].messages.is_empty());
            for function in &pair.functions {
                assert!(function.aborted.as_ref().unwrap().text.contains("stream 30"));
            }
        }
    }
}

#[test]
fn a_message_of_more_than_256_kib_aborts_the_association_and_says_why() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        assert!(pair.send(0, &message(0, 60, &vec![0; LARGEST_MESSAGE + 1])));
        pair.run();
        assert_eq!(pair.ending(0), Ending::TooLarge);
        assert!(pair.functions[1].messages.is_empty());
    }
}

#[test]
fn another_version_is_refused_by_name() {
    let now = Instant::now();
    let mut node = Association::responder(Carriage::Stream, PATIENCE, now);
    let mut octets = Vec::new();
    let (version, token, streams) = (2, TOKEN, STREAMS);
    let open = Frame::Open {
        version,
        token,
        streams,
    };
    open.encode(&mut octets);
    node.carrier_received(&octets, now);
    assert_eq!(node.end().unwrap().ending, Ending::Version(2));
    assert!(node.command().is_none() && !node.output().is_empty());
}

#[test]
fn frames_that_do_not_belong_where_they_come_end_the_association() {
    let streams = STREAMS;
    let fragment = |bytes: &[u8], stream, last| {
        let delivery = message(stream, 0, b"").delivery;
        Frame::Message(Fragment {
            delivery,
            bytes: bytes.to_vec(),
            last,
        })
    };
    let open = Frame::Open {
        version: VERSION,
        token: TOKEN,
        streams,
    };
    for frames in [
        vec![Frame::Shutdown],
        vec![fragment(b"early", 0, true)],
        vec![Frame::Restart(streams)],
        vec![open.clone(), open.clone()],
        vec![open.clone(), Frame::Opened { restarts: 0, streams }],
        vec![open.clone(), Frame::Credit(1)],
        vec![open.clone(), Frame::Delivered(1)],
        vec![open.clone(), Frame::Closed],
        vec![open.clone(), Frame::Shutdown, Frame::Shutdown],
        vec![open.clone(), Frame::Shutdown, fragment(b"late", 0, true)],
        vec![open.clone(), fragment(b"a", 0, false), fragment(b"b", 1, true)],
        vec![open.clone(), fragment(b"", 0, false)],
    ] {
        let now = Instant::now();
        let mut node = Association::responder(Carriage::Stream, PATIENCE, now);
        let mut octets = Vec::new();
        frames.iter().for_each(|frame| frame.encode(&mut octets));
        node.carrier_received(&octets, now);
        assert!(
            matches!(node.end().unwrap().ending, Ending::Unexpected(_)),
            "{frames:?}: {:?}",
            node.end()
        );
    }
}
