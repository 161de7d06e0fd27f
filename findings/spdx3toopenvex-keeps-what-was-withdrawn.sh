#!/usr/bin/env bash
# Package: spdx3toopenvex 0.0.1 with spdx-python-model 0.0.1 (Python 3.11), seen on 2026-11-30.
# Guess: of an SPDX 3.0.1 document with VEX, what is in force is converted: an assessment with a
#   withdrawnTime is left out, the others have their publishedTime as timestamp of the statement, by
#   which OpenVEX tells the later from the earlier. Package URLs are found, each vulnerability too.
# Seen: the withdrawn "not affected" is a statement like each other, and no statement has a time: an
#   AMF that is affected is also not affected and under investigation. A package URL in the property
#   software_packageUrl is left out, so no scanner finds the product, and a vulnerability with an
#   identifier other than a CVE number has no statement.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile spdx3toopenvex==0.0.1 spdx-python-model==0.0.1
cat >run.py <<'PY'
import io
import json
from spdx3toopenvex.convert import convert_spdx_to_openvex

BASE = "https://example.com/spdx/"

def element(type_, spdx_id, **members):
    return {"type": type_, "spdxId": BASE + spdx_id, "creationInfo": "_:created", **members}

def vulnerability(name, type_, identifier):
    return element("security_Vulnerability", name, externalIdentifier=[
        {"type": "ExternalIdentifier", "externalIdentifierType": type_, "identifier": identifier}])

def assessment(kind, name, of, published, relationship, **members):
    return element(f"security_Vex{kind}VulnAssessmentRelationship", name, to=[BASE + "amf"],
                   relationshipType=relationship, security_publishedTime=published,
                   **{"from": BASE + of}, **members)

document = {
    "@context": "https://spdx.org/rdf/3.0.1/spdx-context.jsonld",
    "@graph": [
        {"type": "CreationInfo", "@id": "_:created", "specVersion": "3.0.1",
         "created": "2026-11-30T10:00:00Z", "createdBy": [BASE + "vendor"]},
        element("Organization", "vendor", name="Example"),
        element("software_Package", "amf", name="amf", software_packageVersion="1.4.0",
                software_packageUrl="pkg:oci/amf@1.4.0"),
        vulnerability("v1", "cve", "CVE-2026-0001"),
        vulnerability("v2", "securityOther", "GHSA-xxxx-yyyy-zzzz"),
        assessment("UnderInvestigation", "a1", "v1", "2026-11-01T10:00:00Z",
                   "underInvestigationFor"),
        assessment("NotAffected", "a2", "v1", "2026-11-10T10:00:00Z", "doesNotAffect",
                   security_withdrawnTime="2026-11-20T10:00:00Z",
                   security_justificationType="vulnerableCodeNotInExecutePath"),
        assessment("Affected", "a3", "v1", "2026-11-20T10:00:00Z", "affects",
                   security_actionStatement="Prefer X25519MLKEM768"),
        assessment("Fixed", "a4", "v2", "2026-11-20T10:00:00Z", "fixedIn"),
    ],
}
converted = convert_spdx_to_openvex(io.BytesIO(json.dumps(document).encode()), "Example")
for statement in converted["statements"]:
    print(json.dumps(statement))
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
{"vulnerability": {"@id": "https://example.com/spdx/v1", "name": "CVE-2026-0001"}, "products": [{"@id": "https://example.com/spdx/amf"}], "status": "under_investigation"}
{"vulnerability": {"@id": "https://example.com/spdx/v1", "name": "CVE-2026-0001"}, "products": [{"@id": "https://example.com/spdx/amf"}], "status": "affected", "action_statement": "Prefer X25519MLKEM768"}
{"vulnerability": {"@id": "https://example.com/spdx/v1", "name": "CVE-2026-0001"}, "products": [{"@id": "https://example.com/spdx/amf"}], "status": "not_affected", "justification": "vulnerable_code_not_in_execute_path"}
SEEN
