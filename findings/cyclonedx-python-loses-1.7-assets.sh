#!/usr/bin/env bash
# Package: cyclonedx-python-lib 11.12.0 (Python 3.11), seen on 2026-11-29.
# Guess: the library has schema 1.7, a validator and a writer for it, so a valid 1.7 CBOM survives
#   reading and writing.
# Seen: `Bom.from_json` drops every cryptographic field that 1.7 added, without a warning: an
#   algorithm's family and curve, a certificate's serial number, fingerprint, state and file
#   extension, a protocol's related assets. IKEv2 transforms, objects since 1.7, raise
#   "unhashable type: 'dict'".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet "cyclonedx-python-lib[json-validation]==11.12.0"
cat >"$folder/run.py" <<'PY'
import json
from cyclonedx.model.bom import Bom
from cyclonedx.output.json import JsonV1Dot7
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

def document(kind, properties):
    return {"bomFormat": "CycloneDX", "specVersion": "1.7", "version": 1, "components": [{
        "type": "cryptographic-asset", "bom-ref": "a", "name": "a",
        "cryptoProperties": {"assetType": kind, f"{kind}Properties": properties}}]}

for kind, properties in [
    ("algorithm", {"primitive": "kem", "algorithmFamily": "ML-KEM", "ellipticCurve": "nist/P-256"}),
    ("certificate", {"serialNumber": "01", "subjectName": "CN=a", "certificateFileExtension": "pem",
                     "certificateState": [{"state": "active"}],
                     "fingerprint": {"alg": "SHA-256", "content": "0" * 64}}),
    ("protocol", {"type": "tls", "version": "1.3", "relatedCryptographicAssets": [{"type": "algorithm", "ref": "a"}]}),
    ("protocol", {"type": "ike", "ikev2TransformTypes": {"ke": [{"group": 31}, {"group": 36}]}}),
]:
    given = document(kind, properties)
    assert JsonStrictValidator(SchemaVersion.V1_7).validate_str(json.dumps(given)) is None
    try:
        text = JsonV1Dot7(Bom.from_json(given)).output_as_string()
        kept = json.loads(text)["components"][0]["cryptoProperties"][f"{kind}Properties"]
        print(kind, "loses", ", ".join(sorted(set(properties) - set(kept))))
    except TypeError as error:
        print(kind, "raises", error)
PY
seen=$("$folder/venv/bin/python" "$folder/run.py")
echo "$seen"
[ "$seen" = "algorithm loses algorithmFamily, ellipticCurve
certificate loses certificateFileExtension, certificateState, fingerprint, serialNumber
protocol loses relatedCryptographicAssets
protocol raises unhashable type: 'dict'" ] || { echo "changed" >&2; exit 1; }
