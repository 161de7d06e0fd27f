//! Associations that outlive their carriers.

use proptest::collection::vec;
use proptest::prelude::*;

use super::properties::delivery;
use super::*;
use crate::frame::{Received, Resume};

impl Pair {
    /// The wish of the initiator on a new carrier, as the peer node reads it.
    fn wish(&mut self) -> Resume {
        self.wires = Default::default();
        self.nodes[0].resume(self.now);
        let octets = self.nodes[0].output().to_vec();
        self.nodes[0].output_taken(octets.len());
        let mut fresh = Association::responder(self.carriage, PATIENCE, self.now);
        for octet in octets {
            assert!(!fresh.is_greeted());
            fresh.carrier_received(&[octet], self.now);
        }
        fresh.resumes().unwrap().clone()
    }

    /// A new carrier that the peer refuses while the one before works.
    fn refuse(&mut self) {
        let wires = std::mem::take(&mut self.wires);
        self.wish();
        self.wires = wires;
        assert!(self.nodes[0].return_to_carrier(self.now));
    }

    /// A new carrier on which the peer's answer is lost. What was under way to the initiator on the
    /// one before arrives in part, and the end of that one after it.
    fn answer_in_vain(&mut self, most: usize) {
        let mut wires = std::mem::take(&mut self.wires);
        wires[1].take(&mut self.nodes[1]);
        let wish = self.wish();
        assert!(self.nodes[1].resumed(&wish, self.now));
        assert!(self.nodes[0].return_to_carrier(self.now));
        let numbers: Vec<u64> = wires[1].lanes.keys().copied().collect();
        for number in numbers {
            wires[1].deliver_lane(number, &mut self.nodes[0], most, self.now);
        }
        wires[1].deliver_control(&mut self.nodes[0], most, self.now);
        wires[0].take(&mut self.nodes[0]);
        self.cut("closed by the peer");
    }

    pub(super) fn reconnect(&mut self) {
        let wish = self.wish();
        assert!(self.nodes[1].resumed(&wish, self.now));
    }
}

fn numbered(count: u32) -> Vec<Message> {
    let message = |number: u32| message((number % 3) as u16, number, &vec![number as u8; number as usize * 7]);
    (0..count).map(message).collect()
}

#[test]
fn a_carrier_that_is_cut_after_any_octet_loses_and_doubles_nothing() {
    for carriage in BOTH {
        let (there, back) = (numbered(9), numbered(4));
        let mut cut_after = 0;
        loop {
            let mut pair = Pair::open(carriage);
            let ends = pair.nodes.iter().all(|node| node.end().is_none());
            assert!(ends);
            there.iter().for_each(|message| assert!(pair.send(0, message)));
            back.iter().for_each(|message| assert!(pair.send(1, message)));
            let mut carried = 0;
            while carried < cut_after && (pair.carry(0, 1) | pair.carry(1, 1)) {
                carried += 1;
                pair.command(1);
            }
            let all = carried < cut_after;
            pair.cut("cut");
            assert!(pair.nodes[0].wants_carrier() && !pair.nodes[1].wants_carrier());
            pair.reconnect();
            pair.run();
            assert_eq!(by_lane(&pair.functions[1].messages), by_lane(&there), "after {carried}");
            assert_eq!(by_lane(&pair.functions[0].messages), by_lane(&back), "after {carried}");
            assert!(pair.nodes.iter().all(|node| node.end().is_none()));
            if all {
                break;
            }
            cut_after += 1;
        }
        assert!(cut_after > 100);
    }
}

#[test]
fn an_association_moves_to_a_new_carrier_while_the_old_one_works() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        // The responder's certificate was renewed.
        pair.nodes[1].renew_carrier(pair.now);
        pair.run();
        assert!(pair.nodes[0].wants_carrier());
        let sent = message(0, 60, b"under way on the old carrier");
        assert!(pair.send(0, &sent) && pair.send(1, &sent));
        pair.wires[0].take(&mut pair.nodes[0]);
        pair.reconnect();
        pair.run();
        assert!(!pair.nodes[0].wants_carrier());
        assert_eq!(pair.functions[1].messages, std::slice::from_ref(&sent));
        assert_eq!(pair.functions[0].messages, [sent]);
        pair.nodes[0].renew_carrier(pair.now);
        assert!(pair.nodes[0].wants_carrier());
    }
}

