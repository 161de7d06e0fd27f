#!/usr/bin/env bash
# Package: cyclonedx-python-lib 11.12.0 (Python 3.11), seen on 2026-11-29.
# Guess: a CBOM that is read and written again keeps `cipherSuites[].identifiers`, the octets of the
#   code point in their order, as schema 1.6 describes them (["0xC0", "0x2F"] is 0xC02F).
# Seen: identifiers are kept as a sorted set. 0x1301 is written as ["0x01", "0x13"], 0xC02F as
#   ["0x2F", "0xC0"], and 0x0000 has one octet left. Both documents pass the strict validator, so no
#   tool that looks suites up by code point finds them again.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet "cyclonedx-python-lib[json-validation]==11.12.0"
cat >"$folder/run.py" <<'PY'
import json
from cyclonedx.model.bom import Bom
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

suites = [["0x13", "0x01"], ["0xC0", "0x2F"], ["0x00", "0x00"]]
protocol = {"type": "tls", "version": "1.3", "cipherSuites": [{"name": str(i), "identifiers": suite} for i, suite in enumerate(suites)]}
document = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": [{
    "type": "cryptographic-asset", "bom-ref": "tls", "name": "TLS",
    "cryptoProperties": {"assetType": "protocol", "protocolProperties": protocol}}]}
validate = JsonStrictValidator(SchemaVersion.V1_6).validate_str
assert validate(json.dumps(document)) is None
text = JsonV1Dot6(Bom.from_json(document)).output_as_string()
assert validate(text) is None
written = json.loads(text)["components"][0]["cryptoProperties"]["protocolProperties"]["cipherSuites"]
for suite in sorted(written, key=lambda suite: suite["name"]):
    print(suites[int(suite["name"])], "is written as", suite["identifiers"])
PY
seen=$("$folder/venv/bin/python" "$folder/run.py")
echo "$seen"
[ "$seen" = "['0x13', '0x01'] is written as ['0x01', '0x13']
['0xC0', '0x2F'] is written as ['0x2F', '0xC0']
['0x00', '0x00'] is written as ['0x00']" ] || { echo "changed" >&2; exit 1; }
