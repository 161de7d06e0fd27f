#!/usr/bin/env bash
# Package: prometheus-parse 0.2.5 (Rust 1.95), seen on 2026-11-30. prometheus_client 0.26.0
#   (Python 3.11) is the second reader.
# Guess: the crate reads each valid sample of the text format 0.0.4, or fails: `parse` returns a
#   Result.
# Seen: a sample whose name has a colon (all recording rules, as federation gives them out), or whose
#   label value has a `}`, is left out without an error. Of dn="CN=amf,O=core" a label O is
#   left, and no dn. Escapes are not read, and spaces around `=` or `,`, which the format allows,
#   become part of names and values. prometheus_client reads all five.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile prometheus_client==0.26.0
mkdir src
cat >page <<'PAGE'
link:octets:rate5m{link="N2"} 1
link_octets{route="/v1/{id}"} 2
subject{dn="CN=amf,O=core"} 3
peer{name="a\"b\\c"} 4
cell{id = "1" , plmn="00101"} 5
PAGE
cat >Cargo.toml <<'TOML'
[package]
name = "finding"
version = "0.0.0"
edition = "2021"

[dependencies]
prometheus-parse = "=0.2.5"

[profile.dev]
debug = false
TOML
cat >src/main.rs <<'RUST'
fn main() {
    let page = std::fs::read_to_string("page").unwrap();
    let read = prometheus_parse::Scrape::parse(page.lines().map(|l| Ok(l.to_string()))).unwrap();
    for sample in read.samples {
        let mut labels: Vec<_> = sample.labels.iter().collect();
        labels.sort();
        println!("prometheus-parse {} {labels:?}", sample.metric);
    }
}
RUST
cat >run.py <<'PY'
from prometheus_client.parser import text_string_to_metric_families

for family in text_string_to_metric_families(open("page").read()):
    for sample in family.samples:
        print("prometheus_client", sample.name, sorted(sample.labels.items()))
PY
export CARGO_INCREMENTAL=0 CARGO_TARGET_DIR=$folder/target
cargo build --quiet 2>errors || { cat errors; exit 1; }
seen=$(target/debug/finding && venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
prometheus-parse subject [("O", "core")]
prometheus-parse peer [("name", "a\\\"b\\\\c")]
prometheus-parse cell [(" plmn", "00101"), ("id ", " \"1\" ")]
prometheus_client link:octets:rate5m [('link', 'N2')]
prometheus_client link_octets [('route', '/v1/{id}')]
prometheus_client subject [('dn', 'CN=amf,O=core')]
prometheus_client peer [('name', 'a"b\\c')]
prometheus_client cell [('id', '1'), ('plmn', '00101')]
SEEN