/// A path that was lost for 9 s ended the association, and so did the end of the certificate that
/// it had begun with.
#[test]
fn a_minute_without_a_path_and_95_days_of_renewed_certificates_are_seen_by_no_function() {
    const SECOND: Duration = Duration::from_secs(1);
    const DAY: Duration = Duration::from_secs(86_400);
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        let mut sent = Vec::new();
        let mut speak = |pair: &mut Pair| {
            let number = sent.len() as u32;
            let next = message((number % 3) as u16, number, &number.to_be_bytes());
            assert!(pair.send(0, &next) && pair.send(1, &next));
            sent.push(next);
        };
        for second in 1..=60 {
            pair.now += SECOND;
            pair.nodes.iter_mut().for_each(|node| node.handle_timeout(pair.now));
            if second % 2 == 0 {
                speak(&mut pair);
            }
        }
        assert!(pair.nodes[0].wants_carrier());
        pair.reconnect();
        pair.run();
        for day in 1..=95 {
            pair.after(DAY);
            speak(&mut pair);
            pair.after(2 * SECOND);
            // Each end has a certificate of thirty days.
            for renewed in [0, 1].iter().filter(|_| day % 30 == 0) {
                pair.nodes[*renewed].renew_carrier(pair.now);
                pair.run();
                assert!(pair.nodes[0].wants_carrier());
                pair.reconnect();
                pair.run();
            }
            assert!(!pair.nodes[0].wants_carrier());
        }
        for (node, function) in pair.nodes.iter().zip(&pair.functions) {
            assert!(node.end().is_none() && function.aborted.is_none() && !function.shut_down);
            assert_eq!(by_lane(&function.messages), by_lane(&sent));
        }
        assert_eq!(pair.functions[1].connected, 1);
    }
}

#[test]
fn an_association_that_is_being_opened_moves_to_a_new_carrier() {
    for carriage in BOTH {
        let mut pair = Pair::new(carriage);
        pair.carry(0, 10_000);
        pair.nodes[1].renew_carrier(pair.now);
        pair.carry(1, 10_000);
        assert!(pair.nodes[0].wants_carrier() && pair.functions[1].connected == 0);
        pair.reconnect();
        pair.run();
        assert_eq!([pair.nodes[0].end(), pair.nodes[1].end()], [None, None]);
        assert_eq!(pair.functions[1].connected, 1);
        assert!(!pair.nodes[0].wants_carrier());
    }
}

#[test]
fn a_new_carrier_that_is_refused_leaves_the_association_on_the_one_that_works() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        let (there, back) = (numbered(9), numbered(4));
        there.iter().for_each(|message| assert!(pair.send(0, message)));
        pair.nodes[0].renew_carrier(pair.now);
        // In the middle of frames and of heads of streams.
        for most in 1..9 {
            pair.carry(0, most);
            pair.refuse();
            assert!(pair.nodes[0].has_carrier() && pair.nodes[0].wants_carrier());
        }
        // One that is not answered at all is replaced before that is refused.
        let wires = std::mem::take(&mut pair.wires);
        pair.wish();
        pair.wires = wires;
        pair.refuse();
        back.iter().for_each(|message| assert!(pair.send(1, message)));
        pair.run();
        pair.after(PATIENCE.resume);
        assert_eq!(by_lane(&pair.functions[1].messages), by_lane(&there));
        assert_eq!(by_lane(&pair.functions[0].messages), by_lane(&back));
        assert!(pair.nodes.iter().all(|node| node.end().is_none()));
        pair.reconnect();
        pair.run();
        assert!(!pair.nodes[0].wants_carrier() && pair.nodes[0].has_carrier());
    }
}

#[test]
fn a_new_carrier_that_fails_after_the_peer_s_answer_is_replaced_and_nothing_is_lost() {
    for carriage in BOTH {
        for most in [0, 1, 5, 100, 10_000] {
            let mut pair = Pair::open(carriage);
            let (there, back) = (numbered(9), numbered(7));
            there.iter().for_each(|message| assert!(pair.send(0, message)));
            back.iter().for_each(|message| assert!(pair.send(1, message)));
            pair.carry(1, 10);
            pair.answer_in_vain(most);
            assert!(pair.nodes[0].wants_carrier());
            pair.reconnect();
            pair.run();
            assert_eq!([pair.nodes[0].end(), pair.nodes[1].end()], [None, None]);
            assert_eq!(by_lane(&pair.functions[1].messages), by_lane(&there));
            assert_eq!(by_lane(&pair.functions[0].messages), by_lane(&back));
        }
    }
}

