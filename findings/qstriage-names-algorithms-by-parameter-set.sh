#!/usr/bin/env bash
# Package: qstriage 1.4.1 (Python 3.11), seen on 2026-11-30.
# Guess: `qstriage import cbom` takes an algorithm's name from the component (CycloneDX 1.6:
#   ML-KEM-768 with parameterSetIdentifier 768), and its key size from the parameter set, so `score`
#   tells RSA from ML-KEM.
# Seen: parameterSetIdentifier becomes the algorithm: ML-KEM-768 is imported as the algorithm "768",
#   RSASSA-PSS-3072 as "3072". Both are unknown and have the same score, 39 and "low"; an RSASSA-PSS
#   without that optional field has 45 and "medium", so a CBOM that says more makes RSA less urgent.
#   Without the field the name is used, and the first number in it is the key size: X25519MLKEM768
#   has 25519 bits.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile qstriage==1.4.1
cat >make.py <<'PY'
import json

def algorithm(name, primitive, **more):
    return {"type": "cryptographic-asset", "name": name, "bom-ref": name, "cryptoProperties": {
        "assetType": "algorithm", "algorithmProperties": {"primitive": primitive, **more}}}

bom = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": [
    algorithm("ML-KEM-768", "kem", parameterSetIdentifier="768", nistQuantumSecurityLevel=3),
    algorithm("RSASSA-PSS-3072", "signature", parameterSetIdentifier="3072",
              nistQuantumSecurityLevel=0),
    algorithm("RSASSA-PSS", "signature", nistQuantumSecurityLevel=0),
    algorithm("X25519MLKEM768", "combiner", nistQuantumSecurityLevel=3),
]}
with open("cbom.json", "w") as out:
    json.dump(bom, out)
PY
cat >show.py <<'PY'
import yaml

with open("inventory.yaml") as file:
    assets = yaml.safe_load(file)["assets"]
for asset in assets:
    print(asset["name"], "algorithm", asset["algorithm"], "bits", asset["key_size_bits"])
PY
venv/bin/python make.py
venv/bin/qstriage import cbom cbom.json --output inventory.yaml >said
seen=$(venv/bin/python show.py && COLUMNS=200 venv/bin/qstriage score inventory.yaml |
  grep -oE '[A-Z][A-Za-z0-9-]+ +[0-9]+\.[0-9]+ / [a-z]+' | sed 's/  */ /g' | sort)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
ML-KEM-768 algorithm 768 bits 768
RSASSA-PSS-3072 algorithm 3072 bits 3072
RSASSA-PSS algorithm RSASSA-PSS bits None
X25519MLKEM768 algorithm X25519MLKEM768 bits 25519
ML-KEM-768 39.00 / low
RSASSA-PSS 45.00 / medium
RSASSA-PSS-3072 39.00 / low
X25519MLKEM768 32.00 / low
SEEN
