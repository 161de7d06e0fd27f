//! Hosts that several interfaces of one capture saw: packets do not show whether these are one
//! network, or two with the same addresses.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use crate::decapsulation::Payload;
use crate::ip;
use crate::path::Layer;

/// Pairs of hosts that are distinguished.
const PAIRS: usize = 1 << 20;

/// The interface that saw each pair of hosts first.
#[derive(Default)]
pub(super) struct Interfaces {
    first: HashMap<u64, u32>,
    /// The first interface saw packets before others were described: which hosts is not known.
    begun_alone: bool,
    hasher: RandomState,
}

impl Interfaces {
    /// Returns true if a packet is between hosts that another interface of its capture saw before, or
    /// perhaps saw: beyond the bound none is known. Captures of one interface have number 0.
    pub(super) fn is_of_several(&mut self, interface: u32, payload: &Payload<'_>, layers: &[Layer]) -> bool {
        let Payload::Ip(bytes) = payload else { return false };
        if interface == 0 {
            self.begun_alone = true;
            return false;
        }
        let Some(datagram) = ip::datagram(bytes) else {
            return false;
        };
        let (one, other) = (datagram.source, datagram.destination);
        let pair = self.hasher.hash_one((one.min(other), one.max(other), layers));
        match self.first.get(&pair) {
            Some(first) => *first != interface,
            None if self.first.len() == PAIRS || self.begun_alone && interface > 1 => true,
            None => {
                self.first.insert(pair, interface);
                false
            }
        }
    }
}
