#!/usr/bin/env bash
# Package: netlink-packet-route 0.34.0 (Rust 1.95 on x86-64), seen on 2026-11-30.
# Guess: InfoMacSec::Sci is the secure channel identifier of a MACsec device as `ip macsec show` and
#   IEEE 802.1AE write it: the MAC address, then the port. The kernel keeps it in the order of the
#   wire, like the attribute IFLA_MACSEC_PORT (sci_t in include/net/macsec.h).
# Seen: the port is read in network order, the SCI in the machine's: the channel of
#   02:00:00:00:00:01, port 1, is 0x0100010000000002. A device that is made with
#   Sci(0x0200000000010001) sends as channel 0100010000000002, so a peer that has the right one in
#   its receive channel finds none for these frames.
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
netlink-packet-core = "=0.9.0"
netlink-packet-route = "=0.34.0"

[profile.dev]
debug = false
TOML
cat >src/main.rs <<'RUST'
use netlink_packet_core::{Emitable, NlaBuffer, Parseable};
use netlink_packet_route::link::InfoMacSec;

fn main() {
    let sci = [12, 0, 1, 0, 0x02, 0, 0, 0, 0, 0x01, 0, 1];
    let port = [6, 0, 2, 0, 0, 1, 0, 0];
    for octets in [&sci[..], &port] {
        match InfoMacSec::parse(&NlaBuffer::new_checked(octets).unwrap()).unwrap() {
            InfoMacSec::Sci(sci) => println!("read: SCI {sci:016x}"),
            InfoMacSec::Port(port) => println!("read: port {port}"),
            other => println!("read: {other:?}"),
        }
    }
    let device = InfoMacSec::Sci(0x0200_0000_0001_0001);
    let mut octets = vec![0; device.buffer_len()];
    device.emit(&mut octets);
    println!("written: {:02x?}", &octets[4..]);
}
RUST
export CARGO_INCREMENTAL=0 CARGO_TARGET_DIR=$folder/target
cargo build --quiet 2>errors || { cat errors; exit 1; }
seen=$(target/debug/finding)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
read: SCI 0100010000000002
read: port 1
written: [01, 00, 01, 00, 00, 00, 00, 02]
SEEN
