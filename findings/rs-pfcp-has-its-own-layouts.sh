#!/usr/bin/env bash
# Packages: rs-pfcp 0.5.0 (Rust 1.95), and scapy 2.8.0 as the second codec; seen on 2026-11-30.
# Guess: rs-pfcp, which states full coverage of TS 29.244 and is checked against go-pfcp, writes and
#   reads information elements in the layout of clause 8.2, as it does for F-TEID and Cause.
# Seen: four have a layout of its own. The FQDN of a Node ID is text without label lengths, Redirect
#   Information has no address length, Header Enrichment has a spare octet, User ID has a number of
#   its own for the kind instead of flags and lengths. Standard octets are read as other values: the
#   length becomes part of a name, an IMSI becomes an IMEI. tshark 4.0.17 reads scapy's octets right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile scapy==2.8.0
mkdir src
cat >Cargo.toml <<'TOML'
[package]
name = "found"
version = "0.0.0"
edition = "2021"

[dependencies]
rs-pfcp = "=0.5.0"
TOML
cat >src/main.rs <<'RUST'
use rs_pfcp::ie::header_enrichment::HeaderEnrichment;
use rs_pfcp::ie::node_id::NodeId;
use rs_pfcp::ie::redirect_information::{RedirectAddressType, RedirectInformation};
use rs_pfcp::ie::user_id::UserId;

fn show(name: &str, octets: Vec<u8>, read: impl std::fmt::Debug) {
    let hex: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
    println!("{name}|{hex}|{read:?}");
}

fn main() {
    let given: Vec<Vec<u8>> = std::env::args()
        .skip(1)
        .map(|hex| {
            let pairs = (0..hex.len()).step_by(2);
            pairs.map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
        })
        .collect();
    let node = NodeId::new_fqdn("upf1.example");
    show("Node ID", node.marshal(), NodeId::unmarshal(&given[0]).ok());
    let redirect = RedirectInformation::new(RedirectAddressType::Url, "http://a.example/");
    let read = RedirectInformation::unmarshal(&given[1]).ok();
    show("Redirect Information", redirect.marshal(), read.map(|all| all.server_address));
    let header = HeaderEnrichment::http_header("X-A".into(), "b".into());
    show("Header Enrichment", header.marshal(), HeaderEnrichment::unmarshal(&given[2]).ok());
    let user = UserId::imsi(vec![0x00, 0x01, 0x01, 0x32, 0x54, 0x76, 0x98, 0xf0]);
    let read = UserId::unmarshal(&given[3]).ok();
    show("User ID", user.marshal(), read.map(|all| all.user_id_type));
}
RUST
cat >run.py <<'PY'
import subprocess
from scapy.contrib.pfcp import (
    IE_HeaderEnrichment, IE_NodeId, IE_RedirectInformation, IE_UserId)

standard = [
    IE_NodeId(id_type=2, id="upf1.example"),
    IE_RedirectInformation(type=2, address="http://a.example/"),
    IE_HeaderEnrichment(name="X-A", value="b"),
    IE_UserId(IMSIF=1, imsi=bytes.fromhex("00010132547698f0"))]
octets = [bytes(element)[4:].hex() for element in standard]
run = subprocess.run(["target/debug/found", *octets], capture_output=True, text=True, check=True)
for line, expected in zip(run.stdout.splitlines(), octets):
    name, written, read = line.split("|")
    print(f"{name}\n  scapy   {expected}\n  rs-pfcp {written}\n  rs-pfcp reads {read}")
PY
cargo build --quiet
seen=$(venv/bin/python run.py)
echo "$seen"
[ "$seen" = 'Node ID
  scapy   020475706631076578616d706c65
  rs-pfcp 02757066312e6578616d706c65
  rs-pfcp reads Some(FQDN("\u{4}upf1\u{7}example"))
Redirect Information
  scapy   020011687474703a2f2f612e6578616d706c652f
  rs-pfcp 02687474703a2f2f612e6578616d706c652f
  rs-pfcp reads Some("\0\u{11}http://a.example/")
Header Enrichment
  scapy   0003582d410162
  rs-pfcp 000003582d410162
  rs-pfcp reads None
User ID
  scapy   010800010132547698f0
  rs-pfcp 0000010132547698f0
  rs-pfcp reads Some(Imei)' ] || { echo "changed" >&2; exit 1; }
