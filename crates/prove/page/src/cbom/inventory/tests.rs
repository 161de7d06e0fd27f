use bartizan_posture::{Evidence, Ledgers};
use bartizan_wire::{CaptureReader, Limits, Observer, Sink};

use super::*;

const OPENSSL: &[u8] = include_bytes!("../../../../wire/tests/data/openssl-3.5.7.pcap");

#[derive(Default)]
struct First(Option<Connection>);

impl Sink for First {
    fn connection(&mut self, connection: Connection) {
        self.0.get_or_insert(connection);
    }
}

/// Before, a run that follows a server with another certificate each time held more with each.
#[test]
fn what_links_use_is_bounded_and_of_what_is_kept() {
    let (mut observer, mut first) = (Observer::new(Limits::default()), First::default());
    let mut reader = CaptureReader::new();
    reader.push(OPENSSL);
    while let Ok(Some(packet)) = reader.next_packet() {
        observer.observe(&packet, &mut first);
    }
    let connection = first.0.unwrap();
    let posture = Evidence::new(&connection, &Ledgers::default()).posture();
    let mut inventory = Inventory::default();
    inventory.begin("capture");
    let references: BTreeSet<String> = (0..=KEPT).map(|number| format!("certificate/{number}")).collect();
    for reference in &references {
        inventory.asset(reference, "a name", json!({}), BTreeSet::new(), &[]);
    }
    assert_eq!(inventory.beyond, 1);
    for host in 0..=USES / KEPT {
        inventory.service(
            "tcp",
            &format!("10.0.0.{host}:443"),
            &posture,
            (1, 1),
            references.clone(),
        );
    }
    let held: usize = inventory.services.values().map(|(_, used)| used.len()).sum();
    assert_eq!((held, inventory.used), (USES, USES));
    assert_eq!(inventory.beyond, 1 + KEPT as u64);
}
