#!/usr/bin/env bash
# Package: custom-json-diff 2.1.6 (Python 3.11), seen on 2026-11-30.
# Guess: `cjd`, made for CycloneDX documents, shows each value that differs between two of them, as
#   a diff of JSON does; with `preset-diff --type bom` it compares components by their identity and
#   their properties.
# Seen: values are compared without the component they stand in: a value that another component has
#   already is no difference. A link whose key exchange changed from ML-KEM to X25519, where another
#   link has X25519, is no difference, and two components that exchange their security levels are
#   none. With the preset no change of a cryptographic asset is one, and the exit code is 0 in both
#   cases.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile custom-json-diff==2.1.6
cat >run.py <<'PY'
import json
import subprocess

def protocol(name, exchange):
    return {"type": "cryptographic-asset", "name": name, "bom-ref": name, "cryptoProperties": {
        "assetType": "protocol", "protocolProperties": {
            "type": "ike", "ikev2TransformTypes": {"ke": [exchange]}}}}

def algorithm(name, level):
    return {"type": "cryptographic-asset", "name": name, "bom-ref": name, "cryptoProperties": {
        "assetType": "algorithm", "algorithmProperties": {
            "primitive": "kem", "nistQuantumSecurityLevel": level}}}

def write(path, components):
    with open(path, "w") as out:
        json.dump({"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
                   "components": components}, out)

kem, dh = algorithm("ml-kem-768", 3), algorithm("x25519", 0)
for name, before, after in [
    ("N3 changes to x25519, N2 has ml-kem-768 and N4 x25519",
     [protocol("N2", "ml-kem-768"), protocol("N3", "ml-kem-768"), protocol("N4", "x25519")],
     [protocol("N2", "ml-kem-768"), protocol("N3", "x25519"), protocol("N4", "x25519")]),
    ("levels change places", [kem, dh], [algorithm("ml-kem-768", 0), algorithm("x25519", 3)]),
    ("the one level changes", [kem], [algorithm("ml-kem-768", 0)]),
]:
    write("before.json", before)
    write("after.json", after)
    print(name)
    for preset in ([], ["preset-diff", "--type", "bom"]):
        done = subprocess.run(["venv/bin/cjd", "-i", "before.json", "after.json", "-o", "diff.json",
                               *preset], capture_output=True)
        with open("diff.json") as file:
            found = json.load(file)
        found = found.get("diff_summary", found)["before.json"]
        print("  preset:" if preset else "  plain:", json.dumps(found), "exit", done.returncode)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
N3 changes to x25519, N2 has ml-kem-768 and N4 x25519
  plain: {} exit 0
  preset: {"components": {}} exit 0
levels change places
  plain: {} exit 0
  preset: {"components": {}} exit 0
the one level changes
  plain: {"components": [{"cryptoProperties": {"algorithmProperties": {"nistQuantumSecurityLevel": 3}}}]} exit 0
  preset: {"components": {}} exit 0
SEEN
