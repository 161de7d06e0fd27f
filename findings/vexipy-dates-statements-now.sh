#!/usr/bin/env bash
# Package: vexipy 0.3.0 (Python 3.11), seen on 2026-11-30.
# Guess: a statement without a time has that of its document (OpenVEX 0.2.0, "Inheritance"; the
#   package's own documentation says that it cascades down), so which of two statements is in force
#   is seen. A document that is read and written is an OpenVEX document, and says what it said.
# Seen: each such statement gets the time at which it was read: an assessment of 2024 is later than
#   one of 2025 that has its time. Written, the document has `context`, `id` and `name` without `@`
#   and null for each absent member, which no reader of OpenVEX takes for OpenVEX; only
#   by_alias=True and exclude_none=True, which are not documented, write what is valid.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile vexipy==0.3.0 2>/dev/null
cat >run.py <<'PY'
import datetime, json
from vexipy import Document

def statement(status, **more):
    return {"vulnerability": {"name": "CVE-2024-0001"}, "status": status,
            "products": [{"@id": "pkg:oci/amf"}], **more}

text = json.dumps({
    "@context": "https://openvex.dev/ns/v0.2.0", "@id": "https://example.org/vex/1",
    "author": "operator", "version": 1, "timestamp": "2024-01-02T00:00:00Z",
    "statements": [
        statement("under_investigation"),
        statement("fixed", timestamp="2025-01-02T00:00:00Z"),
    ]})
document = Document.from_json(text)
today = datetime.datetime.now(datetime.timezone.utc).date()
for one in document.statements:
    day = one.timestamp.date()
    print(one.status.value, "of", "today" if abs((day - today).days) < 2 else day)
latest = max(document.statements, key=lambda one: one.timestamp)
print("in force:", latest.status.value)
written = json.loads(document.to_json())
print("members:", *written)
print("of a statement:", *written["statements"][1])
print("of its product:", written["statements"][1]["products"][0])
try:
    Document.from_json(document.to_json())
    print("read again")
except ValueError as error:
    print("read again:", type(error).__name__)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
under_investigation of today
fixed of 2025-01-02
in force: under_investigation
members: context id author role timestamp last_updated version tooling statements
of a statement: id version vulnerability timestamp last_updated products status supplier status_notes justification impact_statement action_statement action_statement_timestamp
of its product: {'id': 'pkg:oci/amf', 'identifiers': None, 'hashes': None, 'subcomponents': None}
read again
SEEN
