#!/usr/bin/env bash
# Package: tls-parser 0.12.2 (Rust 1.95), seen on 2026-11-30.
# Guess: the parser of one kind of extension reads that kind: pre_shared_key is 41 (RFC 8446,
#   4.2), ec_point_formats 11 (RFC 8422, 5.1), heartbeat 15 (RFC 6520, 2). An extension is the same
#   in a ServerHello as in a ClientHello: encrypt_then_mac is 22 (RFC 7366, 2) in both.
# Seen: parse_tls_extension_pre_shared_key looks for 40, which is no extension, so resumption with
#   TLS 1.3 is not found; ..._ec_point_formats looks for 10, so that X25519MLKEM768 among the groups
#   is read as point formats, and ..._heartbeat for 13. In a ServerHello encrypt_then_mac is
#   unknown, and padding (21) is taken for it. Brainpool P-512 has 521 bits; groups with ML-KEM have
#   none.
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
tls-parser = "=0.12.2"

[profile.dev]
debug = false
TOML
cat >src/main.rs <<'RUST'
use tls_parser::*;

/// Returns an extension of a kind.
fn extension(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut octets = kind.to_be_bytes().to_vec();
    octets.extend((value.len() as u16).to_be_bytes());
    octets.extend(value);
    octets
}

fn main() {
    let psk = extension(41, &[0, 7, 0, 1, b'a', 0, 0, 0, 0, 0, 3, 2, 1, 2]);
    println!("pre_shared_key: {}", parse_tls_extension_pre_shared_key(&psk).is_ok());
    println!("pre_shared_key, any: {:?}", parse_tls_extension(&psk).unwrap().1);
    let ticket = extension(35, &[]);
    println!("session_ticket: {}", parse_tls_extension_session_ticket(&ticket).is_ok());
    let points = extension(11, &[1, 0]);
    println!("ec_point_formats: {}", parse_tls_extension_ec_point_formats(&points).is_ok());
    let groups = extension(10, &[0, 2, 0x11, 0xec]);
    println!("groups as point formats: {:?}",
        parse_tls_extension_ec_point_formats(&groups).unwrap().1);
    println!("heartbeat: {}", parse_tls_extension_heartbeat(&extension(15, &[1])).is_ok());
    let mac = extension(22, &[]);
    println!("22 in a ClientHello: {:?}", parse_tls_client_hello_extension(&mac).unwrap().1);
    println!("22 in a ServerHello: {:?}", parse_tls_server_hello_extension(&mac).unwrap().1);
    println!("21 in a ServerHello: {:?}",
        parse_tls_server_hello_extension(&extension(21, &[])).unwrap().1);
    for group in [NamedGroup::BrainpoolP512r1, NamedGroup(0x11ec)] {
        println!("{group:?}: {:?} bits", group.key_bits());
    }
}
RUST
export CARGO_INCREMENTAL=0 CARGO_TARGET_DIR=$folder/target
cargo build --quiet 2>errors || { cat errors; exit 1; }
seen=$(target/debug/finding)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
pre_shared_key: false
pre_shared_key, any: TlsExtension::PreSharedKey(data=[00 07 00 01 61 00 00 00 00 00 03 02 01 02])
session_ticket: true
ec_point_formats: false
groups as point formats: TlsExtension::EcPointFormats([])
heartbeat: false
22 in a ClientHello: TlsExtension::EncryptThenMac
22 in a ServerHello: TlsExtension::Unknown(type=0x16,data=[])
21 in a ServerHello: TlsExtension::EncryptThenMac
BrainpoolP512r1: Some(521) bits
NamedGroup(4588 / 0x11ec): None bits
SEEN
