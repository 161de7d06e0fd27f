//! The structures of linux/xfrm.h as they stand in memory, field by field.

use std::net::IpAddr;

use bartizan_ike::{Mode, Selector};

use super::codes::{ESP, IPV4, IPV6, TRANSPORT, TUNNEL};

/// Bytes of `xfrm_usersa_info`; where in it the counters stand, those of replayed and of wrong packets, and the number that joins it with policies.
pub(super) const STATE: usize = 224;
pub(super) const COUNTED: usize = 160;
pub(super) const FAILED: usize = 196;
pub(super) const REQID: usize = 208;
/// Bytes of a name of an algorithm.
const NAME: usize = 64;
/// No limit.
const WITHOUT_END: u64 = u64::MAX;

/// A structure that is being written, in the byte order of this machine but where the kernel wants that of the network.
pub(super) struct Layout(Vec<u8>);

impl Layout {
    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(STATE))
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        self.0
    }

    pub(super) fn u8(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }

    pub(super) fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    pub(super) fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    pub(super) fn network_u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(super) fn network_u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    /// Zeros, until so many bytes are there.
    pub(super) fn fill(mut self, to: usize) -> Self {
        self.0.resize(to, 0);
        self
    }

    fn zeros(mut self, count: usize) -> Self {
        self.0.resize(self.0.len() + count, 0);
        self
    }

    /// `xfrm_address_t`.
    pub(super) fn address(mut self, address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => {
                self.0.extend(address.octets());
                self.zeros(12)
            }
            IpAddr::V6(address) => {
                self.0.extend(address.octets());
                self
            }
        }
    }

    /// `xfrm_id`: the destination address of an SA, its SPI, and the protocol ESP.
    pub(super) fn id(self, destination: IpAddr, spi: u32) -> Self {
        self.address(destination).network_u32(spi).u8(ESP).zeros(3)
    }

    /// `xfrm_selector` of what passes from one to the other; of ports one, or any.
    pub(super) fn selector(self, from: &Prefix, to: &Prefix) -> Self {
        let port = |layout: Self, port: Option<u16>| {
            let (port, mask) = port.map_or((0, 0), |port| (port, u16::MAX));
            layout.network_u16(port).network_u16(mask)
        };
        let layout = self.address(to.address).address(from.address);
        let layout = port(port(layout, to.port), from.port);
        let layout = layout.u16(family(to.address)).u8(to.bits).u8(from.bits);
        // The interface and the user stand behind three bytes of padding: none.
        layout.u8(to.protocol.max(from.protocol)).zeros(3 + 8)
    }

    /// `xfrm_lifetime_cfg` without limits, and `xfrm_lifetime_cur` that nothing has used: IKE ends SAs, by its own clock.
    pub(super) fn lifetimes(mut self) -> Self {
        for _ in 0..4 {
            self.0.extend(WITHOUT_END.to_ne_bytes());
        }
        self.zeros(4 * 8 + 4 * 8)
    }

    /// A name of an algorithm, filled up.
    pub(super) fn name(mut self, name: &str) -> Self {
        let end = self.0.len() + NAME;
        self.0.extend(name.bytes());
        self.fill(end)
    }
}

pub(super) fn mode(mode: Mode) -> u8 {
    match mode {
        Mode::Tunnel => TUNNEL,
        Mode::Transport => TRANSPORT,
    }
}

pub(super) fn family(address: IpAddr) -> u16 {
    if address.is_ipv4() { IPV4 } else { IPV6 }
}

bartizan_registry::made! {
    /// Packets that the kernel's selectors can name: of a network, of a protocol and a port or of
    /// any.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) struct Prefix,
    /// Encodes a selector. None if its addresses are no network, or its ports several and not all.
    pub(super) of(selector: &Selector) -> Option<Self> {
        let (first, last) = selector.addresses;
        let bits = match (first, last) {
            (IpAddr::V4(first), IpAddr::V4(last)) => {
                let open = first.to_bits() ^ last.to_bits();
                let bits = open.leading_zeros();
                let whole = open.checked_add(1).is_none_or(u32::is_power_of_two);
                (whole && first.to_bits() & open == 0).then_some(bits)
            }
            (IpAddr::V6(first), IpAddr::V6(last)) => {
                let open = first.to_bits() ^ last.to_bits();
                let bits = open.leading_zeros();
                let whole = open.checked_add(1).is_none_or(u128::is_power_of_two);
                (whole && first.to_bits() & open == 0).then_some(bits)
            }
            _ => None,
        };
        let port = match selector.ports {
            (0, u16::MAX) => None,
            (one, other) if one == other => Some(one),
            _ => return None,
        };
        pub(super) address: IpAddr = first,
        pub(super) bits: u8 = u8::try_from(bits?).ok()?,
        pub(super) protocol: u8 = selector.protocol,
        pub(super) port: Option<u16>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(first: &str, last: &str, ports: (u16, u16)) -> Option<(u8, Option<u16>)> {
        let addresses = (first.parse().unwrap(), last.parse().unwrap());
        let selector = Selector {
            protocol: 132,
            ports,
            addresses,
        };
        Prefix::of(&selector).map(|prefix| (prefix.bits, prefix.port))
    }

    #[test]
    fn a_range_that_is_a_network_is_one_and_another_is_none() {
        let any = (0, u16::MAX);
        assert_eq!(of("10.78.0.1", "10.78.0.1", any), Some((32, None)));
        assert_eq!(of("10.78.0.0", "10.78.0.255", (38412, 38412)), Some((24, Some(38412))));
        assert_eq!(of("0.0.0.0", "255.255.255.255", any), Some((0, None)));
        assert_eq!(of("2001:db8::", "2001:db8::ffff", any), Some((112, None)));
        assert_eq!(
            of("::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", any),
            Some((0, None))
        );
        assert_eq!(of("10.78.0.1", "10.78.0.2", any), None);
        assert_eq!(of("10.78.0.128", "10.78.1.127", any), None);
        assert_eq!(of("10.78.0.0", "10.78.0.255", (1, 2)), None);
    }

    #[test]
    fn structures_have_the_lengths_of_the_kernels() {
        let prefix = Prefix {
            address: "10.78.0.1".parse().unwrap(),
            bits: 32,
            protocol: 0,
            port: None,
        };
        assert_eq!(Layout::new().selector(&prefix, &prefix).bytes().len(), 56);
        assert_eq!(Layout::new().id(prefix.address, 1).bytes().len(), 24);
        assert_eq!(Layout::new().lifetimes().bytes().len(), 96);
        assert_eq!(Layout::new().name("cbc(aes)").bytes().len(), 64);
    }
}
