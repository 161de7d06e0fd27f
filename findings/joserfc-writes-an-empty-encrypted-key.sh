#!/usr/bin/env bash
# Packages: joserfc 1.8.0, Authlib 1.9.10 and jwcrypto 1.6.1 (Python 3.11), jose 6.2.17 (npm, Node 20), seen
#   on 2026-11-30.
# Guess: JWEs of the flattened JSON form, as N32-f has them (FlatJweJson of TS 29.573: alg dir, enc
#   A256GCM), pass between these libraries, with the members of RFC 7516, 7.2: an empty encrypted key
#   "MUST be absent", and the protected header may be absent.
# Seen: joserfc writes "encrypted_key": "" with dir, and jose refuses the message. It writes the protected
#   header anew before it checks it: one with blanks, as jwcrypto writes it, is a DecodeError. Where
#   all of the header is unprotected it ends in KeyError, and Authlib does so at each message of the
#   flattened form: it looks for recipients. jwcrypto reads all of them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile joserfc==1.8.0 Authlib==1.9.10 jwcrypto==1.6.1
npm install --silent --no-audit --no-fund --ignore-scripts jose@6.2.17 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >jose.mjs <<'JS'
import { readFileSync, writeFileSync } from "node:fs";
import { flattenedDecrypt, FlattenedEncrypt } from "jose";

const key = Buffer.alloc(32, 7);
const text = Buffer.from("text");
if (process.argv[2] === "write") {
  const header = { alg: "dir", enc: "A256GCM" };
  const write = async (name, jwe) => writeFileSync(name, JSON.stringify(
    await jwe.setAdditionalAuthenticatedData(Buffer.from("clear")).encrypt(key)));
  await write("protected.json", new FlattenedEncrypt(text).setProtectedHeader(header));
  await write("unprotected.json", new FlattenedEncrypt(text).setSharedUnprotectedHeader(header));
} else {
  await flattenedDecrypt(JSON.parse(readFileSync(process.argv[2])), key).then(
    ({ plaintext }) => console.log("jose:", Buffer.from(plaintext).toString()),
    (error) => console.log("jose:", error.message));
}
JS
cat >run.py <<'PY'
import base64
import json
import subprocess
from authlib.jose import JsonWebEncryption
from joserfc import jwe
from joserfc.jwk import OctKey
from jwcrypto import jwe as crypto
from jwcrypto.jwk import JWK

KEY = bytes([7]) * 32
OWN = JWK(kty="oct", k=base64.urlsafe_b64encode(KEY).decode().rstrip("="))
ALGORITHMS = ["dir", "A256GCM"]

def with_jwcrypto(message):
    token = crypto.JWE()
    token.deserialize(json.dumps(message), OWN)
    return token.payload

def show(message):
    with open("message.json", "w") as file:
        json.dump(message, file)
    for name, read in [
        ("joserfc", lambda: jwe.decrypt_json(message, OctKey.import_key(KEY), ALGORITHMS).plaintext),
        ("Authlib", lambda: JsonWebEncryption().deserialize_json(message, KEY)["payload"]),
        ("jwcrypto", lambda: with_jwcrypto(message)),
    ]:
        try:
            print(f"   {name}: {read().decode()}")
        except Exception as error:
            print(f"   {name}: {type(error).__name__}: {error}")
    print("  ", subprocess.run(["node", "jose.mjs", "message.json"], capture_output=True, text=True,
                               check=True).stdout.strip())

subprocess.run(["node", "jose.mjs", "write"], check=True)
for name in ("protected", "unprotected"):
    with open(f"{name}.json") as file:
        message = json.load(file)
    print("jose,", name)
    show(message)
token = jwe.FlattenedJSONEncryption({"enc": "A256GCM"}, b"text", aad=b"clear")
token.add_recipient({"alg": "dir"}, OctKey.import_key(KEY))
message = jwe.encrypt_json(token, None, ALGORITHMS)
print("joserfc, encrypted_key", repr(message["encrypted_key"]))
show(message)
token = crypto.JWE(b"text", json.dumps({"alg": "dir", "enc": "A256GCM"}), aad="clear")
token.add_recipient(OWN)
print("jwcrypto")
show(json.loads(token.serialize()))
PY
seen=$(venv/bin/python -W ignore run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
jose, protected
   joserfc: text
   Authlib: KeyError: 'recipients'
   jwcrypto: text
   jose: text
jose, unprotected
   joserfc: KeyError: 'protected'
   Authlib: KeyError: 'recipients'
   jwcrypto: text
   jose: text
joserfc, encrypted_key ''
   joserfc: text
   Authlib: KeyError: 'recipients'
   jwcrypto: text
   jose: JWE Encrypted Key incorrect type
jwcrypto
   joserfc: DecodeError: decode_error: 
   Authlib: KeyError: 'recipients'
   jwcrypto: text
   jose: text
SEEN
