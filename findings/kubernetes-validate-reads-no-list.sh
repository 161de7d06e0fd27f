#!/usr/bin/env bash
# Package: kubernetes-validate 1.37.0 (Python 3.11), seen on 2026-11-29.
# Guess: a manifest of `kind: List`, which `kubectl get --output yaml` writes and `kubectl apply`
#   reads, is validated item by item.
# Seen: there is no schema for it. The Python API raises SchemaNotFoundError; the command warns and
#   exits 0 with --strict as well, so no item was validated. A DaemonSetList of the same item is
#   valid for the API; the command exits 2 and prints 'metadata', since it prints each object's name
#   and a list has none.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet kubernetes-validate==1.37.0
cat >run.py <<'PY'
import json
import subprocess

import kubernetes_validate

labels = {"app": "sidecar"}
pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "sidecar", "image": "a"}]}}
item = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "sidecar"},
    "spec": {"selector": {"matchLabels": labels}, "template": pod}}
documents = {
    "DaemonSet": item,
    "DaemonSetList": {"apiVersion": "apps/v1", "kind": "DaemonSetList", "items": [item]},
    "List": {"apiVersion": "v1", "kind": "List", "items": [item]},
}
for kind, document in documents.items():
    try:
        kubernetes_validate.validate(document, "1.31", strict=True)
        print(f"{kind}: valid")
    except kubernetes_validate.SchemaNotFoundError as error:
        print(f"{kind}: {type(error).__name__}")
    with open("given.yaml", "w") as file:
        json.dump(document, file)
    command = ["venv/bin/kubernetes-validate", "--strict", "-k", "1.31", "given.yaml"]
    ran = subprocess.run(command, capture_output=True, text=True)
    print(f"{kind}: exit code {ran.returncode}, {(ran.stdout + ran.stderr).strip()[:50]}")
PY
seen=$(venv/bin/python run.py)
echo "$seen"
[ "$seen" = "DaemonSet: valid
DaemonSet: exit code 0, INFO given.yaml passed for resource daemonset/side
DaemonSetList: valid
DaemonSetList: exit code 2, ERROR given.yaml could not be validated: 'metadata
List: SchemaNotFoundError
List: exit code 0, WARN given.yaml Couldn't find schema for kind List" ] ||
  { echo "changed" >&2; exit 1; }
