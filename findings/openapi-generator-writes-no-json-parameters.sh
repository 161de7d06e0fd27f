#!/usr/bin/env bash
# Package: openapi-generator-cli 7.26.0 (generators python and go, Java 17), seen on 2026-11-30.
# Guess: a query parameter with the content application/json is sent as JSON. The NRF's discovery
#   (TS 29.510) has target-plmn-list and tai so. An NF type, which is `anyOf` of an enumeration and
#   any string as 3GPP writes extensible enumerations, is sent as its string.
# Seen: of a list the Python client sends Python's notation of its members, in single quotes and
#   without brackets; an object is JSON. The Go client sends both in square brackets as deepObject,
#   and for the NF type the words "nrf.NFType value". The generator says nothing of either.
#   swagger-client 3.37.3 sends JSON; so does the code of oapi-codegen 2.8.2, which was read and not
#   run.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
python3 -m venv venv
venv/bin/pip install --quiet --no-compile openapi-generator-cli==7.26.0 urllib3==2.5.0 \
  pydantic==2.12.5 python-dateutil==2.9.0
cat >nrf.yaml <<'YAML'
openapi: 3.0.0
info: {title: discovery, version: 1.0.0}
paths:
  /nf-instances:
    get:
      operationId: search
      parameters:
        - {name: nf-type, in: query, schema: {$ref: '#/components/schemas/NFType'}}
        - name: plmns
          in: query
          content:
            application/json:
              schema: {type: array, items: {$ref: '#/components/schemas/PlmnId'}}
        - name: tai
          in: query
          content: {application/json: {schema: {$ref: '#/components/schemas/Tai'}}}
      responses: {'204': {description: none}}
components:
  schemas:
    NFType:
      anyOf:
        - {type: string, enum: [AMF, SMF, UDM]}
        - {type: string}
    PlmnId:
      type: object
      required: [mcc, mnc]
      properties: {mcc: {type: string}, mnc: {type: string}}
    Tai:
      type: object
      required: [plmnId, tac]
      properties: {plmnId: {$ref: '#/components/schemas/PlmnId'}, tac: {type: string}}
YAML
for language in python go; do
  venv/bin/openapi-generator-cli generate -i nrf.yaml -g $language -o $language \
    --additional-properties=packageName=nrf >"$language.log" 2>&1 || { cat "$language.log"; exit 1; }
done
cat >run.py <<'PY'
import http.server
import subprocess
import sys
import threading
from urllib.parse import unquote_plus, urlsplit

sys.path.insert(0, "python")
import nrf

class Nrf(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        for part in urlsplit(self.path).query.split("&"):
            print(" ", unquote_plus(part))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Nrf)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
print("python")
plmns = [nrf.PlmnId(mcc="001", mnc=mnc) for mnc in ("01", "02")]
api = nrf.DefaultApi(nrf.ApiClient(nrf.Configuration(host=url)))
api.search(nf_type=nrf.NFType("UDM"), plmns=plmns, tai=nrf.Tai(plmn_id=plmns[0], tac="000001"))
print("go")
with open("go/found_test.go", "w") as out:
    out.write("""package nrf

import (
	"context"
	"testing"
)

func TestSearch(t *testing.T) {
	settings, kind := NewConfiguration(), "UDM"
	settings.Servers = ServerConfigurations{{URL: "%s"}}
	one := PlmnId{Mcc: "001", Mnc: "01"}
	request := NewAPIClient(settings).DefaultAPI.Search(context.Background())
	request = request.NfType(NFType{String: &kind}).Plmns([]PlmnId{one})
	if _, err := request.Tai(Tai{PlmnId: one, Tac: "000001"}).Execute(); err != nil {
		t.Fatal(err)
	}
}
""" % url)
subprocess.run(["go", "test", "-vet=off", "-run", "TestSearch", "."], cwd="go", check=True,
    capture_output=True)
server.shutdown()
PY
seen=$(venv/bin/python run.py)
echo "$seen"
[ "$seen" = "python
  nf-type=UDM
  plmns={'mcc': '001', 'mnc': '01'},{'mcc': '001', 'mnc': '02'}
  tai={\"plmnId\": {\"mcc\": \"001\", \"mnc\": \"01\"}, \"tac\": \"000001\"}
go
  nf-type=nrf.NFType value
  plmns[mcc]=001
  plmns[mnc]=01
  tai[plmnId][mcc]=001
  tai[plmnId][mnc]=01
  tai[tac]=000001" ] || { echo "changed" >&2; exit 1; }
