#!/usr/bin/env bash
# Package: pydantic-deep-patch 0.1.0 with pydantic 2.14.4 (Python 3.11), seen on 2026-11-30.
# Guess: apply_patch applies the operations of RFC 6902: move and copy too, `~1` of a path is a
#   slash (RFC 6901, 4), and replace, remove and move of a missing member are errors (4.2, 4.3).
#   What diff writes is a patch that another library applies.
# Seen: move and copy are accepted and have no effect. `~1` and `~0` stay as they are, so a
#   replaced member with a slash in its name keeps its value and gets a neighbour. Replace and
#   remove of a missing member succeed, test of a list's element ends in AttributeError. diff
#   writes names with a slash unescaped, which jsonpatch refuses, and the merge patch is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile \
  pydantic-deep-patch==0.1.0 pydantic==2.14.4 jsonpatch==1.33
cat >run.py <<'PY'
import jsonpatch
from pydantic import BaseModel
from pydantic_deep_patch import apply_patch, diff, merge_patch

class Profile(BaseModel):
    slices: dict[str, int]
    nodes: list[str]

profile = Profile(slices={"1-000001": 5, "urn:a/b": 7}, nodes=["amf1", "amf2"])

def seen(operation):
    print(operation)
    for name, apply in [
        ("pydantic-deep-patch", lambda: apply_patch(profile, [operation]).model_dump()),
        ("jsonpatch", lambda: jsonpatch.apply_patch(profile.model_dump(), [operation])),
    ]:
        try:
            read = apply()
            print(f"  {name}:", "no change" if read == profile.model_dump() else read)
        except Exception as error:
            print(f"  {name}: {type(error).__name__}")

seen({"op": "move", "from": "/slices/1-000001", "path": "/slices/2"})
seen({"op": "copy", "from": "/slices/1-000001", "path": "/slices/2"})
seen({"op": "replace", "path": "/slices/urn:a~1b", "value": 9})
seen({"op": "replace", "path": "/slices/3", "value": 9})
seen({"op": "remove", "path": "/slices/3"})
seen({"op": "test", "path": "/nodes/0", "value": "amf1"})
changed = merge_patch(profile, {"slices": {"urn:a/b": 9, "1-000001": None}})
print("merge patch:", changed.slices)
patch = [operation.model_dump(exclude_none=True) for operation in diff(profile, changed)]
print("diff:", patch)
try:
    jsonpatch.apply_patch(profile.model_dump(), patch)
except Exception as error:
    print("  jsonpatch:", type(error).__name__)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
{'op': 'move', 'from': '/slices/1-000001', 'path': '/slices/2'}
  pydantic-deep-patch: no change
  jsonpatch: {'slices': {'urn:a/b': 7, '2': 5}, 'nodes': ['amf1', 'amf2']}
{'op': 'copy', 'from': '/slices/1-000001', 'path': '/slices/2'}
  pydantic-deep-patch: no change
  jsonpatch: {'slices': {'1-000001': 5, 'urn:a/b': 7, '2': 5}, 'nodes': ['amf1', 'amf2']}
{'op': 'replace', 'path': '/slices/urn:a~1b', 'value': 9}
  pydantic-deep-patch: {'slices': {'1-000001': 5, 'urn:a/b': 7, 'urn:a~1b': 9}, 'nodes': ['amf1', 'amf2']}
  jsonpatch: {'slices': {'1-000001': 5, 'urn:a/b': 9}, 'nodes': ['amf1', 'amf2']}
{'op': 'replace', 'path': '/slices/3', 'value': 9}
  pydantic-deep-patch: {'slices': {'1-000001': 5, 'urn:a/b': 7, '3': 9}, 'nodes': ['amf1', 'amf2']}
  jsonpatch: JsonPatchConflict
{'op': 'remove', 'path': '/slices/3'}
  pydantic-deep-patch: no change
  jsonpatch: JsonPatchConflict
{'op': 'test', 'path': '/nodes/0', 'value': 'amf1'}
  pydantic-deep-patch: AttributeError
  jsonpatch: no change
merge patch: {'urn:a/b': 9}
diff: [{'op': 'remove', 'path': '/slices/1-000001'}, {'op': 'replace', 'path': '/slices/urn:a/b', 'value': 9}]
  jsonpatch: JsonPointerException
SEEN
