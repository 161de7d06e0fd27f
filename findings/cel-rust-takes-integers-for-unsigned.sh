#!/usr/bin/env bash
# Package: cel 0.15.0 with serde_json (Rust 1.95), seen on 2026-11-30.
# Guess: a JSON number without a fraction is an `int` of CEL, as in rules of Kubernetes, and a method
#   of a timestamp answers in UTC unless it is given a time zone (CEL: language definition).
# Seen: an object given as serde_json::Value has positive numbers as `uint` and negative ones as
#   `int`. `self.replicas / 2` and `self.replicas - self.ready * 2` end in errors; a comparison works.
#   getHours() of 23:00+02:00 is 23 (UTC: 21), and getDayOfMonth(), which counts from 0,
#   of 01:00+02:00 on 1 December is 0 (UTC: 29). cel-go 0.31.0 answers 21 and 29.
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
cel = { version = "=0.15.0", features = ["json", "chrono"] }
serde_json = "=1.0.154"

[profile.dev]
debug = false
TOML
cat >src/main.rs <<'RUST'
use cel::{Context, Program};

fn main() {
    let given = serde_json::json!({"replicas": 3, "ready": 2, "priority": -1});
    for rule in [
        "self.replicas >= 2",
        "type(self.replicas) == int",
        "type(self.priority) == int",
        "self.replicas / 2",
        "self.replicas - self.ready * 2",
        "timestamp('2026-11-30T23:00:00+02:00').getHours()",
        "timestamp('2026-11-30T23:00:00+02:00').getHours('UTC')",
        "timestamp('2026-12-01T01:00:00+02:00').getDayOfMonth()",
    ] {
        let mut context = Context::default();
        context.add_variable("self", given.clone()).unwrap();
        match Program::compile(rule).unwrap().execute(&context) {
            Ok(value) => println!("{rule}: {}", value.json().unwrap()),
            Err(error) => println!("{rule}: {error}"),
        }
    }
}
RUST
CARGO_INCREMENTAL=0 CARGO_TARGET_DIR=$folder/target cargo build --quiet 2>errors || { cat errors; exit 1; }
seen=$(target/debug/finding)
echo "$seen"
[ "$seen" = "self.replicas >= 2: true
type(self.replicas) == int: false
type(self.priority) == int: true
self.replicas / 2: Unsupported binary operator 'div': UInt(3), Int(2)
self.replicas - self.ready * 2: Unsupported binary operator 'mul': UInt(2), Int(2)
timestamp('2026-11-30T23:00:00+02:00').getHours(): 23
timestamp('2026-11-30T23:00:00+02:00').getHours('UTC'): 21
timestamp('2026-12-01T01:00:00+02:00').getDayOfMonth(): 0" ] || { echo "changed" >&2; exit 1; }