#[test]
fn a_carrier_that_is_gone_or_silent_is_not_believed_in_again() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        pair.cut("path lost");
        pair.wish();
        assert!(!pair.nodes[0].return_to_carrier(pair.now));
        pair.reconnect();
        pair.run();
        assert!(!pair.nodes[0].return_to_carrier(pair.now));
        let heard = pair.now;
        for _ in 0..3 {
            pair.now += PATIENCE.silence / 3;
            pair.nodes[0].handle_timeout(pair.now);
        }
        assert!(pair.nodes[0].wants_carrier());
        pair.refuse();
        // Its silence is not forgotten.
        assert!(pair.nodes[0].wants_carrier());
        pair.now = heard + PATIENCE.resume;
        pair.nodes[0].handle_timeout(pair.now);
        assert_eq!(pair.ending(0), Ending::Silent);
    }
}

#[test]
fn nothing_but_the_last_attempt_for_this_association_is_followed() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        let first = pair.wish();
        let second = pair.wish();
        assert!(pair.nodes[1].resumed(&second, pair.now));
        // Delayed on its way, or said again.
        assert!(!pair.nodes[1].resumed(&first, pair.now) && !pair.nodes[1].resumed(&second, pair.now));
        let other = Resume {
            token: Token([8; 16]),
            attempt: 9,
            ..second
        };
        assert!(!pair.nodes[1].resumed(&other, pair.now));
        assert!(!pair.nodes[0].resumed(&first, pair.now));
        pair.run();
        let sent = message(0, 60, b"after all");
        assert!(pair.send(0, &sent));
        pair.run();
        assert_eq!(pair.functions[1].messages, [sent]);
    }
}

#[test]
fn a_position_that_cannot_be_ends_the_association() {
    for life in [0, u64::MAX] {
        let mut pair = Pair::open(Carriage::Stream);
        pair.after(PATIENCE.silence / 3);
        let mut wish = pair.wish();
        let lanes = Vec::new();
        wish.received = Received {
            restarts: 0,
            life,
            lanes,
        };
        assert!(pair.nodes[1].resumed(&wish, pair.now));
        assert!(matches!(pair.ending(1), Ending::Unexpected(_)), "{life}");
    }
}

#[test]
fn a_peer_that_forgot_the_association_ends_it_at_once() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        assert!(pair.send(0, &message(0, 60, b"lost")));
        pair.cut("reset");
        pair.wish();
        // The peer's node was started anew.
        let mut fresh = Association::responder(carriage, PATIENCE, pair.now);
        fresh.refuse_resume(pair.now);
        pair.nodes[0].carrier_received(fresh.output(), pair.now);
        let ending = pair.ending(0);
        assert!(
            matches!(&ending, Ending::CarrierLost(detail) if detail.contains("restarted")),
            "{ending:?}"
        );
        assert!(pair.command(0) && pair.functions[0].aborted.is_some());
        assert!(pair.nodes[0].is_over());
        assert_eq!(pair.nodes[0].end().unwrap().totals.unacknowledged, 1);
    }
}

#[test]
fn a_carrier_that_the_peer_s_system_closed_is_replaced_soon_or_never() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        for node in &mut pair.nodes {
            node.carrier_ended(Loss::Closed, "closed by the peer", pair.now);
        }
        pair.now += PATIENCE.closed - Duration::from_millis(1);
        pair.nodes.iter_mut().for_each(|node| node.handle_timeout(pair.now));
        pair.reconnect();
        pair.run();
        pair.after(PATIENCE.closed);
        assert!(pair.nodes.iter().all(|node| node.end().is_none()));
        for node in &mut pair.nodes {
            node.carrier_ended(Loss::Closed, "closed by the peer", pair.now);
            assert_eq!(node.deadline(), Some(pair.now + PATIENCE.closed));
        }
        pair.after(PATIENCE.closed);
        assert!(pair.functions.iter().all(|function| function.aborted.is_some()));
        assert!(pair.nodes.iter().all(Association::is_over));
    }
}

#[test]
fn an_answer_on_a_new_carrier_is_waited_for_longer_than_the_carrier_but_not_for_ever() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        pair.nodes[0].carrier_ended(Loss::Closed, "closed by the peer", pair.now);
        let lost = pair.now;
        pair.now += PATIENCE.closed / 2;
        let wish = pair.wish();
        pair.now += 3 * PATIENCE.closed;
        pair.nodes[0].handle_timeout(pair.now);
        assert!(pair.nodes[1].resumed(&wish, pair.now));
        pair.run();
        assert!(pair.nodes[0].has_carrier() && pair.nodes[0].end().is_none());
        // Attempts that end in vain make the time no longer.
        pair.nodes[0].carrier_ended(Loss::Closed, "closed by the peer", pair.now);
        let again = pair.now;
        assert!(again > lost);
        while pair.nodes[0].end().is_none() {
            assert!(pair.now <= again + PATIENCE.resume);
            pair.wish();
            pair.nodes[0].carrier_ended(Loss::Closed, "closed by the peer", pair.now);
            pair.now += PATIENCE.closed / 2;
            pair.nodes[0].handle_timeout(pair.now);
        }
        assert!(pair.now >= again + PATIENCE.resume);
    }
}

