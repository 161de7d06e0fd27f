#!/usr/bin/env bash
# Packages: sbomdiff 0.6.0, lib4sbom 0.10.4 (Python 3.11), seen on 2026-11-30.
# Guess: sbomdiff compares cryptographic assets of CycloneDX 1.6 by their properties: its parser,
#   lib4sbom, reads them.
# Seen: with the same names, an ML-KEM hybrid that became x25519, another cipher suite and security
#   level 0 are no change: zeros in each line and exit code 0. lib4sbom writes what it has read
#   without cipher suites and without the security level.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet sbomdiff==0.6.0 lib4sbom==0.10.4
cat >run.py <<'PY'
import json
import subprocess
from lib4sbom.generator import SBOMGenerator
from lib4sbom.parser import SBOMParser

def write(file, suite, primitive, group, level):
    asset = lambda ref, name, kind, properties: {
        "type": "cryptographic-asset", "bom-ref": ref, "name": name,
        "cryptoProperties": {"assetType": kind, f"{kind}Properties": properties}}
    suites = [{"name": suite, "algorithms": ["kem"]}]
    document = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": [
        asset("tls", "TLS of N12", "protocol",
            {"type": "tls", "version": "1.3", "cipherSuites": suites}),
        asset("kem", "key exchange of N12", "algorithm", {"primitive": primitive,
            "parameterSetIdentifier": group, "nistQuantumSecurityLevel": level})]}
    with open(file, "w") as out:
        json.dump(document, out)

write("before.json", "TLS_AES_256_GCM_SHA384", "kem", "X25519MLKEM768", 3)
write("after.json", "TLS_AES_128_GCM_SHA256", "key-agree", "x25519", 0)
parser = SBOMParser()
parser.parse_file("before.json")
read = json.dumps(parser.get_packages())
assert all(word in read for word in ["TLS_AES_256_GCM_SHA384", "X25519MLKEM768"]), read
command = ["venv/bin/sbomdiff", "before.json", "after.json"]
run = subprocess.run(command, capture_output=True, text=True)
print(run.stdout.strip(), f"\nexit code {run.returncode}")
counts = [line.split(":")[1].strip() for line in run.stdout.splitlines() if ":" in line]
assert (run.returncode, counts) == (0, ["0"] * 4)
generator = SBOMGenerator(sbom_type="cyclonedx", format="json")
generator.generate("n12", parser.get_sbom(), filename="again.json")
with open("again.json") as file:
    again = file.read()
words = ["X25519MLKEM768", "TLS_AES_256_GCM_SHA384", "nistQuantumSecurityLevel"]
kept = {word: word in again for word in words}
print("written again:", kept)
assert list(kept.values()) == [True, False, False]
PY
venv/bin/python run.py
echo "as stated"
