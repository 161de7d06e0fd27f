#!/usr/bin/env bash
# Package: xyang 0.1.7 (Python 3.11), seen on 2026-11-30.
# Guess: "RFC 7950-style checks" of JSON after RFC 7951: a member at the top has the name of
#   its module in front (RFC 7951, 4), an empty leaf is [null] (6.9), an identity of the same module
#   needs no prefix (6.8). A `must` may call what XPath 1.0 and RFC 7950 (10) define, and what it
#   does not know is refused as such.
# Seen: valid documents are refused: `n3:port` is an unknown field, [null] a value, the identity not
#   known. sum, starts-with, re-match, bit-is-set and enum-value load without a warning, and each
#   `must` that calls one is not satisfied. count and derived-from are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile xyang==0.1.7
cat >n3.yang <<'YANG'
module n3 {
  yang-version 1.1;
  namespace "urn:example:n3";
  prefix n3;
  identity kex;
  identity hybrid { base kex; }
  container port {
    leaf name { type string; must "starts-with(., 'gnb')"; }
    leaf site { type string; must "re-match(., '[a-z]+')"; }
    leaf flags { type bits { bit up; bit down; } must "bit-is-set(., 'up')"; }
    leaf role { type enumeration { enum leader; enum follower; } must "enum-value(.) = 1"; }
    leaf kex { type identityref { base kex; } must "derived-from(., 'n3:kex')"; }
    leaf macsec { type empty; }
    leaf total { type uint8; must ". = count(../slice)"; }
    leaf share { type uint8; must ". = sum(../slice/weight)"; }
    list slice { key id; leaf id { type uint8; } leaf weight { type uint8; } }
  }
}
YANG
cat >run.py <<'PY'
import json
import subprocess

def validate(title, top, **port):
    with open("data.json", "w") as file:
        json.dump({top: port}, file)
    run = subprocess.run(["venv/bin/xyang", "validate", "n3.yang", "data.json"],
                         capture_output=True, text=True)
    print(f"{title}:", " ".join((run.stdout + run.stderr).split()))

SLICES = [{"id": 1, "weight": 40}, {"id": 2, "weight": 60}]
validate("as RFC 7951", "n3:port", total=2, slice=SLICES)
validate("no module", "port", total=2, slice=SLICES)
validate("identity", "port", kex="n3:hybrid")
validate("identity, no module", "port", kex="hybrid")
validate("empty", "port", macsec=[None])
validate("sum", "port", share=100, slice=SLICES)
validate("starts-with", "port", name="gnb-7")
validate("re-match", "port", site="lab")
validate("bit-is-set", "port", flags="up")
validate("enum-value", "port", role="follower")
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
as RFC 7951: Validation failed: /n3:port: Unknown field 'n3:port'
no module: Valid.
identity: Valid.
identity, no module: Validation failed: /port/kex: must constraint not satisfied on 'kex' (expression: derived-from(., 'n3:kex')) /port/kex: identityref value 'hybrid' does not resolve to a known identity
empty: Validation failed: /port/macsec: Empty type leaf should have no value, got [None]
sum: Validation failed: /port/share: must constraint not satisfied on 'share' (expression: . = sum(../slice/weight))
starts-with: Validation failed: /port/name: must constraint not satisfied on 'name' (expression: starts-with(., 'gnb'))
re-match: Validation failed: /port/site: must constraint not satisfied on 'site' (expression: re-match(., '[a-z]+'))
bit-is-set: Validation failed: /port/flags: must constraint not satisfied on 'flags' (expression: bit-is-set(., 'up'))
enum-value: Validation failed: /port/role: must constraint not satisfied on 'role' (expression: enum-value(.) = 1)
SEEN
