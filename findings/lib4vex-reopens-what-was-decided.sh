#!/usr/bin/env bash
# Package: lib4vex 0.2.3 (Python 3.11), seen on 2026-11-30.
# Guess: lib4vex, which reads and writes OpenVEX, CycloneDX and CSAF, converts one into another with
#   the status translated: CycloneDX's exploitable, resolved and in_triage are OpenVEX's affected,
#   fixed and under_investigation.
# Seen: a status that the other format does not know by the same word is written as under
#   investigation: exploitable, resolved and false_positive in OpenVEX; affected and fixed in
#   CycloneDX; affected and not_affected in CSAF, where the flag still says that the code is not
#   reached. All products become the document's one in CSAF, and "None@None" out of CycloneDX.
#   Nothing is reported. Times are written without a zone, which OpenVEX requires (RFC 3339).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile lib4vex==0.2.3 lib4sbom==0.10.4
cat >run.py <<'PY'
import json
from lib4vex.generator import VEXGenerator
from lib4vex.parser import VEXParser

def convert(source, target, document):
    with open(f"{source}.json", "w") as out:
        json.dump(document, out)
    parser = VEXParser(vex_type=source)
    parser.parse(f"{source}.json")
    generator = VEXGenerator(vex_type=target)
    generator.set_product("core", "1.0", "")
    generator.generate("core", parser.get_vulnerabilities(), {"version": "1"}, f"to-{target}.json")
    with open(f"to-{target}.json") as written:
        return json.load(written)

states = ["exploitable", "resolved", "in_triage", "false_positive", "not_affected"]
bom = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
       "components": [{"type": "application", "name": "amf", "version": "1.0", "bom-ref": "amf"}],
       "vulnerabilities": [{"id": f"CVE-2026-{n}", "analysis": {"state": state},
                            "affects": [{"ref": "amf"}]} for n, state in enumerate(states)]}
for state, one in zip(states, convert("cyclonedx", "openvex", bom)["statements"]):
    print(f"{state} -> OpenVEX {one['status']}, {one['products'][0]['@id']}")
time = "2026-11-30T00:00:00Z"
cases = [("affected", {"action_statement": "update"}), ("fixed", {}), ("under_investigation", {}),
         ("not_affected", {"justification": "vulnerable_code_not_in_execute_path"})]
vex = {"@context": "https://openvex.dev/ns/v0.2.0", "@id": "urn:example:vex", "author": "core",
       "role": "vendor", "timestamp": time, "version": 1,
       "statements": [{"vulnerability": {"name": f"CVE-2026-{n}"}, "timestamp": time,
                       "products": [{"@id": f"pkg:generic/nf{n}@1.0"}], "status": status, **more}
                      for n, (status, more) in enumerate(cases)]}
for (status, _), one in zip(cases, convert("openvex", "csaf", vex)["vulnerabilities"]):
    print(f"{status} -> CSAF {one['product_status']}", *[f["label"] for f in one.get("flags", [])])
for (status, _), one in zip(cases, convert("openvex", "cyclonedx", vex)["vulnerabilities"]):
    print(f"{status} -> CycloneDX {one['analysis']['state']}")
written = convert("openvex", "openvex", vex)
print("time with a zone:", written["timestamp"][19:] != "")
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
exploitable -> OpenVEX under_investigation, pkg:generic/None@None
resolved -> OpenVEX under_investigation, pkg:generic/None@None
in_triage -> OpenVEX under_investigation, pkg:generic/None@None
false_positive -> OpenVEX under_investigation, pkg:generic/None@None
not_affected -> OpenVEX not_affected, pkg:generic/None@None
affected -> CSAF {'under_investigation': ['CSAFPID_0001']}
fixed -> CSAF {'fixed': ['CSAFPID_0001']}
under_investigation -> CSAF {'under_investigation': ['CSAFPID_0001']}
not_affected -> CSAF {'under_investigation': ['CSAFPID_0001']} vulnerable_code_not_in_execute_path
affected -> CycloneDX in_triage
fixed -> CycloneDX in_triage
under_investigation -> CycloneDX in_triage
not_affected -> CycloneDX not_affected
time with a zone: False
SEEN
