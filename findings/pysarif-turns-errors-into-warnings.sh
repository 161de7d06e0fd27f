#!/usr/bin/env bash
# Package: pysarif 0.1.0 (Python 3.11), seen on 2026-11-30.
# Guess: a valid SARIF log that is loaded and saved says the same. A result without level has the
#   level of its rule (SARIF 2.1.0, 3.27.10), a result of another kind than "fail" has none, and a
#   suppression without status is accepted (3.35).
# Seen: each result without level is saved with "warning", so the error that its rule makes it is a
#   warning, and a result of kind "pass" has a level too, which the format does not allow. The
#   status of a suppression is lost: one that was rejected is saved as accepted, and the result is
#   suppressed. Of a property bag the tags are kept and all other properties are lost.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile pysarif==0.1.0
cat >run.py <<'PY'
import json
import pysarif

rule = {"id": "R1", "defaultConfiguration": {"level": "error"}}
log = {"version": "2.1.0", "runs": [{
    "tool": {"driver": {"name": "inspector", "rules": [rule]}},
    "results": [
        {"ruleId": "R1", "ruleIndex": 0, "message": {"text": "no ML-KEM"},
         "properties": {"tags": ["N2"], "group": "x25519"}},
        {"ruleId": "R1", "ruleIndex": 0, "kind": "pass", "message": {"text": "ML-KEM"}},
        {"ruleId": "R1", "ruleIndex": 0, "message": {"text": "no ML-KEM"},
         "suppressions": [{"kind": "external", "status": "rejected"}]},
    ]}]}
with open("log.json", "w") as out:
    json.dump(log, out)
pysarif.save_to_file(pysarif.load_from_file("log.json"), "saved.json")
with open("saved.json") as file:
    results = json.load(file)["runs"][0]["results"]
for given, saved in zip(log["runs"][0]["results"], results):
    for key in ("kind", "level", "suppressions", "properties"):
        if key in given or key in saved:
            print(key, given.get(key, "absent"), "->", saved.get(key, "absent"))
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
kind absent -> fail
level absent -> warning
properties {'tags': ['N2'], 'group': 'x25519'} -> {'tags': ['N2']}
kind pass -> pass
level absent -> warning
kind absent -> fail
level absent -> warning
suppressions [{'kind': 'external', 'status': 'rejected'}] -> [{'kind': 'external'}]
SEEN
