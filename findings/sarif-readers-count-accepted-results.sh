#!/usr/bin/env bash
# Packages: sarif-tools 3.0.5 (Python 3.11), sarif-junit 1.1.4 (Node 20); seen on 2026-11-29.
# Guess: readers that count results leave out a result whose suppression is accepted (SARIF 2.1.0,
#   3.27.23 and 3.35) and a result of `baselineState` "absent" (3.27.24), which only the earlier run
#   had.
# Seen: both count them. sarif-tools prints three errors where one is open, and its `--check error`
#   fails for a log whose only errors are accepted or gone. sarif-junit writes them as failures. A
#   pipeline stays red after a result was accepted, and after a repair whose log has the old result.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet sarif-tools==3.0.5
npm install --silent --no-save --prefix "$folder" sarif-junit@1.1.4
cat >"$folder/run.py" <<'PY'
import json
import subprocess
import sys
import xml.etree.ElementTree as xml

folder = sys.argv[1]
OPEN = {"baselineState": "unchanged"}
ACCEPTED = {**OPEN, "suppressions": [{"kind": "external", "status": "accepted"}]}
GONE = {"baselineState": "absent"}

def log(name, states):
    place = {"artifactLocation": {"uri": "n3.pcap"}, "region": {"startLine": 1}}
    results = [{"ruleId": "no-integrity", "level": "error", "message": {"text": f"frame {frame}"},
        "locations": [{"physicalLocation": place}], **state} for frame, state in enumerate(states)]
    driver = {"name": "tool", "rules": [{"id": "no-integrity"}]}
    run = {"tool": {"driver": driver}, "results": results}
    path = f"{folder}/{name}.sarif"
    with open(path, "w") as file:
        json.dump({"version": "2.1.0", "runs": [run]}, file)
    return path

def seen(name, states):
    path, report = log(name, states), f"{folder}/{name}.xml"
    sarif = [f"{folder}/venv/bin/sarif", "--check", "error", "summary", path]
    summary = subprocess.run(sarif, capture_output=True, text=True)
    errors = next(line for line in summary.stdout.splitlines() if line.startswith("error"))
    print(f"{name}: sarif-tools: {errors}, exit code {summary.returncode}")
    junit = [f"{folder}/node_modules/.bin/sarif-junit", "-i", path, "-o", report]
    subprocess.run(junit, check=True, capture_output=True)
    print(f"{name}: sarif-junit: failures {xml.parse(report).getroot().get('failures')}")

seen("one open", [OPEN, ACCEPTED, GONE])
seen("none open", [ACCEPTED, GONE])
seen("no result", [])
PY
seen=$("$folder/venv/bin/python" "$folder/run.py" "$folder")
echo "$seen"
[ "$seen" = "one open: sarif-tools: error: 3, exit code 3
one open: sarif-junit: failures 3
none open: sarif-tools: error: 2, exit code 2
none open: sarif-junit: failures 2
no result: sarif-tools: error: 0, exit code 0
no result: sarif-junit: failures 0" ] || { echo "changed" >&2; exit 1; }
