#!/usr/bin/env bash
# Package: diameter 0.7.1 (Rust 1.95), seen on 2026-11-30.
# Guess: an AVP is as long as its AVP Length says (RFC 6733, 4.1), and a value that cannot be
#   written ends in an error. Address has 2 octets for the family in front of an E.164 number
#   (4.3.1), and Time goes on after 7 February 2036 as in SNTP, from 0 (4.3.1).
# Seen: the length of an E.164 address is that of the number alone: the message has 2 octets more
#   than it says, and its own reader takes the end of the number for the next AVP. A time from 2036
#   on leaves its 4 octets out of the message, which goes out without an error. IPv4 addresses and
#   times of 2026 come back.
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
chrono = "=0.4.45"
diameter = "=0.7.1"

[profile.dev]
debug = false
TOML
cat >src/main.rs <<'RUST'
use chrono::{TimeZone, Utc};
use diameter::avp::{Address, AvpValue, Time, UTF8String};
use diameter::dictionary::{Dictionary, DEFAULT_DICT_XML};
use diameter::{ApplicationId, CommandCode, DiameterMessage};
use std::io::Cursor;
use std::sync::Arc;

fn main() {
    let dict = Arc::new(Dictionary::new(&[&DEFAULT_DICT_XML]));
    let time = |year| AvpValue::Time(Time::new(Utc.with_ymd_and_hms(year, 6, 1, 0, 0, 0).unwrap()));
    for (name, code, value) in [
        ("Host-IP-Address 192.0.2.1", 257, Address::from_ipv4([192, 0, 2, 1].into()).into()),
        ("Host-IP-Address 15551234567", 257, Address::from_e164("15551234567".into()).into()),
        ("Event-Timestamp of 2026", 55, time(2026)),
        ("Event-Timestamp of 2036", 55, time(2036)),
    ] {
        let (code_272, application) = (CommandCode::CreditControl, ApplicationId::CreditControl);
        let mut message =
            DiameterMessage::new(code_272, application, 0x80, 1, 1, Arc::clone(&dict));
        message.add_avp(code, None, 0x40, value);
        message.add_avp(263, None, 0x40, UTF8String::new("smf;1;1").into());
        let mut octets = vec![];
        let written = message.encode_to(&mut octets);
        let says = u32::from_be_bytes([0, octets[1], octets[2], octets[3]]);
        println!("{name}: {written:?}, length {says}, {} octets", octets.len());
        match DiameterMessage::decode_from(&mut Cursor::new(&octets), Arc::clone(&dict)) {
            Ok(read) => println!("  read: {}, Session-Id {}",
                read.get_avps()[0].get_value(), read.get_avps()[1].get_value()),
            Err(error) => println!("  read: {error}"),
        }
    }
}
RUST
export CARGO_INCREMENTAL=0 CARGO_TARGET_DIR=$folder/target
cargo build --quiet 2>errors || { cat errors; exit 1; }
seen=$(target/debug/finding)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
Host-IP-Address 192.0.2.1: Ok(()), length 52, 52 octets
  read: 192.0.2.1, Session-Id smf;1;1
Host-IP-Address 15551234567: Ok(()), length 56, 58 octets
  read: Unknown AVP code: 922746880
Event-Timestamp of 2026: Ok(()), length 48, 48 octets
  read: 2026-06-01T00:00:00+00:00, Session-Id smf;1;1
Event-Timestamp of 2036: Ok(()), length 48, 44 octets
  read: Unknown AVP code: 1073741839
SEEN