/// Each attempt began the time anew, and nothing passed on the carrier before.
#[test]
fn an_answer_that_never_comes_ends_an_association_although_its_carrier_worked() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        pair.nodes[0].renew_carrier(pair.now);
        let begun = pair.now;
        while pair.nodes[0].end().is_none() {
            assert!(pair.now <= begun + PATIENCE.resume && pair.nodes[0].wants_carrier());
            pair.wish();
            for thirds in [2, 1] {
                pair.now += thirds * PATIENCE.silence / 3;
                pair.nodes[0].handle_timeout(pair.now);
            }
        }
        assert_eq!(pair.ending(0), Ending::Silent);
    }
}

#[test]
fn an_abort_while_there_is_no_carrier_reaches_the_other_function_over_the_next() {
    for carriage in BOTH {
        for end in [0, 1] {
            let mut pair = Pair::open(carriage);
            pair.cut("path lost");
            let cause = Cause::new(12, "stops");
            pair.nodes[end].function_aborted(cause.clone(), pair.now);
            assert!(!pair.nodes[end].is_over() && pair.nodes[0].wants_carrier());
            pair.reconnect();
            pair.run();
            assert_eq!(pair.ending(1 - end), Ending::PeerAborted(cause));
            assert!(pair.nodes.iter().all(Association::is_over));
        }
    }
}

#[test]
fn a_shutdown_while_there_is_no_carrier_is_completed_over_the_next() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        let last = message(2, 60, b"last");
        pair.cut("path lost");
        assert!(pair.send(0, &last));
        pair.nodes[0].function_shut_down(pair.now);
        pair.after(PATIENCE.silence);
        pair.reconnect();
        pair.run();
        assert_eq!(pair.functions[1].messages, [last]);
        assert_eq!([pair.ending(0), pair.ending(1)], [Ending::ShutDown, Ending::ShutDown]);
    }
}

#[test]
fn a_restart_while_there_is_no_carrier_has_the_time_of_the_outage() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        pair.cut("path lost");
        pair.nodes[0].function_restarted(STREAMS, pair.now);
        pair.after(PATIENCE.opening + PATIENCE.silence);
        // Nor does an attempt that is under way end it.
        pair.wish();
        pair.after(PATIENCE.opening);
        pair.cut("lost again");
        pair.reconnect();
        pair.run();
        assert_eq!([pair.nodes[0].end(), pair.nodes[1].end()], [None, None]);
        assert_eq!(pair.functions[1].connected, 2);
        // A peer that is reached and does not answer has no longer than before.
        pair.nodes[0].function_restarted(STREAMS, pair.now);
        pair.now += PATIENCE.opening;
        pair.nodes[0].handle_timeout(pair.now);
        assert_eq!(pair.ending(0), Ending::NotOpened);
    }
}

#[test]
fn a_function_that_sends_while_there_is_no_carrier_is_stopped_within_bounds_and_loses_nothing() {
    for carriage in BOTH {
        let mut pair = Pair::open(carriage);
        pair.cut("path lost");
        let mut sent = Vec::new();
        for number in 0..100_000 {
            let message = message((number % 4) as u16, number, &[0; 500]);
            if !pair.send(0, &message) {
                break;
            }
            sent.push(message);
        }
        assert!(!sent.is_empty() && pair.nodes[0].held() <= OUTPUT + READ);
        pair.after(PATIENCE.resume / 2);
        pair.reconnect();
        pair.run();
        assert_eq!(by_lane(&pair.functions[1].messages), by_lane(&sent));
    }
}

#[test]
fn a_peer_that_reports_nothing_of_what_it_receives_is_not_kept_for_without_bound() {
    let mut pair = Pair::open(Carriage::Stream);
    let mut alive = Vec::new();
    Frame::Alive.encode(&mut alive);
    for _ in 0..1000 {
        for _ in 0..1000 {
            pair.nodes[1].function_send_failed(0, 0, pair.now);
        }
        let waiting = pair.nodes[1].output().len();
        pair.nodes[1].output_taken(waiting);
        pair.nodes[1].carrier_received(&alive, pair.now);
        assert!(pair.nodes[1].held() <= 5 * WINDOW);
        if pair.nodes[1].end().is_some() {
            return;
        }
    }
    panic!("it held {}", pair.nodes[1].held());
}

