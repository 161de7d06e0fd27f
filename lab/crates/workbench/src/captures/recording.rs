//! The recorded captures of this tree.

use bartizan_wire::CaptureReader;

/// One capture, in memory.
pub(super) struct Recording {
    pub(super) packets: Vec<Recorded>,
}

/// One frame of Ethernet.
#[derive(Clone)]
pub(super) struct Recorded {
    /// Nanoseconds since the frame before it.
    pub(super) gap_ns: u64,
    pub(super) data: Vec<u8>,
}

/// Unencrypted SBI: two UE registrations.
const SBI: &[u8] = include_bytes!("../../../../experiments/ue-registration/sbi.pcap");
/// TLS of OpenSSL 3.5, one situation per port; `crates/prove/wire/tests/data/README.md` lists them.
pub(super) const OPENSSL: &[u8] = include_bytes!("../../../../../crates/prove/wire/tests/data/openssl-3.5.7.pcap");
/// SBI in TLS: two sidecars.
const SIDECAR: &[u8] = include_bytes!("../../../../../crates/prove/wire/tests/data/sidecar-hybrid.pcap");
/// IKEv2, and ESP in UDP.
pub(super) const STRONGSWAN: &[u8] =
    include_bytes!("../../../../../crates/prove/wire/tests/data/strongswan-6.1.0.pcap");
/// E2 on SCTP.
pub(super) const E2: &[u8] = include_bytes!("../../../../../crates/prove/wire/tests/data/e2-flexric-kpm.pcap");
/// N2 on SCTP.
const N2: &[u8] = include_bytes!("../../../../../crates/prove/wire/tests/data/n2-free5gc-two-registrations.pcap");

impl Recording {
    /// All of them.
    pub(super) fn all() -> Vec<Self> {
        [SBI, OPENSSL, SIDECAR, STRONGSWAN, E2, N2].map(Self::of).into()
    }

    /// Reads one; the captures of this tree are whole.
    pub(super) fn of(file: &[u8]) -> Self {
        let mut reader = CaptureReader::new();
        reader.push(file);
        let (mut packets, mut before) = (Vec::new(), None);
        while let Ok(Some(packet)) = reader.next_packet() {
            packets.push(Recorded {
                gap_ns: before.map_or(0, |before| packet.time.since(before)),
                data: packet.data.to_vec(),
            });
            before = Some(packet.time);
        }
        Self { packets }
    }
}
