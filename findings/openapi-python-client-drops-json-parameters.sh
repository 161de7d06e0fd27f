#!/usr/bin/env bash
# Package: openapi-python-client 0.29.1 (Python 3.11), seen on 2026-11-30.
# Guess: a query parameter that has `content` with application/json, as the NRF's discovery has for
#   target-plmn-list and tai (TS 29.510), is written as JSON or reported as not supported; an array
#   with `explode: false` is written with commas (OpenAPI 3.0, style form).
# Seen: parameters with `content` are left out of the client, without a warning and with exit code
#   0: a search for the NFs of one network finds those of all. service-names is repeated instead of
#   joined. swagger-client 3.37.3 writes all of them; so does the code of oapi-codegen 2.8.2, which
#   was read and not run.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile openapi-python-client==0.29.1
export PATH="$folder/venv/bin:$PATH"
cat >nrf.yaml <<'YAML'
openapi: 3.0.0
info: {title: discovery, version: 1.0.0}
paths:
  /nf-instances:
    get:
      operationId: search
      parameters:
        - {name: target-nf-type, in: query, required: true, schema: {type: string}}
        - name: service-names
          in: query
          style: form
          explode: false
          schema: {type: array, items: {type: string}}
        - name: target-plmn-list
          in: query
          content:
            application/json:
              schema: {type: array, items: {$ref: '#/components/schemas/PlmnId'}}
        - {name: tai, in: query, content: {application/json: {schema: {type: object}}}}
      responses:
        '200': {description: found, content: {application/json: {schema: {type: object}}}}
components:
  schemas:
    PlmnId:
      type: object
      required: [mcc, mnc]
      properties: {mcc: {type: string}, mnc: {type: string}}
YAML
echo 'post_hooks: []' >settings.yaml
openapi-python-client generate --path nrf.yaml --config settings.yaml --output-path made >said
cat >run.py <<'PY'
import inspect
import sys
import httpx

sys.path.insert(0, "made")
from discovery_client.api.default import search

print("said:", open("said").read().strip())
print("parameters:", *(name for name in inspect.signature(search._get_kwargs).parameters))
asked = search._get_kwargs(target_nf_type="UDM", service_names=["nudm-sdm", "nudm-uecm"])
print(httpx.Request(**{**asked, "url": "http://nrf" + asked["url"]}).url.query.decode())
PY
seen=$(venv/bin/python run.py)
echo "$seen"
[ "$seen" = "said: Generating made
parameters: target_nf_type service_names
target-nf-type=UDM&service-names=nudm-sdm&service-names=nudm-uecm" ] ||
  { echo "changed" >&2; exit 1; }
