#!/usr/bin/env bash
# Package: cbomctl 0.1.4 (Python 3.11), seen on 2026-11-30.
# Guess: X25519 with the primitive key-agree is judged as key agreement, whatever its
#   cryptoFunctions are; keyderive is one of them (CycloneDX 1.6), and what a key agreement ends in.
# Seen: with keyderive the purpose is "ambiguous", and the verdict of each policy is INDET instead
#   of FAIL or WARN: a CBOM that says more about a broken algorithm gets no verdict on it. It is the
#   same for ML-KEM. Without functions, and with keygen, the primitive decides.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile cbomctl==0.1.4
cat >run.py <<'PY'
import json
import os
import subprocess

def judge(name, primitive, functions):
    algorithm = {"primitive": primitive, "nistQuantumSecurityLevel": 0}
    if functions:
        algorithm["cryptoFunctions"] = functions
    with open("cbom.json", "w") as out:
        json.dump({"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": [
            {"type": "cryptographic-asset", "name": name, "bom-ref": "asset", "cryptoProperties": {
                "assetType": "algorithm", "algorithmProperties": algorithm}}]}, out)
    done = subprocess.run(["venv/bin/cbomctl", "verdict", "cbom.json"], capture_output=True,
                          text=True, env={**os.environ, "COLUMNS": "160"})
    line = next(line for line in done.stdout.splitlines() if line.startswith(name))
    print(functions, *line.replace("⚠", " ").split()[:6])

for functions in (None, ["keygen"], ["keyderive"], ["keygen", "keyderive"]):
    judge("X25519", "key-agree", functions)
judge("ML-KEM-768", "kem", ["encapsulate", "decapsulate"])
judge("ML-KEM-768", "kem", ["encapsulate", "keyderive"])
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
None X25519 key-agreement WARN WARN WARN FAIL
['keygen'] X25519 key-agreement WARN WARN WARN FAIL
['keyderive'] X25519 ambiguous INDET INDET INDET INDET
['keygen', 'keyderive'] X25519 ambiguous INDET INDET INDET INDET
['encapsulate', 'decapsulate'] ML-KEM-768 key-agreement WARN WARN WARN FAIL
['encapsulate', 'keyderive'] ML-KEM-768 ambiguous INDET INDET INDET INDET
SEEN
