//! Links of many hosts, as events tell of them.

use std::time::Duration;

use bartizan_inspect::follow::{Recent, Tracker};
use bartizan_inspect::{Detail, MEMORY, Shares};
use bartizan_posture::Ledgers;
use bartizan_wire::link::LinkType;
use bartizan_wire::{Limits, Observer, Packet, Timestamp};

const HOSTS: u16 = 20_000;
const SECOND: u64 = 1_000_000_000;

/// UDP of no protocol that is known, from a host of a network of its own.
fn datagram(network: u8, host: u16) -> Vec<u8> {
    let [high, low] = host.to_be_bytes();
    let head = [
        0x45, 0, 0, 36, 0, 0, 0, 0, 64, 17, 0, 0, 10, network, high, low, 192, 0, 2, 1,
    ];
    [&head[..], &[0x9c, 0x40, 0x9c, 0x41, 0, 16, 0, 0], &[7; 8]].concat()
}

/// Each link that is gone was compared with each that is there: such a flood of forged senders
/// stopped the follower for minutes.
#[test]
fn twenty_thousand_links_that_are_gone_are_compared_with_twenty_thousand_others() {
    let shares = Shares::of(MEMORY, Detail::Links).followed();
    let recent = Recent::new(Duration::from_secs(600), shares);
    let (ledgers, mut tracker) = (Ledgers::default(), Tracker::new("port1"));
    for network in [1, 2] {
        let now = Timestamp(u64::from(network) * 1_000_000 * SECOND);
        let mut observer = Observer::new(Limits::default());
        let mut viewing = recent.view(&ledgers, now, true);
        for host in 0..HOSTS {
            let data = datagram(network, host);
            let packet = Packet {
                number: u64::from(host) + 1,
                time: now,
                link: LinkType(101),
                data: &data,
                original_length: data.len() as u32,
                interface: 0,
            };
            observer.observe(&packet, &mut viewing);
        }
        observer.finish_into(&mut viewing);
        let view = viewing.finish(None);
        let events = tracker.compare(&view, observer.totals(), now, Timestamp(0), None);
        let of = |name: &str| events.iter().filter(|event| event.name == name).count();
        assert_eq!((of("link-seen"), of("link-named")), (usize::from(HOSTS), 0));
    }
}
