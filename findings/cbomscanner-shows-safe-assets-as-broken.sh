#!/usr/bin/env bash
# Package: cbomscanner 0.2.0 (Python 3.11), seen on 2026-11-30.
# Guess: a valid CBOM of CycloneDX 1.7 is valid for `validate`, and `report` shows the level that
#   algorithmProperties has (nistQuantumSecurityLevel): ML-DSA-65 is 3, ML-KEM-768 too.
# Seen: the level is looked for one object further out, where no valid CBOM has it: each algorithm has
#   level 0, is critical and "quantum-broken". Primitives are a list of its own: a CBOM with kem,
#   key-agree, block-cipher or xof is refused as invalid. cyclonedx-python-lib 11.12.0 finds all of
#   them valid, and refuses what the tool writes itself, for that level.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile cbomscanner==0.2.0
cat >run.py <<'PY'
import json
import subprocess

def tool(*arguments):
    return subprocess.run(["venv/bin/cbomscanner", *arguments], capture_output=True, text=True)

for name, primitive in [("ML-DSA-65", "signature"), ("ML-KEM-768", "kem"), ("X25519", "key-agree"),
                        ("AES-256", "block-cipher"), ("SHAKE256", "xof")]:
    component = {"type": "cryptographic-asset", "bom-ref": name, "name": name, "cryptoProperties": {
        "assetType": "algorithm", "algorithmProperties": {
            "primitive": primitive, "nistQuantumSecurityLevel": 3}}}
    with open("bom.json", "w") as file:
        json.dump({"bomFormat": "CycloneDX", "specVersion": "1.7", "version": 1, "components": [
            component], "metadata": {"timestamp": "2026-11-30T00:00:00Z"}}, file)
    verdict = tool("validate", "bom.json").returncode
    print(f"{name}, {primitive}:", "valid" if verdict == 0 else "invalid")
    report = tool("report", "bom.json").stdout
    for line in report.splitlines():
        if line.startswith(f"| {name}") or "found" in line:
            print("  ", " ".join(line.split()))
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
ML-DSA-65, signature: valid
   | ML-DSA-65 | [!] CRITICAL | 0 | — |
   1 cryptographic asset(s) found | 1 quantum-broken (NIST level 0)
ML-KEM-768, kem: invalid
X25519, key-agree: invalid
AES-256, block-cipher: invalid
SHAKE256, xof: invalid
SEEN
