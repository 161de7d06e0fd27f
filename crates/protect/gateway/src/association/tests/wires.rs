//! A carrier with streams that a test delivers as it likes.

use super::*;

/// Data under way from one node to the other on a carrier with streams.
#[derive(Debug, Default)]
pub(super) struct Wires {
    pub(super) control: Vec<u8>,
    /// By the carrier's numbers.
    pub(super) lanes: BTreeMap<u64, Vec<u8>>,
    /// Those on which the sender goes on.
    numbers: BTreeMap<Lane, u64>,
    next: u64,
    restarts: u32,
}

impl Wires {
    /// Takes what a node has for the other.
    pub(super) fn take(&mut self, node: &mut Association) {
        if self.restarts != node.restarts() {
            // Data under way may still arrive.
            self.restarts = node.restarts();
            self.numbers.clear();
        }
        while !node.output().is_empty() {
            let octets = node.output().to_vec();
            node.output_taken(octets.len());
            self.control.extend(octets);
        }
        loop {
            let next = node.lane_output().next();
            let Some((lane, octets)) = next.map(|(lane, octets)| (lane, octets.to_vec())) else {
                break;
            };
            node.lane_output_taken(lane, octets.len());
            let number = *self.numbers.entry(lane).or_insert_with(|| {
                self.next += 1;
                self.next
            });
            self.lanes.entry(number).or_default().extend(octets);
        }
    }

    /// Hands at most so many octets of a lane to a node; whether anything happened.
    pub(super) fn deliver_lane(&mut self, number: u64, node: &mut Association, most: usize, now: Instant) -> bool {
        if node.lane_is_void(number) {
            self.lanes.remove(&number);
            node.lane_ended(number);
            return true;
        }
        let Some(wire) = self.lanes.get_mut(&number) else {
            return false;
        };
        let octets = wire.len().min(most).min(node.lane_room(number));
        let octets: Vec<u8> = wire.drain(..octets).collect();
        node.lane_received(number, &octets, now);
        !octets.is_empty()
    }

    pub(super) fn deliver_control(&mut self, node: &mut Association, most: usize, now: Instant) -> bool {
        let octets = self.control.len().min(most);
        let octets: Vec<u8> = self.control.drain(..octets).collect();
        if !octets.is_empty() {
            node.carrier_received(&octets, now);
        }
        !octets.is_empty()
    }
}
