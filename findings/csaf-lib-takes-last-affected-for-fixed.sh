#!/usr/bin/env bash
# Package: csaf-lib 0.1.0b12 (Python 3.11), beside @secvisogram/csaf-validator-lib 2.0.10 (Node 20),
#   seen on 2026-11-30.
# Guess: csaf-lib verifies and writes again a CSAF 2.0 VEX that passes the strict schema and all
#   mandatory tests of the validator library: first_affected and last_affected are in the group
#   Affected (section 6.1.6), and a flag names its products by product_ids or group_ids (3.2.3.5).
# Seen: it counts both statuses as Fixed, so a product that is first affected and affected
#   contradicts itself, and it takes the name of a group for a product, so the group's products have
#   no impact statement. Read and written again, both statuses, the groups and what refers to them,
#   and the products that are in no branch are gone: the flag is there without a product.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile csaf-lib==0.1.0b12
npm install --silent --no-audit --no-fund --ignore-scripts \
  @secvisogram/csaf-validator-lib@2.0.10 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >vex.json <<'JSON'
{"document": {"category": "csaf_vex", "csaf_version": "2.0", "title": "Key exchange of the AMF",
  "publisher": {"category": "vendor", "name": "Example", "namespace": "https://example.com"},
  "references": [{"category": "self", "summary": "This", "url": "https://example.com/ex-1.json"}],
  "tracking": {"id": "EX-1", "status": "final", "version": "1",
   "current_release_date": "2026-11-30T10:00:00Z", "initial_release_date": "2026-11-30T10:00:00Z",
   "revision_history": [{"date": "2026-11-30T10:00:00Z", "number": "1", "summary": "First"}]}},
 "product_tree": {
  "full_product_names": [
   {"product_id": "amf", "name": "AMF", "product_identification_helper": {"skus": ["amf"]}},
   {"product_id": "smf", "name": "SMF", "product_identification_helper": {"skus": ["smf"]}},
   {"product_id": "upf1", "name": "UPF 1", "product_identification_helper": {"skus": ["upf"]}},
   {"product_id": "upf2", "name": "UPF 2", "product_identification_helper": {"skus": ["upf"]}}],
  "product_groups": [{"group_id": "control", "product_ids": ["amf", "smf"]}]},
 "vulnerabilities": [{"cve": "CVE-2026-0001",
  "notes": [{"category": "description", "text": "A harvested session can be read later."}],
  "product_status": {"known_not_affected": ["amf", "smf"], "known_affected": ["upf1", "upf2"],
   "first_affected": ["upf1"], "last_affected": ["upf2"]},
  "flags": [{"label": "component_not_present", "group_ids": ["control"]}],
  "remediations": [{"category": "mitigation", "details": "Prefer X25519MLKEM768",
   "product_ids": ["upf1", "upf2"], "restart_required": {"category": "system"}}]}]}
JSON
cat >validate.mjs <<'JS'
import fs from "fs";
import validate from "@secvisogram/csaf-validator-lib/validate.js";
import * as mandatory from "@secvisogram/csaf-validator-lib/mandatoryTests.js";
import { csaf_2_0_strict } from "@secvisogram/csaf-validator-lib/schemaTests.js";

const tests = [csaf_2_0_strict, ...Object.values(mandatory)];
const { isValid } = await validate(tests, JSON.parse(fs.readFileSync("vex.json")));
console.log("csaf-validator-lib: valid", isValid);
JS
cat >run.py <<'PY'
import json
from csaf_lib.models import CSAFVEX
from csaf_lib.verification import VerificationStatus, Verifier

document = json.load(open("vex.json"))
for result in Verifier(document).run_all().results:
    if result.status == VerificationStatus.FAIL:
        print("csaf-lib:", result.test_name, "fails")
again = CSAFVEX.from_dict(document).to_dict()
print("product tree:", again.get("product_tree"))
(vulnerability,) = again["vulnerabilities"]
for member in ("product_status", "flags", "remediations"):
    print(member, json.dumps(vulnerability[member]))
PY
seen=$(node validate.mjs; venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
csaf-validator-lib: valid true
csaf-lib: Contradicting Product Status fails
csaf-lib: Impact Statement Requirement fails
product tree: {}
product_status {"known_affected": ["upf1", "upf2"], "known_not_affected": ["amf", "smf"]}
flags [{"label": "component_not_present"}]
remediations [{"category": "mitigation", "details": "Prefer X25519MLKEM768", "product_ids": ["upf1", "upf2"]}]
SEEN
