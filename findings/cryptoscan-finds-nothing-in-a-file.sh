#!/usr/bin/env bash
# Package: cryptoscan-pqc 0.1.1 (Python 3.11), seen on 2026-11-30.
# Guess: `cryptoscan scan`, whose help says "scan a file or directory", finds in a file what it finds in
#   its folder, and writes a valid CBOM of CycloneDX 1.6 with NIST's levels: AES-256 is 5, ML-DSA-44
#   is 2 and ML-DSA-87 is 5.
# Seen: the CBOM of a file is empty, without a word. Of its folder, AES-256 is quantum-safe with level
#   0, which is that of RSA, the three parameter sets of ML-DSA are one asset of level 3, and the
#   primitives blockcipher and keyagree are none of CycloneDX, which has block-cipher and key-agree:
#   the validator of cyclonedx-python-lib 11.12.0 refuses the CBOM.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --no-deps cryptoscan-pqc==0.1.1
mkdir code
cat >code/link.js <<'JS'
const cipher = crypto.createCipheriv("aes-256-gcm", key, iv);
const small = "ML-DSA-44";
const large = "ML-DSA-87";
JS
echo 'key = x25519.X25519PrivateKey.generate()' >code/link.py
cat >run.py <<'PY'
import json
import subprocess

for path in ("code/link.js", "code"):
    subprocess.run(["venv/bin/python", "-m", "cryptoscan", "scan", path, "-f", "json", "-o",
                    "bom.json"], check=True, capture_output=True)
    print(path)
    with open("bom.json") as file:
        components = json.load(file)["components"]
    for component in components:
        algorithm = component["cryptoProperties"]["algorithmProperties"]
        lines = len(component["evidence"]["occurrences"])
        print(f"   {component['name']}: {algorithm['primitive']}, level",
              f"{algorithm['nistQuantumSecurityLevel']}, {component['properties'][0]['value']},",
              f"lines: {lines}")
    print("   assets:", len(components))
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
code/link.js
   assets: 0
code
   X25519: keyagree, level 0, vulnerable, lines: 1
   AES-256: blockcipher, level 0, safe, lines: 1
   ML-DSA (Dilithium): signature, level 3, safe, lines: 2
   assets: 3
SEEN
