#!/usr/bin/env bash
# Package: pcap-file 2.0.0 (Rust 1.95), and dpkt 1.9.8 as the second reader and writer (Python
#   3.11), seen on 2026-11-30.
# Guess: the timestamp of an Enhanced Packet Block, a std::time::Duration, is the time of the
#   packet: the units are those of the interface's if_tsresol, microseconds where it has none, as in
#   most files. A file that is written with a Duration has its time.
# Seen: each unit is a nanosecond, whatever the interface says. A packet of 30 November 2026 in
#   microseconds is dated 21 January 1970. A packet that is written with that date's Duration, to an
#   interface without the option, is read by others in the year 58883. Only interfaces with
#   nanoseconds are right. The same crate applies the resolution of files in the older format.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile dpkt==1.9.8
mkdir src
cat >make.py <<'PY'
import struct

def block(kind, body):
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length

head = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
for name, option, units in [
    ("microseconds", b"", 1796000000500000),
    ("nanoseconds", struct.pack("<HHB3xI", 9, 1, 9, 0), 1796000000500000000),
]:
    with open(name, "wb") as out:
        out.write(head + block(1, struct.pack("<HHI", 1, 0, 0) + option)
                  + block(6, struct.pack("<5I", 0, units >> 32, units & 0xFFFFFFFF, 60, 60)
                          + bytes(60)))
with open("older", "wb") as out:
    out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
              + struct.pack("<4I", 1796000000, 500000, 60, 60) + bytes(60))
PY
cat >Cargo.toml <<'TOML'
[package]
name = "finding"
version = "0.0.0"
edition = "2021"

[dependencies]
pcap-file = "=2.0.0"

[profile.dev]
debug = false
TOML
cat >src/main.rs <<'RUST'
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionBlock;
use pcap_file::pcapng::{Block, PcapNgReader, PcapNgWriter};
use pcap_file::DataLink;
use std::fs::File;
use std::time::Duration;

fn main() {
    for name in ["microseconds", "nanoseconds"] {
        let mut reader = PcapNgReader::new(File::open(name).unwrap()).unwrap();
        while let Some(block) = reader.next_block() {
            if let Block::EnhancedPacket(packet) = block.unwrap() {
                println!("pcap-file, {name}: {:?}", packet.timestamp);
            }
        }
    }
    let mut reader = PcapReader::new(File::open("older").unwrap()).unwrap();
    let packet = reader.next_packet().unwrap().unwrap();
    println!("pcap-file, older format: {:?}", packet.timestamp);
    let mut writer = PcapNgWriter::new(File::create("written").unwrap()).unwrap();
    let interface = InterfaceDescriptionBlock::new(DataLink::ETHERNET, 65535);
    writer.write_pcapng_block(interface).unwrap();
    let packet = EnhancedPacketBlock {
        interface_id: 0,
        timestamp: Duration::new(1796000000, 500000000),
        original_len: 60,
        data: vec![0; 60].into(),
        options: vec![],
    };
    writer.write_pcapng_block(packet).unwrap();
}
RUST
cat >show.py <<'PY'
import dpkt

for name in ("microseconds", "nanoseconds", "written"):
    with open(name, "rb") as file:
        print("dpkt,", name + ":", next(iter(dpkt.pcapng.Reader(file)))[0])
PY
export CARGO_INCREMENTAL=0 CARGO_TARGET_DIR=$folder/target
venv/bin/python make.py
cargo build --quiet 2>errors || { cat errors; exit 1; }
seen=$(target/debug/finding && venv/bin/python show.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
pcap-file, microseconds: 1796000.0005s
pcap-file, nanoseconds: 1796000000.5s
pcap-file, older format: 1796000000.5s
dpkt, microseconds: 1796000000.5
dpkt, nanoseconds: 1796000000.5
dpkt, written: 1796000000500.0
SEEN
