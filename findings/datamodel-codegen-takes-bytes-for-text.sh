#!/usr/bin/env bash
# Packages: datamodel-code-generator 0.89.0, pydantic 2.14.4 (Python 3.11), seen on 2026-11-30.
# Guess: `type: string, format: byte`, as TS 29.571 has Bytes for NAS messages and keys, becomes
#   `bytes`, or text that stays base64.
# Seen: it becomes Base64Str, whose content must be UTF-8. A NAS message that is ASCII by chance is
#   read. A registration request with the PLMN 208 93 (02 f8 39) is refused: "'utf-8' codec can't
#   decode byte 0xf8". The generated client refuses valid answers of other network functions.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --only-binary :all: datamodel-code-generator==0.89.0 pydantic==2.14.4
cat >api.yaml <<'YAML'
openapi: 3.0.0
info: { title: n1, version: 1.0.0 }
paths: {}
components:
  schemas:
    Bytes: { type: string, format: byte }
    N1Message:
      type: object
      required: [n1]
      properties: { n1: { $ref: '#/components/schemas/Bytes' } }
YAML
venv/bin/datamodel-codegen --input api.yaml --input-file-type openapi --output model.py \
  --output-model-type pydantic_v2.BaseModel --target-python-version 3.11 2>/dev/null
grep Base64Str model.py
cat >run.py <<'PY'
import base64
from model import N1Message
from pydantic import ValidationError

def read(octets):
    try:
        return N1Message.model_validate({"n1": base64.b64encode(octets).decode()}).n1.root
    except ValidationError as error:
        return error.errors()[0]["msg"]

ascii_only = read(bytes.fromhex("7e005c000d"))
registration = read(bytes.fromhex("7e004179000d0102f839f0ff000000000000001032"))
print(repr(ascii_only), "|", registration)
assert ascii_only == "~\0\\\0\r"
assert "codec can't decode byte 0xf8" in registration, registration
PY
venv/bin/python run.py
echo "as stated"
