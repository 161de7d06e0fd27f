#!/usr/bin/env bash
# Packages: github.com/CycloneDX/cyclonedx-go v0.12.0 (Go 1.26), and cyclonedx-python-lib 11.12.0 as
#   the validator; seen on 2026-11-29.
# Guess: `EncodeVersion(1.6)` removes what 1.7 added, as it does for a certificate's serial number and
#   an algorithm's family.
# Seen: IKEv2 transforms stay objects, which 1.7 introduced; 1.6 has references there. The document
#   names schema 1.6 and breaks it.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
python3 -m venv venv
venv/bin/pip install --quiet "cyclonedx-python-lib[json-validation]==11.12.0"
cat >given.json <<'JSON'
{"bomFormat": "CycloneDX", "specVersion": "1.7", "version": 1, "components": [
  {"type": "cryptographic-asset", "bom-ref": "i", "name": "IKEv2", "cryptoProperties": {
    "assetType": "protocol", "protocolProperties": {"type": "ike", "version": "2",
      "ikev2TransformTypes": {"ke": [{"group": 31}, {"group": 36}]}}}},
  {"type": "cryptographic-asset", "bom-ref": "c", "name": "certificate", "cryptoProperties": {
    "assetType": "certificate", "certificateProperties": {"serialNumber": "01", "subjectName": "CN=a"}}}]}
JSON
cat >go.mod <<'MOD'
module finding

go 1.23

require github.com/CycloneDX/cyclonedx-go v0.12.0
MOD
cat >main.go <<'GO'
package main

import (
	"os"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	bom := new(cdx.BOM)
	if err := cdx.NewBOMDecoder(os.Stdin, cdx.BOMFileFormatJSON).Decode(bom); err != nil {
		panic(err)
	}
	if err := cdx.NewBOMEncoder(os.Stdout, cdx.BOMFileFormatJSON).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		panic(err)
	}
}
GO
go run . <given.json >converted.json
cat >check.py <<'PY'
import json
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

def errors(file, version):
    error = JsonStrictValidator(version).validate_str(open(file).read())
    return "valid" if error is None else str(error).splitlines()[0]

ike, certificate = json.load(open("converted.json"))["components"]
print("given, 1.7:", errors("given.json", SchemaVersion.V1_7))
print("converted, 1.6:", errors("converted.json", SchemaVersion.V1_6))
print("key exchanges:", ike["cryptoProperties"]["protocolProperties"]["ikev2TransformTypes"]["ke"])
print("certificate:", certificate["cryptoProperties"]["certificateProperties"])
PY
seen=$(venv/bin/python check.py)
echo "$seen"
[ "$seen" = "given, 1.7: valid
converted, 1.6: {'group': 31} is not of type 'string'
key exchanges: [{'group': 31}, {'group': 36}]
certificate: {'subjectName': 'CN=a'}" ] || { echo "changed" >&2; exit 1; }
