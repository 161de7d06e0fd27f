//! Results of an observer while packets still come.

use std::collections::BTreeSet;

use bartizan_wire::datagrams::{DatagramProtocol, Datagrams};
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::IkeSa;
use bartizan_wire::sctp::Association;
use bartizan_wire::{CaptureReader, Connection, Ending, Limits, Observer, Packet, Sink, Start, Timestamp};
use proptest::prelude::*;

const CAPTURES: [(&str, &[u8]); 4] = [
    ("openssl", include_bytes!("data/openssl-3.5.7.pcap")),
    ("sbi", include_bytes!("data/sbi-free5gc-two-registrations.pcap")),
    ("n2", include_bytes!("data/n2-free5gc-two-registrations.pcap")),
    ("strongswan", include_bytes!("data/strongswan-6.1.0.pcap")),
];

/// All that an observer gave.
#[derive(Debug, Default, PartialEq)]
struct Given {
    connections: Vec<Connection>,
    associations: Vec<Association>,
    ike: Vec<IkeSa>,
    esp: Vec<EspSa>,
    datagrams: Vec<Datagrams>,
}

impl Given {
    fn count(&self) -> usize {
        self.connections.len() + self.associations.len() + self.ike.len() + self.esp.len() + self.datagrams.len()
    }
}

impl Sink for Given {
    fn connection(&mut self, connection: Connection) {
        self.connections.push(connection);
    }

    fn association(&mut self, association: Association) {
        self.associations.push(association);
    }

    fn ike_sa(&mut self, sa: IkeSa) {
        self.ike.push(sa);
    }

    fn esp_sa(&mut self, sa: EspSa) {
        self.esp.push(sa);
    }

    fn datagrams(&mut self, datagrams: Datagrams) {
        self.datagrams.push(datagrams);
    }
}

