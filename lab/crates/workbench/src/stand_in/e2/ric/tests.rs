//! A node and its RIC that hand each other messages, without network and at a clock of their own.

use std::time::{Duration, Instant};

use crate::stand_in::e2::node::Node;
use crate::stand_in::e2::ric::Ric;
use crate::stand_in::e2::script::{Load, Pace, Script};
use crate::stand_in::e2::{Exchange, synthetic};

struct Pair<'a> {
    node: Node<'a>,
    ric: Ric<'a>,
    now: Instant,
    /// Sizes of what was said, the node's positive.
    said: Vec<i64>,
}

fn script(pace: Pace, control: Option<usize>) -> Script {
    let load = Load {
        nodes: 1,
        pace,
        control,
        payload_protocol: None,
    };
    Script::new(&Exchange::flexric(), load).unwrap()
}

impl<'a> Pair<'a> {
    fn new(script: &'a Script) -> Self {
        let now = Instant::now();
        Self {
            node: Node::new(script, 0, now),
            ric: Ric::new(script),
            now,
            said: Vec::new(),
        }
    }

    /// Delivers messages until both ends are done or neither has anything to send. `lost` decides
    /// by the number of messages sent which ones are not delivered.
    fn run(&mut self, mut lost: impl FnMut(usize) -> bool) {
        while let Some(due) = [self.node.due(), self.ric.due()].into_iter().flatten().min() {
            self.now = self.now.max(due);
            while let Some(out) = self.node.next(self.now) {
                self.said.push(out.bytes.len() as i64);
                if !lost(self.said.len()) {
                    self.ric.take(&out.bytes, self.now).unwrap();
                }
            }
            while let Some(out) = self.ric.next(self.now) {
                self.said.push(-(out.bytes.len() as i64));
                if !lost(self.said.len()) {
                    self.node.take(&out.bytes, self.now).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_replay_says_what_was_recorded_in_its_order_and_time() {
    let exchange = Exchange::flexric();
    let script = script(Pace::Recorded { faster: 1.0 }, None);
    let mut pair = Pair::new(&script);
    let began = pair.now;
    pair.run(|_| false);
    assert!(pair.node.done() && pair.ric.done());
    let recorded: Vec<i64> = exchange
        .messages()
        .iter()
        .map(|message| match message.from {
            crate::stand_in::e2::End::Node => message.bytes.len() as i64,
            crate::stand_in::e2::End::Ric => -(message.bytes.len() as i64),
        })
        .collect();
    assert_eq!(pair.said, recorded);
    let [first, .., last] = exchange.messages() else {
        panic!("messages")
    };
    let error = (pair.now - began).abs_diff(last.at - first.at);
    assert!(error < Duration::from_micros(10), "{error:?}");
    assert_eq!((pair.node.lost(), pair.ric.received()), (0, 5));
}

#[test]
fn every_indication_gets_a_control_message_and_that_a_reply() {
    let pace = Pace::Rate {
        kilobits: 500.0,
        lasting: Duration::from_secs(2),
    };
    let script = script(pace, Some(133));
    let mut pair = Pair::new(&script);
    pair.run(|_| false);
    assert!(pair.node.done() && pair.ric.done());
    let count = script.count();
    assert!(count > 10);
    assert_eq!(pair.node.loops().len(), count);
    assert_eq!(pair.ric.replies().len(), count);
    assert_eq!(pair.said.iter().filter(|&&size| size.abs() == 133).count(), 2 * count);
}

#[test]
fn a_lost_association_costs_what_was_under_way_and_no_more() {
    let pace = Pace::Rate {
        kilobits: 500.0,
        lasting: Duration::from_secs(2),
    };
    let script = script(pace, Some(100));
    let mut pair = Pair::new(&script);
    pair.run_for(20);
    let (sent, looped) = (pair.node.sent(), pair.node.loops().len());
    pair.node.again(pair.now);
    pair.ric.again();
    pair.run(|_| false);
    assert!(pair.node.done() && pair.ric.done());
    assert_eq!(pair.node.sent(), script.count());
    assert_eq!(pair.node.loops().len(), looped + script.count() - sent);
    assert_eq!(pair.node.lost(), sent - looped);
}

#[test]
fn what_the_script_does_not_have_is_unexpected() {
    let script = script(Pace::Recorded { faster: 10.0 }, None);
    let now = Instant::now();
    let mut node = Node::new(&script, 0, now);
    assert!(node.take(b"early", now).is_err(), "nothing was sent yet");
    node.next(now).unwrap();
    assert!(
        node.take(&synthetic::message(synthetic::Kind::Control, 0, 40), now)
            .is_err()
    );
    let mut ric = Ric::new(&script);
    assert!(ric.take(b"no set-up", now).is_err());
}

impl Pair<'_> {
    /// The first messages, the last of which is not delivered.
    fn run_for(&mut self, messages: usize) {
        while self.said.len() < messages {
            let due = [self.node.due(), self.ric.due()].into_iter().flatten().min().unwrap();
            self.now = self.now.max(due);
            if let Some(out) = self.node.next(self.now) {
                self.said.push(out.bytes.len() as i64);
                if self.said.len() < messages {
                    self.ric.take(&out.bytes, self.now).unwrap();
                }
            } else if let Some(out) = self.ric.next(self.now) {
                self.said.push(-(out.bytes.len() as i64));
                if self.said.len() < messages {
                    self.node.take(&out.bytes, self.now).unwrap();
                }
            }
        }
    }
}
