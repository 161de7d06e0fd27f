#!/usr/bin/env bash
# Package: aiopenapi3 0.11.0 (Python 3.11), seen on 2026-11-30.
# Guess: a query parameter that has `content` with application/json, as the NRF's discovery has for
#   target-plmn-list and tai (TS 29.510), is sent as JSON. `format: byte` (TS 29.571 has NAS
#   messages so) stays base64 or becomes octets, and a PATCH with application/merge-patch+json is
#   sent as JSON.
# Seen: of a list the text that Python prints for its members is sent, "mcc='001' mnc='01'". An
#   object is spread: there is no parameter tai, but plmnId and tac, which the NRF does not know and
#   ignores, so a search for one tracking area finds the network functions of all. Octets are read
#   as text, and an answer whose octets are no UTF-8 is refused. The patch ends in
#   NotImplementedError.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile aiopenapi3==0.11.0 httpx2==2.16.2
cat >run.py <<'PY'
import httpx2
from aiopenapi3 import OpenAPI

plmn = {"type": "object", "properties": {"mcc": {"type": "string"}, "mnc": {"type": "string"}}}
tai = {"type": "object", "properties": {"plmnId": plmn, "tac": {"type": "string"}}}

def parameter(name, schema):
    return {"name": name, "in": "query", "content": {"application/json": {"schema": schema}}}

def body(kind, schema):
    return {"description": "body", "content": {kind: {"schema": schema}}}

message = {"type": "object", "properties": {"nas": {"type": "string", "format": "byte"}}}
document = {
    "openapi": "3.0.0", "info": {"title": "nrf", "version": "1"},
    "servers": [{"url": "http://nrf"}], "paths": {
        "/search": {"get": {"operationId": "search", "parameters": [
            parameter("target-plmn-list", {"type": "array", "items": plmn}), parameter("tai", tai),
        ], "responses": {"200": body("application/json", message)}}},
        "/profile": {"patch": {"operationId": "patch",
                               "requestBody": body("application/merge-patch+json", message),
                               "responses": {"204": {"description": "done"}}}}}}

def answer(request):
    print("asked:", *request.url.params.multi_items())
    return httpx2.Response(200, json={"nas": nas})

def session(*arguments, **options) -> httpx2.Client:
    return httpx2.Client(*arguments, **{**options, "transport": httpx2.MockTransport(answer)})

api = OpenAPI("http://nrf/openapi.json", document, session_factory=session)
network = {"mcc": "001", "mnc": "01"}
for nas, asked in [("fgBBeQ==", {"target-plmn-list": [network]}),
                   ("AvjZ", {"tai": {"plmnId": network, "tac": "0001"}})]:
    try:
        print("NAS:", repr(api._.search(parameters=asked).nas))
    except Exception as error:
        print("NAS:", type(error).__name__)
try:
    api._.patch(data={"nas": None})
except NotImplementedError:
    print("patch: NotImplementedError")
PY
seen=$(venv/bin/python -W ignore run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
asked: ('target-plmn-list', "mcc='001' mnc='01'")
NAS: '~\x00Ay'
asked: ('plmnId', "{'mcc': '001', 'mnc': '01'}") ('tac', '0001')
NAS: ResponseSchemaError
patch: NotImplementedError
SEEN
