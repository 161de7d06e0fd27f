#!/usr/bin/env bash
# Package: nftables 0.6.3 (Rust 1.95), seen on 2026-11-30. The JSON is what nftables 1.0.6 prints
#   for the rules and objects that are named.
# Guess: the ruleset that `nft -j list ruleset` prints is read, IPsec and SCTP in rules included,
#   and volumes are 64 bits wide, as the kernel's.
# Seen: a rule with `meta ipsec` or `rt ipsec`, by which a gateway accepts what came or will go
#   through ESP, with `ipsec in reqid` or with the presence of an SCTP chunk refuses the ruleset as
#   a whole, and so does a `ct timeout` object. A named counter or quota refuses it from the day on
#   which it has counted 4 GB: a program that read the ruleset at first reads it no more. The
#   counter of a rule is read.
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
nftables = "=0.6.3"
serde_json = "=1.0.149"

[profile.dev]
debug = false
TOML
cat >src/main.rs <<'RUST'
use nftables::schema::Nftables;

const RULE: &str = r#"{"rule": {"family": "inet", "table": "t", "chain": "c", "expr": "#;

fn main() {
    let name = r#""family": "inet", "name": "n", "table": "t", "handle": 1"#;
    let matching = |left: &str| {
        let value = r#""right": true}}, {"accept": null}]"#;
        format!(r#"{RULE} [{{"match": {{"op": "==", "left": {left}, {value}}}}}"#)
    };
    let mut objects = vec![];
    for (rule, left) in [
        ("rt ipsec exists", r#"{"rt": {"key": "ipsec"}}"#),
        ("meta ipsec exists", r#"{"meta": {"key": "ipsec"}}"#),
        ("ipsec in reqid", r#"{"ipsec": {"key": "reqid", "dir": "in", "spnum": 0}}"#),
        ("sctp dport", r#"{"payload": {"protocol": "sctp", "field": "dport"}}"#),
        ("sctp chunk data type", r#"{"sctp chunk": {"name": "data", "field": "type"}}"#),
        ("sctp chunk data exists", r#"{"sctp chunk": {"name": "data"}}"#),
    ] {
        objects.push((rule, matching(left)));
    }
    let counter = r#" [{"counter": {"packets": 9, "bytes": 5000000000}}]}}"#;
    objects.push(("counter of a rule after 5 GB", format!("{RULE}{counter}")));
    for (object, text) in [
        ("counter after 4 GB", r#"{"counter": {NAME, "packets": 9, "bytes": 4000000000}}"#),
        ("counter after 5 GB", r#"{"counter": {NAME, "packets": 9, "bytes": 5000000000}}"#),
        ("quota of 4 GB", r#"{"quota": {NAME, "bytes": 4000000000, "used": 9, "inv": true}}"#),
        ("quota of 5 GB", r#"{"quota": {NAME, "bytes": 5000000000, "used": 9, "inv": true}}"#),
        ("ct timeout", r#"{"ct timeout": {NAME, "protocol": "tcp", "l3proto": "ip"}}"#),
    ] {
        objects.push((object, text.replace("NAME", name)));
    }
    for (title, object) in objects {
        let text = format!(r#"{{"nftables": [{{"table": {{{name}}}}}, {object}]}}"#);
        let text = text.replacen(r#""name": "n", "table": "t""#, r#""name": "t""#, 1);
        serde_json::from_str::<serde_json::Value>(&text).unwrap();
        let read = serde_json::from_str::<Nftables>(&text);
        println!("{title}: {}", if read.is_ok() { "read" } else { "refused" });
    }
}
RUST
export CARGO_INCREMENTAL=0 CARGO_TARGET_DIR=$folder/target
cargo build --quiet 2>errors || { cat errors; exit 1; }
seen=$(target/debug/finding)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
rt ipsec exists: refused
meta ipsec exists: refused
ipsec in reqid: refused
sctp dport: read
sctp chunk data type: read
sctp chunk data exists: refused
counter of a rule after 5 GB: read
counter after 4 GB: read
counter after 5 GB: refused
quota of 4 GB: read
quota of 5 GB: refused
ct timeout: refused
SEEN
