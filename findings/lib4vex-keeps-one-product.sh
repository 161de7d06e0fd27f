#!/usr/bin/env bash
# Package: lib4vex 0.2.3 (Python 3.11), seen on 2026-11-30.
# Guess: a valid OpenVEX statement (v0.2.0) is read with all of its products and their
#   subcomponents, with its impact statement, and, where it has no time of its own, with that of the
#   document.
# Seen: of two affected products the last is kept, so the first has no vulnerability. "not_affected"
#   of one subcomponent is read as that of the whole product, and an impact statement, which stands
#   in for a justification, is lost. The text of the action statement becomes its time. A statement
#   without a time raises KeyError. In CycloneDX, `affects` keeps its first reference instead.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile lib4vex==0.2.3 lib4sbom==0.10.4
cat >run.py <<'PY'
import json
from lib4vex.parser import VEXParser

time = "2026-11-30T00:00:00Z"

def read(kind, document):
    with open("vex.json", "w") as out:
        json.dump(document, out)
    parser = VEXParser(vex_type=kind)
    parser.parse("vex.json")
    for one in parser.get_vulnerabilities():
        print(kind, {key: one[key] for key in sorted(one) if key not in ("created", "product")})

def openvex(*statements):
    return {"@context": "https://openvex.dev/ns/v0.2.0", "@id": "urn:example:vex", "author": "core",
            "role": "vendor", "timestamp": time, "version": 1, "statements": list(statements)}

def statement(name, products, status, **more):
    return {"vulnerability": {"name": name}, "timestamp": time, "products": products,
            "status": status, **more}

amf, smf, upf = ({"@id": f"pkg:generic/{name}@1.0"} for name in ("amf", "smf", "upf"))
part = {**upf, "subcomponents": [{"@id": "pkg:generic/openssl@3.5.0"}]}
read("openvex", openvex(
    statement("CVE-2026-1", [amf, smf], "affected", action_statement="update"),
    statement("CVE-2026-2", [part], "not_affected", impact_statement="not linked"),
))
late = statement("CVE-2026-3", [amf], "fixed")
del late["timestamp"]
try:
    read("openvex", openvex(late))
except KeyError as error:
    print("openvex KeyError", error)
read("cyclonedx", {
    "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
    "components": [{"type": "application", "name": name, "bom-ref": name}
                   for name in ("amf", "smf")],
    "vulnerabilities": [{"id": "CVE-2026-1", "analysis": {"state": "exploitable"},
                         "affects": [{"ref": "amf"}, {"ref": "smf"}]}],
})
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
openvex {'action_timestamp': 'update', 'comment': 'update', 'id': 'CVE-2026-1', 'purl': 'pkg:generic/smf@1.0', 'release': '1.0', 'status': 'affected'}
openvex {'id': 'CVE-2026-2', 'purl': 'pkg:generic/upf@1.0', 'release': '1.0', 'status': 'not_affected'}
openvex KeyError 'timestamp'
cyclonedx {'bom_link': 'amf', 'id': 'CVE-2026-1', 'status': 'exploitable'}
SEEN
