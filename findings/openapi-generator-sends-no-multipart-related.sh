#!/usr/bin/env bash
# Package: openapi-generator-cli 7.26.0 (generators python, go, typescript-fetch; Java 17, Go 1.26,
#   Node 20), seen on 2026-11-30.
# Guess: the client of an operation whose body is multipart/related, as the SMF's PostSmContexts of
#   TS 29.502 is, sends multipart/related: a JSON part and a part for the NAS message. Content-Id and
#   the media type of `encoding` may be missing.
# Seen: each of the three does something else, and the generator gives no warning. Python refuses to
#   send. Go sends multipart/form-data, the NAS message as application/octet-stream. TypeScript
#   sends a form in which both parts are the text "[object Blob]": the octets are lost.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
python3 -m venv venv
venv/bin/pip install --quiet --no-compile openapi-generator-cli==7.26.0 urllib3==2.5.0 \
  pydantic==2.12.5 python-dateutil==2.9.0
npm install --silent --no-save --prefix "$folder" esbuild@0.25.12
cat >smf.yaml <<'YAML'
openapi: 3.0.0
info: {title: session, version: 1.0.0}
paths:
  /sm-contexts:
    post:
      operationId: create
      requestBody:
        required: true
        content:
          multipart/related:
            schema:
              type: object
              properties:
                jsonData: {$ref: '#/components/schemas/CreateData'}
                binaryDataN1SmMessage: {type: string, format: binary}
            encoding:
              jsonData: {contentType: application/json}
              binaryDataN1SmMessage:
                contentType: application/vnd.3gpp.5gnas
                headers: {Content-Id: {schema: {type: string}}}
      responses: {'204': {description: created}}
components:
  schemas:
    CreateData:
      type: object
      properties: {n1SmMsg: {$ref: '#/components/schemas/Reference'}}
    Reference: {type: object, required: [contentId], properties: {contentId: {type: string}}}
YAML
for language in python go typescript-fetch; do
  venv/bin/openapi-generator-cli generate -i smf.yaml -g $language -o $language \
    --additional-properties=packageName=smf >"$language.log" 2>&1 || { cat "$language.log"; exit 1; }
  ! grep -i "multipart" "$language.log"
done
cat >go/found_test.go <<'GO'
package smf

import (
	"context"
	"os"
	"testing"
)

func TestCreate(t *testing.T) {
	settings := NewConfiguration()
	settings.Servers = ServerConfigurations{{URL: os.Getenv("SMF")}}
	nas, _ := os.Open("../nas")
	request := NewAPIClient(settings).DefaultAPI.Create(context.Background())
	request = request.JsonData(CreateData{N1SmMsg: &Reference{ContentId: "n1"}})
	if _, err := request.BinaryDataN1SmMessage(nas).Execute(); err != nil {
		t.Fatal(err)
	}
}
GO
cat >run.ts <<'TS'
import { Configuration, DefaultApi } from './typescript-fetch/index';
const api = new DefaultApi(new Configuration({ basePath: process.env.SMF }));
await api.create({ jsonData: { n1SmMsg: { contentId: 'n1' } },
  binaryDataN1SmMessage: new Blob([Buffer.from('2e0101c1ffff91', 'hex')]) });
TS
cat >run.py <<'PY'
import http.server
import os
import re
import subprocess
import sys
import threading

sys.path.insert(0, "python")
import smf

NAS = bytes.fromhex("2e0101c1ffff91")
with open("nas", "wb") as out:
    out.write(NAS)

class Smf(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        print("  body:", self.headers["Content-Type"].split(";")[0])
        print("  types of the parts:", re.findall(rb"\nContent-Type: (\S+)", body))
        print("  NAS message is in it:", NAS in body)
        if NAS not in body:
            print(" ", body.decode())
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Smf)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
print("python")
data = smf.CreateData(n1_sm_msg=smf.Reference(content_id="n1"))
try:
    api = smf.DefaultApi(smf.ApiClient(smf.Configuration(host=url)))
    api.create(json_data=data, binary_data_n1_sm_message=NAS)
except smf.ApiException as error:
    print(" ", " ".join(error.reason.split()))

def run(name, *command, **options):
    print(name)
    environment = {**os.environ, "SMF": url}
    subprocess.run(command, check=True, env=environment, capture_output=True, **options)

run("go", "go", "test", "-vet=off", "-run", "TestCreate", ".", cwd="go")
subprocess.run(["node_modules/.bin/esbuild", "run.ts", "--bundle", "--platform=node",
    "--format=esm", "--outfile=run.mjs", "--log-level=error"], check=True)
run("typescript", "node", "run.mjs")
server.shutdown()
PY
seen=$(venv/bin/python run.py)
echo "$seen"
[ "$seen" = 'python
  Cannot prepare a request message for provided arguments. Please check that your arguments match'\
' declared content type.
go
  body: multipart/form-data
  types of the parts: [b'"'application/octet-stream'"']
  NAS message is in it: True
typescript
  body: application/x-www-form-urlencoded
  types of the parts: []
  NAS message is in it: False
  jsonData=%5Bobject+Blob%5D&binaryDataN1SmMessage=%5Bobject+Blob%5D' ] ||
  { echo "changed" >&2; exit 1; }
