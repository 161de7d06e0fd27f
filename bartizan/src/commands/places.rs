//! How many connections of one address are served.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Connections that are open, by address, or /64 of IPv6.
#[derive(Debug, Default)]
pub(super) struct Open(Mutex<HashMap<IpAddr, usize>>);

/// A connection's place among those of its address, until it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    open: Arc<Open>,
    from: IpAddr,
}

impl Open {
    /// A place, if the address has fewer than `most`.
    pub(super) fn hold(self: &Arc<Self>, from: IpAddr, most: usize) -> Option<Held> {
        let from = network(from);
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(from).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Held {
            open: Arc::clone(self),
            from,
        })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut open = self.open.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.from) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.from);
            }
        }
    }
}

/// Whose it is: an address, or the /64 of IPv6, which one host has to itself.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) & !u128::from(u64::MAX)).into()),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_holds_so_many_connections_and_no_more() {
        let open = Arc::new(Open::default());
        let (one, other): (IpAddr, IpAddr) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let mut held: Vec<Held> = (0..3).filter_map(|_| open.hold(one, 2)).collect();
        assert_eq!(held.len(), 2);
        assert!(open.hold(other, 2).is_some());
        held.pop();
        assert!(open.hold(one, 2).is_some());
        drop(held);
        assert!(open.0.lock().unwrap().is_empty());
    }
}
