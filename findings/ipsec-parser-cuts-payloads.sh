#!/usr/bin/env bash
# Package: ipsec-parser 0.7.0 (Rust 1.95), seen on 2026-11-30.
# Guess: each payload of an IKEv2 message holds what RFC 7296 puts into it: Notification Data
#   stands behind 8 octets of which 4 are the generic header (3.10), a vendor ID behind the generic
#   header (3.12), Authentication Data behind the method and 3 reserved octets (3.8), the SPIs of a
#   Delete behind 4 octets (3.11).
# Seen: the generic header is taken off twice. Notifications lose their last 4 octets, so the
#   group of INVALID_KE_PAYLOAD, by which a peer asks for another key exchange, is not there at all;
#   the list of SPIs loses 4, a vendor ID 8; a signature loses 3 and has the reserved octets in
#   front. A message with a Delete of the IKE SA, which has no SPI, or with a vendor ID of 6 octets
#   is refused. A Key Exchange payload is read as it is.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir src
cat >Cargo.toml <<'TOML'
[package]
name = "finding"
version = "0.0.0"
edition = "2021"

[dependencies]
ipsec-parser = "=0.7.0"

[profile.dev]
debug = false
TOML
cat >src/main.rs <<'RUST'
use ipsec_parser::{parse_ikev2_message, IkeV2PayloadContent};

/// Returns a message with one payload.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut octets = vec![1; 16];
    octets.extend([kind, 0x20, 34, 0x08, 0, 0, 0, 0]);
    octets.extend((32 + body.len() as u32).to_be_bytes());
    octets.extend([0, 0]);
    octets.extend((4 + body.len() as u16).to_be_bytes());
    octets.extend(body);
    octets
}

fn main() {
    let nat: Vec<u8> = [0, 0, 0x40, 0x04].into_iter().chain(1..=20).collect();
    for (name, kind, body) in [
        ("INVALID_KE_PAYLOAD, group 36", 41, &[0, 0, 0, 17, 0, 36][..]),
        ("NAT_DETECTION_SOURCE_IP, 20 octets", 41, &nat),
        ("Vendor ID 1 to 12", 43, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
        ("Vendor ID 1 to 6", 43, &[1, 2, 3, 4, 5, 6]),
        ("Authentication 1 to 8", 39, &[14, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]),
        ("Delete of ESP SPIs 1 and 2", 42, &[3, 4, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2]),
        ("Delete of the IKE SA", 42, &[1, 0, 0, 0]),
        ("Key Exchange 1 to 4", 34, &[0, 36, 0, 0, 1, 2, 3, 4]),
    ] {
        let octets = message(kind, body);
        let (_, (_, payloads)) = parse_ikev2_message(&octets).unwrap();
        let Ok(payloads) = payloads else {
            println!("{name}: {:?}", payloads.unwrap_err());
            continue;
        };
        match &payloads[1].content {
            IkeV2PayloadContent::Notify(notify) => println!("{name}: {:?}", notify.notify_data),
            IkeV2PayloadContent::VendorID(vendor) => println!("{name}: {:?}", vendor.vendor_id),
            IkeV2PayloadContent::Authentication(auth) => println!("{name}: {:?}", auth.auth_data),
            IkeV2PayloadContent::Delete(delete) => {
                println!("{name}: {} SPIs, {:?}", delete.num_spi, delete.spi)
            }
            IkeV2PayloadContent::KE(exchange) => println!("{name}: {:?}", exchange.kex_data),
            _ => panic!(),
        }
    }
}
RUST
export CARGO_INCREMENTAL=0 CARGO_TARGET_DIR=$folder/target
cargo build --quiet 2>errors || { cat errors; exit 1; }
seen=$(target/debug/finding)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
INVALID_KE_PAYLOAD, group 36: None
NAT_DETECTION_SOURCE_IP, 20 octets: Some([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])
Vendor ID 1 to 12: [1, 2, 3, 4]
Vendor ID 1 to 6: NomError(Verify)
Authentication 1 to 8: [0, 0, 0, 1, 2, 3, 4, 5]
Delete of ESP SPIs 1 and 2: 2 SPIs, [0, 0, 0, 1]
Delete of the IKE SA: NomError(Verify)
Key Exchange 1 to 4: [1, 2, 3, 4]
SEEN
