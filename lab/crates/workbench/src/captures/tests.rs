use std::collections::BTreeSet;

use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::IkeSa;
use bartizan_wire::sctp::Association;
use bartizan_wire::{CaptureReader, Connection, Content, Ending, Limits, Observer, Sink, Totals};

use super::*;

#[derive(Default)]
struct Seen {
    connections: Vec<Connection>,
    associations: Vec<Association>,
    ike: Vec<IkeSa>,
    esp: Vec<EspSa>,
}

impl Sink for Seen {
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
}

fn read(file: &[u8]) -> (Seen, Totals) {
    let mut reader = CaptureReader::new();
    reader.push(file);
    let mut observer = Observer::new(Limits::default());
    let mut seen = Seen::default();
    while let Some(packet) = reader.next_packet().unwrap() {
        observer.observe(&packet, &mut seen);
    }
    reader.finish().unwrap();
    observer.finish_into(&mut seen);
    (seen, observer.totals().clone())
}

fn written(contents: Contents, bytes: u64) -> Vec<u8> {
    let mut file = Vec::new();
    let written = write(contents, bytes, 1, &mut file).unwrap();
    assert_eq!(written.bytes, file.len() as u64);
    assert!(written.bytes >= bytes);
    file
}

#[test]
fn each_pass_of_the_recordings_holds_as_much_as_the_first() {
    let counts = |bytes| {
        let (seen, totals) = read(&written(Contents::Mixed, bytes));
        assert_eq!(totals.untracked, 0);
        let ends: BTreeSet<_> = seen.connections.iter().map(|one| (one.client, one.server)).collect();
        assert_eq!(
            ends.len(),
            seen.connections.len(),
            "no two connections share addresses and ports"
        );
        [
            seen.connections.len() - 8,
            seen.associations.len(),
            seen.ike.len(),
            seen.esp.len() - 8,
        ]
    };
    let one = counts(500_000);
    let three = counts(3_200_000);
    assert_eq!(three, one.map(|count| count * 3));
    assert!(one.iter().all(|count| *count > 0), "{one:?}");
}

#[test]
fn what_is_wrapped_is_what_is_mixed() {
    let mixed = read(&written(Contents::Mixed, 500_000)).0;
    let wrapped = read(&written(Contents::Wrapped, 500_000)).0;
    let counts = |seen: &Seen| {
        [
            seen.connections.len(),
            seen.associations.len(),
            seen.ike.len(),
            seen.esp.len(),
        ]
    };
    assert_eq!(counts(&wrapped), counts(&mixed));
    let paths: BTreeSet<_> = wrapped.connections.iter().map(|one| one.path.to_string()).collect();
    assert_eq!(paths.len(), 2, "{paths:?}");
    assert!(wrapped.connections.iter().all(|one| !one.path.to_string().is_empty()));
}

#[test]
fn bulk_is_whole_records_of_live_connections_and_esp_without_a_hole() {
    let (seen, _) = read(&written(Contents::Bulk, 4_000_000));
    let bulk = seen
        .connections
        .iter()
        .filter(|one| one.from_server.stream.bytes > 100_000);
    let mut connections = 0;
    for connection in bulk {
        connections += 1;
        assert_eq!(connection.ending, Ending::Open);
        assert_eq!(
            (connection.from_server.stream.gaps, connection.from_server.stream.stray),
            (0, 0)
        );
        let Content::Tls(tls) = &connection.content else {
            panic!("{connection:?}")
        };
        assert!(tls.faults.is_empty(), "{:?}", tls.faults);
        assert!(tls.server_hello.is_some());
    }
    assert_eq!(connections, 8);
    let bulk: Vec<_> = seen.esp.iter().filter(|sa| sa.packets > 100).collect();
    assert_eq!(bulk.len(), 8);
    assert!(
        bulk.iter()
            .all(|sa| sa.missing + sa.repeated == 0 && sa.in_plaintext().is_none())
    );
}

#[test]
fn flows_all_live_at_the_end_of_the_capture() {
    for kind in FlowKind::ALL {
        let mut file = Vec::new();
        let flows = Flows {
            count: 50,
            kinds: vec![kind],
        };
        flows.write(&mut file).unwrap();
        let (seen, _) = read(&file);
        let live = seen.connections.iter().filter(|one| one.ending == Ending::Open).count();
        let content = |wanted: fn(&Content) -> bool| seen.connections.iter().filter(|one| wanted(&one.content)).count();
        let counts = [live, seen.associations.len(), seen.ike.len(), seen.esp.len()];
        match kind {
            FlowKind::Tls => assert_eq!(content(|content| matches!(content, Content::Tls(_))), 50),
            FlowKind::Http2 => assert_eq!(content(|content| matches!(content, Content::Http2(_))), 50),
            FlowKind::Tcp => assert_eq!(content(|content| matches!(content, Content::Unknown(_))), 50),
            FlowKind::Sctp => assert_eq!(counts, [0, 50, 0, 0]),
            FlowKind::Ike => assert_eq!(counts, [0, 0, 50, 0]),
            FlowKind::Esp => assert_eq!(counts, [0, 0, 0, 50]),
        }
    }
}

#[test]
fn checksums_of_copies_are_right() {
    for recording in Recording::all() {
        for packet in &recording.packets {
            let copy = Variation::of_recording(77, 3).applied(&packet.data);
            assert_eq!(copy.len(), packet.data.len());
            if copy.get(12..14) == Some(&[8, 0]) {
                assert_eq!(
                    checksum::internet(&copy[14..34]),
                    0,
                    "an IPv4 header sums up to nothing"
                );
            }
        }
    }
}
