#!/usr/bin/env bash
# Package: csaf-vex 0.1.0b5 (Python 3.11), seen on 2026-11-30.
# Guess: a valid document of CSAF 2.0 is read and written with each product status (3.2.3.9), as a
#   product under first_affected or last_affected is affected too, and with the groups that a flag
#   or a remediation is for (3.2.3.5, 3.2.3.12).
# Seen: first_affected, last_affected, first_fixed and recommended are left out without an error:
#   what is affected there has no status, and of a document that has no other the status is empty. A
#   workaround for a group of products is for none in particular, as are flags and threats, and no
#   longer says that a restart is needed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile csaf-vex==0.1.0b5
cat >run.py <<'PY'
from csaf_vex.models.vulnerability import Vulnerability

given = {
    "cve": "CVE-2024-0001",
    "product_status": {
        "first_affected": ["amf-1.0"], "last_affected": ["amf-1.4"], "known_affected": ["smf-1.0"],
        "first_fixed": ["amf-1.5"], "recommended": ["amf-2.0"], "fixed": ["amf-1.6"],
    },
    "flags": [{"label": "component_not_present", "group_ids": ["all-upf"]}],
    "remediations": [{
        "category": "workaround", "details": "Turn the interface off.", "group_ids": ["all-smf"],
        "restart_required": {"category": "system"},
    }],
    "threats": [{"category": "impact", "details": "none", "group_ids": ["all-upf"]}],
}
written = Vulnerability.from_dict(given).to_dict()
for name in ("product_status", "flags", "remediations", "threats"):
    print(name + ":", written.get(name))
only = Vulnerability.from_dict(
    {"cve": "CVE-2024-0002", "product_status": {"last_affected": ["amf-1.4"]}})
print("last_affected alone:", only.to_dict().get("product_status"))
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
product_status: {'fixed': ['amf-1.6'], 'known_affected': ['smf-1.0']}
flags: [{'label': 'component_not_present'}]
remediations: [{'category': 'workaround', 'details': 'Turn the interface off.'}]
threats: [{'category': 'impact', 'details': 'none'}]
last_affected alone: {}
SEEN
