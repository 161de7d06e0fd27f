#!/usr/bin/env bash
# Package: pyang 2.7.1 (Python 3.11), seen on 2026-11-30.
# Guess: json2xml, which pyang installs, translates YANG 1.1's anydata with its content; its driver
#   file, the output of `pyang -f jtox`, names the node. Content that JSON qualifies by its module
#   (`o1:link`) gets that module's namespace. Without -o, the result goes to standard output.
# Seen: anydata is left out without a word, and so is everything below it: a notification of YANG
#   Push, whose contents are anydata, is an empty envelope. The content of anyxml is written under
#   the name `o1:link` with no declaration of o1, so no parser reads the whole document, and `true`
#   becomes `True`. Without -o: TypeError. yanglint 2.1.30 writes both nodes in their namespace.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile pyang==2.7.1
cat >o1.yang <<'YANG'
module o1 {
  yang-version 1.1;
  namespace "urn:o1";
  prefix o;
  container link {
    leaf name { type string; }
    leaf secured { type boolean; }
  }
  container update {
    leaf id { type uint32; }
    anydata contents;
    anyxml filter;
  }
}
YANG
venv/bin/pyang -f jtox o1.yang -o o1.jtox
cat >show.py <<'PY'
import json
import subprocess
import sys
import xml.etree.ElementTree as ET

link = {"o1:link": {"name": "F1", "secured": True}}
for node in "contents", "filter":
    with open("given.json", "w") as file:
        json.dump({"o1:update": {"id": 7, node: link}}, file)
    subprocess.run(["venv/bin/json2xml", "-t", "config", "-o", "out.xml", "o1.jtox", "given.json"],
                   check=True)
    text = open("out.xml").read()
    print(node, text[text.index("<o:update>"):text.index("</nc:config>")])
    try:
        ET.fromstring(text)
    except ET.ParseError as error:
        print(node, error)
run = subprocess.run(["venv/bin/json2xml", "-t", "config", "o1.jtox", "given.json"],
                     capture_output=True, text=True)
print(run.returncode, run.stderr.splitlines()[-1])
PY
seen=$(venv/bin/python show.py)
echo "$seen"
[ "$seen" = "contents <o:update><o:id>7</o:id></o:update>
filter <o:update><o:id>7</o:id><o:filter><o1:link><name>F1</name><secured>True</secured></o1:link></o:filter></o:update>
filter unbound prefix: line 2, column 113
1 TypeError: write() argument must be str, not bytes" ] || { echo "changed" >&2; exit 1; }
