#!/usr/bin/env bash
# Packages: cvss4 1.0.7, @rohit_coder/cvss 1.0.5, @turingpointde/cvss.js 2.1.0 (npm, Node 20) and
#   cvss 3.6 (Python 3.11), seen on 2026-11-30.
# Guess: libraries give a CVSS 4.0 vector the same score. The score of each vector is fixed by the
#   lookup of macro vectors and by steps of a tenth in between, rounded to one digit (section 8.2 of
#   the specification); a tie is rounded up. "No impact" means the modified metrics where they are
#   given.
# Seen: the libraries for JavaScript round the binary number, and where a tie falls short of a half
#   by an ulp, the score is 0.1 too low: the calculator of FIRST and the library for Python have
#   5.7. @turingpointde/cvss.js looks for an impact in the base metrics alone: where the environment
#   adds one, the score is 0 instead of 8.7.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  cvss4@1.0.7 @rohit_coder/cvss@1.0.5 @turingpointde/cvss.js@2.1.0 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
python3 -m venv venv
venv/bin/pip install --quiet --no-compile cvss==3.6
cat >vectors <<'VECTORS'
CVSS:4.0/AV:L/AC:L/AT:P/PR:N/UI:A/VC:H/VI:L/VA:N/SC:N/SI:L/SA:N
CVSS:4.0/AV:N/AC:H/AT:P/PR:H/UI:A/VC:H/VI:L/VA:N/SC:L/SI:N/SA:N
CVSS:4.0/AV:A/AC:H/AT:P/PR:N/UI:P/VC:N/VI:L/VA:L/SC:L/SI:L/SA:H
CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:N/VI:N/VA:N/SC:N/SI:N/SA:N/MVA:H/MSC:L
CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N
VECTORS
cat >run.mjs <<'JS'
import { readFileSync } from "node:fs";
import first from "cvss4";
import second from "@rohit_coder/cvss";
import { CVSS } from "@turingpointde/cvss.js";

for (const vector of readFileSync("vectors", "utf8").trim().split("\n")) {
  console.log(vector.slice(9));
  if (!vector.includes("/M"))
    console.log("  cvss4", first.calculateBaseScore(vector), "@rohit_coder/cvss",
      second.calculateBaseScore(vector));
  console.log("  @turingpointde/cvss.js", CVSS(vector).getScore());
}
JS
cat >run.py <<'PY'
from cvss import CVSS4
print("Python:", *[CVSS4(vector.strip()).base_score for vector in open("vectors")])
PY
seen=$(node run.mjs && venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
AV:L/AC:L/AT:P/PR:N/UI:A/VC:H/VI:L/VA:N/SC:N/SI:L/SA:N
  cvss4 5.6 @rohit_coder/cvss 5.6
  @turingpointde/cvss.js 5.6
AV:N/AC:H/AT:P/PR:H/UI:A/VC:H/VI:L/VA:N/SC:L/SI:N/SA:N
  cvss4 5.6 @rohit_coder/cvss 5.6
  @turingpointde/cvss.js 5.6
AV:A/AC:H/AT:P/PR:N/UI:P/VC:N/VI:L/VA:L/SC:L/SI:L/SA:H
  cvss4 5.1 @rohit_coder/cvss 5.1
  @turingpointde/cvss.js 5
AV:N/AC:L/AT:N/PR:N/UI:N/VC:N/VI:N/VA:N/SC:N/SI:N/SA:N/MVA:H/MSC:L
  @turingpointde/cvss.js 0
AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N
  cvss4 9.3 @rohit_coder/cvss 9.3
  @turingpointde/cvss.js 9.3
Python: 5.7 5.7 5.1 8.7 9.3
SEEN