#[test]
fn a_report_under_way_before_an_awaited_restart_is_of_lanes_that_were_dropped_for_it() {
    let mut pair = Pair::open(Carriage::Streams);
    assert!(pair.send(1, &message(1, 60, &[1; 40_000])));
    while pair.carry(1, 10_000) {}
    while pair.command(0) {}
    pair.nodes[0].function_acknowledged(pair.now);
    pair.nodes[0].function_restarted(STREAMS, pair.now);
    pair.reconnect();
    // Void: this node knows of the restart already.
    pair.nodes[1].function_sent(message(1, 60, &[]).delivery, &[2; 9], true, pair.now);
    pair.run();
    assert_eq!([pair.nodes[0].end(), pair.nodes[1].end()], [None, None]);
    let last = message(1, 60, b"after the restart");
    assert!(pair.send(1, &last));
    pair.run();
    assert_eq!(pair.functions[0].messages.last(), Some(&last));
}

proptest! {
    #[test]
    fn every_message_arrives_once_in_order_over_however_many_carriers(
        streams: bool,
        steps in vec((0..10_u8, 0..2_usize, delivery(), 0..40_000_usize, 0..12_usize), 1..150),
    ) {
        let mut pair = Pair::open(BOTH[usize::from(streams)]);
        let mut sent = [Vec::new(), Vec::new()];
        for (step, end, delivery, length, which) in steps {
            match step {
                0 | 1 if pair.nodes[end].wants_messages() => {
                    let message = Message { delivery, bytes: vec![delivery.stream as u8; length] };
                    pair.nodes[end].function_sent(delivery, &message.bytes, true, pair.now);
                    sent[end].push(message);
                }
                2 => pair.cut("path lost"),
                3 => pair.reconnect(),
                4 => {
                    // The wish, or the answer to it, is lost.
                    let wish = pair.wish();
                    if length % 2 == 0 {
                        pair.nodes[1].resumed(&wish, pair.now);
                        pair.wires[1].take(&mut pair.nodes[1]);
                    }
                    pair.cut("lost again");
                }
                6 if pair.nodes[0].has_carrier() => pair.refuse(),
                7 if pair.nodes[0].has_carrier() => pair.answer_in_vain(length),
                5 => { pair.command(end); pair.nodes[end].function_acknowledged(pair.now); }
                _ => pair.carry_one(end, length + 1, which),
            }
            for node in &pair.nodes {
                prop_assert!(node.end().is_none(), "{:?}", node.end());
                prop_assert!(node.held() <= 3 * WINDOW);
            }
        }
        pair.reconnect();
        pair.run();
        prop_assert_eq!([pair.nodes[0].end(), pair.nodes[1].end()], [None, None]);
        prop_assert_eq!(by_lane(&pair.functions[1].messages), by_lane(&sent[0]));
        prop_assert_eq!(by_lane(&pair.functions[0].messages), by_lane(&sent[1]));
    }

    #[test]
    fn restarts_of_the_association_survive_the_loss_of_carriers(
        streams: bool,
        steps in vec((0..10_u8, 0..2_usize, delivery(), 0..9_000_usize, 0..12_usize), 1..120),
    ) {
        let mut pair = Pair::open(BOTH[usize::from(streams)]);
        let mut sent = Vec::new();
        for (step, end, delivery, length, which) in steps {
            match step {
                0 | 1 if pair.nodes[end].wants_messages() => {
                    let message = Message { delivery, bytes: vec![delivery.stream as u8; length] };
                    pair.nodes[end].function_sent(delivery, &message.bytes, true, pair.now);
                    if end == 0 {
                        sent.push(message);
                    }
                }
                2 => pair.cut("path lost"),
                3 => pair.reconnect(),
                4 if length < 1000 => {
                    pair.nodes[0].function_restarted(STREAMS, pair.now);
                    sent.clear();
                }
                6 if pair.nodes[0].has_carrier() => pair.refuse(),
                7 if pair.nodes[0].has_carrier() => pair.answer_in_vain(length),
                5 => { pair.command(end); }
                _ => pair.carry_one(end, length + 1, which),
            }
            prop_assert_eq!([pair.nodes[0].end(), pair.nodes[1].end()], [None, None]);
        }
        pair.reconnect();
        pair.run();
        prop_assert_eq!([pair.nodes[0].end(), pair.nodes[1].end()], [None, None]);
        // Only of the last association is everything delivered.
        let function = &pair.functions[1];
        prop_assert_eq!(by_lane(&function.messages[function.void..]), by_lane(&sent));
    }
}
