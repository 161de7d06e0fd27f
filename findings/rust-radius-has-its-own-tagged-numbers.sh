#!/usr/bin/env bash
# Package: radius 0.4.0 (Rust 1.95), seen on 2026-11-30.
# Guess: Tunnel-Type and Tunnel-Medium-Type, by which a server of IEEE 802.1X puts a port into a
#   VLAN, have a tag of 1 octet and a value of 3; the length is 6 (RFC 2868, 3.1 and 3.2). A prefix
#   of IPv6 has its length in bits, and may leave out octets that are zero (RFC 3162, 2.3).
# Seen: the value has 4 octets and the length is 7; what another server sends is refused for its
#   length, so the VLAN is not read. Only what the crate itself writes is read. A prefix is read
#   without its length: 2001:db8::/64 and /32 are the same four octets. A group with the tag 0,
#   "unused", is an error.
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
radius = "=0.4.0"

[profile.dev]
debug = false
TOML
cat >src/main.rs <<'RUST'
use radius::core::code::Code;
use radius::core::packet::Packet;
use radius::core::rfc2868::{
    add_tunnel_medium_type, add_tunnel_type, lookup_tunnel_private_group_id, lookup_tunnel_type,
};
use radius::core::rfc3162::lookup_framed_ipv6_prefix;
use radius::core::tag::Tag;

/// Returns an Access-Accept with an attribute.
fn accept(kind: u8, value: &[u8]) -> Packet {
    let mut octets = vec![2, 1, 0, 22 + value.len() as u8];
    octets.extend([0; 16]);
    octets.extend([kind, 2 + value.len() as u8]);
    octets.extend(value);
    Packet::decode(&octets, b"secret").unwrap()
}

fn main() {
    println!("Tunnel-Type VLAN, as in RFC 2868: {:?}",
        lookup_tunnel_type(&accept(64, &[1, 0, 0, 13])).unwrap());
    println!("Tunnel-Type with 4 octets: {:?}",
        lookup_tunnel_type(&accept(64, &[1, 0, 0, 0, 13])).unwrap());
    let mut packet = Packet::new(Code::AccessAccept, b"secret");
    add_tunnel_type(&mut packet, Some(&Tag::new(1)), 13);
    add_tunnel_medium_type(&mut packet, Some(&Tag::new(1)), 6);
    println!("written: {:?}", &packet.encode().unwrap()[20..]);
    for tag in [1, 0] {
        println!("group with tag {tag}: {:?}",
            lookup_tunnel_private_group_id(&accept(81, &[tag, b'1', b'0'])).unwrap());
    }
    for length in [64, 32] {
        let prefix = accept(97, &[0, length, 0x20, 1, 0x0d, 0xb8]);
        println!("2001:db8::/{length}: {:02x?}", lookup_framed_ipv6_prefix(&prefix).unwrap());
    }
}
RUST
export CARGO_INCREMENTAL=0 CARGO_TARGET_DIR=$folder/target
cargo build --quiet 2>errors || { cat errors; exit 1; }
seen=$(target/debug/finding)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
Tunnel-Type VLAN, as in RFC 2868: Err(InvalidAttributeLengthError("5 bytes", 4))
Tunnel-Type with 4 octets: Ok((13, Tag { value: 1 }))
written: [64, 7, 1, 0, 0, 0, 13, 65, 7, 1, 0, 0, 0, 6]
group with tag 1: Ok(("10", Some(Tag { value: 1 })))
group with tag 0: Err(InvalidTagForStringValueError)
2001:db8::/64: Ok([20, 01, 0d, b8])
2001:db8::/32: Ok([20, 01, 0d, b8])
SEEN
