#!/usr/bin/env bash
# Package: diameter 0.7.1 (Rust 1.95), seen on 2026-11-30.
# Guess: an AVP without the M flag that the dictionary does not have is skipped or kept as octets,
#   as RFC 6733, 4.1, lets a receiver do; load reports (RFC 8583) and extensions of vendors rest on
#   it: a node adds them to messages of every application.
# Seen: such an AVP refuses the whole message, with the code as the error: a credit control answer
#   with Load, or with an AVP of a vendor, is lost as if the M flag were set. So is a message of the
#   S6a application, and each command that is not one of the twelve of an enumeration, whatever
#   dictionary is loaded.
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
diameter = "=0.7.1"

[profile.dev]
debug = false
TOML
cat >src/main.rs <<'RUST'
use diameter::dictionary::{Dictionary, DEFAULT_DICT_XML};
use diameter::DiameterMessage;
use std::io::Cursor;
use std::sync::Arc;

fn avp(code: u32, flags: u8, value: &[u8]) -> Vec<u8> {
    let mut octets = code.to_be_bytes().to_vec();
    octets.extend((8 + value.len() as u32 | (flags as u32) << 24).to_be_bytes());
    octets.extend(value);
    octets.resize(octets.len().next_multiple_of(4), 0);
    octets
}

/// Returns a message with a result code and one more AVP.
fn message(command: u32, application: u32, more: Vec<u8>) -> Vec<u8> {
    let avps = [avp(268, 0x40, &2001u32.to_be_bytes()), more].concat();
    let mut octets = (20 + avps.len() as u32 | 1 << 24).to_be_bytes().to_vec();
    for word in [command, application, 1, 1] {
        octets.extend(word.to_be_bytes());
    }
    octets.extend(avps);
    octets
}

fn main() {
    let dict = Arc::new(Dictionary::new(&[&DEFAULT_DICT_XML]));
    let session = || avp(263, 0x40, b"smf;1;1");
    for (name, octets) in [
        ("Credit-Control alone", message(272, 4, session())),
        ("with Load", message(272, 4, avp(650, 0, &avp(651, 0, &[0, 0, 0, 1])))),
        ("with AVP 1 of vendor 32473", message(272, 4, avp(1, 0x80, &[0, 0, 0x7e, 0xd9, 1, 1]))),
        ("Update-Location of S6a", message(316, 16777251, session())),
        ("Re-Auth of S6a", message(258, 16777251, session())),
    ] {
        match DiameterMessage::decode_from(&mut Cursor::new(&octets), Arc::clone(&dict)) {
            Ok(message) => println!("{name}: {} AVPs", message.get_avps().len()),
            Err(error) => println!("{name}: {error}"),
        }
    }
}
RUST
export CARGO_INCREMENTAL=0 CARGO_TARGET_DIR=$folder/target
cargo build --quiet 2>errors || { cat errors; exit 1; }
seen=$(target/debug/finding)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
Credit-Control alone: 2 AVPs
with Load: Unknown AVP code: 650
with AVP 1 of vendor 32473: Unknown AVP code: 1
Update-Location of S6a: unknown command code: 316
Re-Auth of S6a: unknown application id: 16777251
SEEN
