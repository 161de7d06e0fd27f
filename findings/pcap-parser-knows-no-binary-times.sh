#!/usr/bin/env bash
# Package: pcap-parser 0.17.0 (Rust 1.95), seen on 2026-11-30.
# Guess: times of a pcapng file are read in each resolution that if_tsresol may have: powers of ten,
#   such as the picoseconds of capture cards, and of two, with the high bit set (draft-ietf-opsawg-
#   pcapng, 4.2). if_ipv6addr has the IPv6 addresses, and a file of either byte order its counters.
# Seen: no power of two has a resolution (None), because the high bit is counted. A fraction in
#   picoseconds is cut to 32 bits: half a second becomes 1.8 ms. if_ipv6addr looks for the option of
#   IPv4: an IPv6 address is not found, and where there is an IPv4 address the answer is an error.
#   In a big-endian file 5 dropped packets are 360287970189639680. Names of hosts keep their
#   padding, without the length that would tell it.
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
pcap-parser = "=0.17.0"

[profile.dev]
debug = false
TOML
cat >src/main.rs <<'RUST'
use pcap_parser::pcapng::*;

/// Returns the fields of a block in a byte order.
struct Order(bool);

impl Order {
    fn short(&self, value: u16) -> Vec<u8> {
        if self.0 { value.to_be_bytes().to_vec() } else { value.to_le_bytes().to_vec() }
    }
    fn word(&self, value: u32) -> Vec<u8> {
        if self.0 { value.to_be_bytes().to_vec() } else { value.to_le_bytes().to_vec() }
    }
    fn option(&self, code: u16, value: &[u8]) -> Vec<u8> {
        let length = self.short(value.len() as u16);
        let mut octets = [self.short(code), length, value.to_vec()].concat();
        octets.resize(octets.len().next_multiple_of(4), 0);
        octets
    }
    fn block(&self, kind: u32, body: &[u8]) -> Vec<u8> {
        let length = self.word(12 + body.len() as u32);
        [&self.word(kind)[..], &length, body, &length].concat()
    }
    fn interface(&self, option: &[u8]) -> Vec<u8> {
        let head = [self.short(1), self.short(0), self.word(0)].concat();
        self.block(1, &[&head[..], option, &[0; 4]].concat())
    }
}

fn main() {
    let little = Order(false);
    for resolution in [6, 9, 12, 0x80 | 20, 0x80 | 32] {
        let octets = little.interface(&little.option(9, &[resolution]));
        let (_, interface) = parse_interfacedescriptionblock_le(&octets).unwrap();
        println!("if_tsresol {resolution:#04x}: {:?}", interface.ts_resolution());
    }
    // 1796000000.5 s do not fit into 64 bits of picoseconds: 1796000.5 s, as after a boot.
    for units in [1_000_000u64, 1_000_000_000_000] {
        let time = 1_796_000 * units + units / 2;
        let (seconds, fraction) = build_ts((time >> 32) as u32, time as u32, 0, units);
        println!("{units} units a second: {seconds} s and {fraction}, half is {}", units / 2);
    }
    let v4 = little.interface(&little.option(4, &[192, 0, 2, 1, 255, 255, 255, 0]));
    let v6 = little.interface(&little.option(5, &[[0x20; 16].to_vec(), vec![64]].concat()));
    for (name, octets) in [("IPv4", v4), ("IPv6", v6)] {
        let (_, interface) = parse_interfacedescriptionblock_le(&octets).unwrap();
        println!("{name}: {:?}, {:?}", interface.if_ipv4addr(), interface.if_ipv6addr());
    }
    let big = Order(true);
    let body = [vec![0; 12], big.option(5, &5u64.to_be_bytes()), vec![0; 4]].concat();
    let octets = big.block(5, &body);
    let (_, statistics) = parse_interfacestatisticsblock_be(&octets).unwrap();
    println!("5 dropped, big endian: {:?}", statistics.isb_ifdrop());
    let names = [b"\xc0\0\x02\x01amf\0".as_slice(), b"\xc0\0\x02\x02gnb1\0"];
    let records: Vec<u8> = names.iter().flat_map(|name| little.option(1, name)).collect();
    let octets = little.block(4, &[records, vec![0; 8]].concat());
    let (_, names) = parse_nameresolutionblock_le(&octets).unwrap();
    for record in &names.nr[..2] {
        println!("name: {:?}", String::from_utf8_lossy(&record.record_value[4..]));
    }
}
RUST
export CARGO_INCREMENTAL=0 CARGO_TARGET_DIR=$folder/target
cargo build --quiet 2>errors || { cat errors; exit 1; }
seen=$(target/debug/finding)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
if_tsresol 0x06: Some(1000000)
if_tsresol 0x09: Some(1000000000)
if_tsresol 0x0c: Some(1000000000000)
if_tsresol 0x94: None
if_tsresol 0xa0: None
1000000 units a second: 1796000 s and 500000, half is 500000
1000000000000 units a second: 1796000 s and 1783793664, half is 500000000000
IPv4: Some(Ok([(192.0.2.1, 255.255.255.0)])), Some(Err(InvalidLength))
IPv6: None, None
5 dropped, big endian: Some(Ok(360287970189639680))
name: "amf\0"
name: "gnb1\0\0\0\0"
SEEN