/// Calls `each` with every packet and its place.
fn packets(file: &[u8], mut each: impl FnMut(usize, &Packet<'_>)) {
    let mut reader = CaptureReader::new();
    reader.push(file);
    let mut place = 0;
    while let Some(packet) = reader.next_packet().unwrap() {
        each(place, &packet);
        place += 1;
    }
}

fn length(file: &[u8]) -> usize {
    let mut count = 0;
    packets(file, |_, _| count += 1);
    count
}

fn observer_after(file: &[u8], count: usize, given: &mut Given) -> Observer {
    let mut observer = Observer::new(Limits::default());
    packets(file, |place, packet| {
        if place < count {
            observer.observe(packet, given);
        }
    });
    observer
}

fn is_of_parts(datagrams: &Datagrams) -> bool {
    matches!(datagrams.protocol, DatagramProtocol::Fragments(_))
}

/// Parts of packets whose rest has not come: at the end they are what they are, while packets come they wait for it.
fn without_waiting_parts(ended: &mut Given, shown: &Given) -> usize {
    let before = ended.datagrams.len();
    let shown = &shown.datagrams;
    ended.datagrams.retain(|one| !is_of_parts(one) || shown.contains(one));
    before - ended.datagrams.len()
}

#[test]
fn parts_of_a_packet_wait_for_the_rest_before_they_are_shown() {
    // Every place of the capture: the fragments of an IKE_SA_INIT with ML-KEM-1024 come one after the other.
    let (_, file) = CAPTURES[3];
    let mut waiting = 0;
    for count in 0..=length(file) {
        let (mut shown, mut ended) = (Given::default(), Given::default());
        let observer = observer_after(file, count, &mut Given::default());
        observer.live_into(&mut shown);
        let mut observer = observer;
        observer.finish_into(&mut ended);
        assert!(!shown.datagrams.iter().any(is_of_parts), "after {count}");
        waiting += without_waiting_parts(&mut ended, &shown);
        assert_eq!(shown, ended, "after {count}");
    }
    assert!(waiting > 0, "no place of the capture is between two fragments");
}

#[test]
fn parts_of_a_packet_that_are_given_up_are_shown_while_packets_come() {
    let (_, file) = CAPTURES[3];
    let shown = |observer: &Observer| {
        let mut shown = Given::default();
        observer.live_into(&mut shown);
        shown.datagrams.iter().filter(|one| is_of_parts(one)).count()
    };
    let mut given_up = 0;
    for count in 0..=length(file) {
        let mut observer = observer_after(file, count, &mut Given::default());
        let Some(last) = observer.totals().last else { continue };
        let lifetime = Limits::default().fragments.lifetime;
        observer.give_up_fragments(Some(Timestamp(last.time.0)));
        assert_eq!(shown(&observer), 0, "after {count}: the rest may come yet");
        let mut late = observer_after(file, count, &mut Given::default());
        late.give_up_fragments(Some(Timestamp(last.time.0 + lifetime + 1)));
        observer.give_up_fragments(None);
        assert_eq!(shown(&late), shown(&observer), "after {count}");
        given_up += shown(&observer);
    }
    assert!(given_up > 0, "no place of the capture is between two fragments");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_shown_of_what_lives_is_what_the_end_would_give(capture in 0..CAPTURES.len(), part in 0.0..=1.0f64) {
        let (name, file) = CAPTURES[capture];
        let count = (length(file) as f64 * part) as usize;
        let mut observer = observer_after(file, count, &mut Given::default());
        let (mut shown, mut again, mut ended) = (Given::default(), Given::default(), Given::default());
        observer.live_into(&mut shown);
        observer.live_into(&mut again);
        let holding = observer.holding();
        observer.finish_into(&mut ended);
        prop_assert_eq!(&shown, &again, "{} after {}: looking changed it", name, count);
        without_waiting_parts(&mut ended, &shown);
        prop_assert_eq!(&shown, &ended, "{} after {}", name, count);
        let held = holding.connections + holding.associations + holding.ike_sas + holding.esp_sas + holding.datagrams;
        prop_assert_eq!(held, ended.count());
        prop_assert!(holding.bytes > 0 || held == 0, "{} after {}: what lives takes memory", name, count);
    }

    #[test]
    fn looking_at_it_after_every_packet_changes_nothing(capture in 0..CAPTURES.len(), every in 40..400usize) {
        let (name, file) = CAPTURES[capture];
        let mut expected = Given::default();
        observer_after(file, usize::MAX, &mut expected).finish_into(&mut expected);
        let (mut given, mut observer) = (Given::default(), Observer::new(Limits::default()));
        packets(file, |place, packet| {
            observer.observe(packet, &mut given);
            if place % every == 0 {
                observer.live_into(&mut Given::default());
            }
        });
        observer.finish_into(&mut given);
        prop_assert_eq!(given, expected, "{}", name);
    }
}

#[test]
fn what_is_forgotten_is_given_once_and_its_memory_given_back() {
    for (name, file) in CAPTURES {
        let mut given = Given::default();
        let mut observer = observer_after(file, usize::MAX, &mut given);
        let before = given.count();
        let live = {
            let mut live = Given::default();
            observer.live_into(&mut live);
            live.count()
        };
        observer.forget_idle(Timestamp(0), &mut given);
        assert_eq!(
            given.count(),
            before,
            "{name}: nothing is older than the beginning of time"
        );
        observer.forget_idle(Timestamp(u64::MAX), &mut given);
        assert_eq!(given.count(), before + live, "{name}");
        let holding = observer.holding();
        let held = holding.connections + holding.associations + holding.ike_sas + holding.esp_sas + holding.datagrams;
        assert_eq!(held, 0, "{name}");
        // Only the ends of an ended connection are remembered: 100 bytes, in a table of which three
        // of four places may be empty.
        let endings = given.connections.iter().map(|one| one.ending);
        let endings = endings.chain(given.associations.iter().map(|one| one.ending));
        let ended = endings.filter(|ending| *ending != Ending::Open).count();
        assert!(
            holding.bytes <= 400 * ended,
            "{name}: {} bytes for {ended}",
            holding.bytes
        );
        observer.finish_into(&mut given);
        assert_eq!(given.count(), before + live, "{name}: nothing is given twice");
    }
}

#[test]
fn a_connection_that_speaks_again_after_it_was_forgotten_is_one_in_mid_stream() {
    let (_, file) = CAPTURES[1];
    let mut observer = Observer::new(Limits::default());
    let (mut before, mut after) = (Given::default(), Given::default());
    let half = length(file) / 2;
    packets(file, |place, packet| {
        if place == half {
            observer.forget_idle(Timestamp(u64::MAX), &mut before);
        }
        observer.observe(packet, if place < half { &mut before } else { &mut after });
    });
    observer.finish_into(&mut after);
    let ends = |given: &Given, start| -> BTreeSet<_> {
        let of = given.connections.iter().filter(|connection| connection.start == start);
        of.map(|connection| {
            let mut ends = [connection.client, connection.server];
            ends.sort();
            ends
        })
        .collect()
    };
    let known = ends(&before, Start::Syn);
    let again = ends(&after, Start::Midstream);
    assert!(!again.is_empty());
    assert!(again.is_subset(&known), "only what was known can be in mid-stream");
}

#[test]
fn ipsec_between_two_hosts_is_forgotten_together_or_not_at_all() {
    let (_, file) = CAPTURES[3];
    let mut all = Given::default();
    let mut observer = observer_after(file, usize::MAX, &mut all);
    let mut live = Given::default();
    observer.live_into(&mut live);
    let hosts = |one: std::net::IpAddr, other: std::net::IpAddr| (one.min(other), one.max(other));
    let pairs = |given: &Given| -> BTreeSet<_> {
        let ike = given.ike.iter().map(|sa| hosts(sa.initiator.ip(), sa.responder.ip()));
        ike.chain(given.esp.iter().map(|sa| hosts(sa.source, sa.destination)))
            .collect()
    };
    let mut times: Vec<_> = live.esp.iter().map(|sa| sa.last.time).collect();
    times.sort();
    let middle = times[times.len() / 2];
    let mut forgotten = Given::default();
    observer.forget_idle(middle, &mut forgotten);
    let mut left = Given::default();
    observer.live_into(&mut left);
    assert!(!pairs(&forgotten).is_empty() && !pairs(&left).is_empty());
    assert!(pairs(&forgotten).is_disjoint(&pairs(&left)));
}

#[test]
fn an_idle_pair_of_esp_associations_takes_1000_bytes_at_most_also_where_its_table_has_just_grown() {
    const PAIRS: u32 = 7500;
    let mut observer = Observer::new(Limits::default());
    let mut given = Given::default();
    for number in 0..2 * PAIRS {
        let mut packet = vec![0x45, 0, 0, 96, 0, 0, 0, 0, 64, 50, 0, 0];
        let (one, other) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        packet.extend(if number % 2 == 0 { [one, other] } else { [other, one] }.concat());
        packet.extend((0x1000 + number).to_be_bytes());
        packet.extend(1u32.to_be_bytes());
        packet.resize(96, 0x5a);
        let packet = Packet {
            number: u64::from(number) + 1,
            time: Timestamp(u64::from(number)),
            link: bartizan_wire::link::LinkType::RAW,
            data: &packet,
            original_length: 96,
            interface: 0,
        };
        observer.observe(&packet, &mut given);
    }
    assert_eq!(observer.holding().esp_sas, 2 * PAIRS as usize);
    let each = observer.held() / PAIRS as usize;
    assert!(each <= 1000, "{each}");
}
