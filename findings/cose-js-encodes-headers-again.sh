#!/usr/bin/env bash
# Package: cose-js 0.9.0, @auth0/cose 1.0.2, cose-kit 1.7.1 (Node 20), seen on 2026-11-30.
# Guess: a signature of COSE is over the octets of the protected header as they came (RFC 9052
#   4.4): a map of indefinite length or a number in more octets than it needs changes nothing. A
#   header without parameters may be sent as h'' or as h'a0' and is h'' in what is signed (3 and
#   4.4). Two libraries that are loaded in one program do not touch each other.
# Seen: cose-js decodes the header and encodes it again, so valid messages of encoders that stream
#   are a "Signature missmatch" (sic). The two others sign h'a0' where the standard says h''. Both
#   register tag 18 in one global table of cbor-x: once @auth0/cose is loaded as well, cose-kit
#   finds an "unknown COSE type" in every tagged message.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  cose-js@0.9.0 @auth0/cose@1.0.2 cose-kit@1.7.1 cbor-x@1.6.9 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.mjs <<'JS'
import crypto from "crypto";
import coseJs from "cose-js";
import { coseVerify } from "cose-kit";

const { publicKey, privateKey } = crypto.generateKeyPairSync("ec", { namedCurve: "P-256" });
const { x, y } = publicKey.export({ format: "jwk" });
const key = { x: Buffer.from(x, "base64url"), y: Buffer.from(y, "base64url") };
const hex = (text) => Buffer.from(text, "hex");
const bytes = (octets) =>
  Buffer.concat([octets.length < 24 ? hex((64 + octets.length).toString(16))
    : Buffer.from([0x58, octets.length]), octets]);
const payload = bytes(Buffer.from("evidence"));

function message(header, unprotected = hex("a0"), signed = header) {
  const context = Buffer.concat([hex("84"), hex("6a"), Buffer.from("Signature1")]);
  const data = Buffer.concat([context, bytes(signed), bytes(hex("")), payload]);
  const signature = crypto.sign("sha256", data, { key: privateKey, dsaEncoding: "ieee-p1363" });
  return Buffer.concat([hex("d284"), bytes(header), unprotected, payload, bytes(signature)]);
}

const messages = {
  "shortest form": message(hex("a10126")),
  "indefinite length": message(hex("bf0126ff")),
  "number in two octets": message(hex("a1180126")),
  "no parameters, h''": message(hex(""), hex("a10126")),
  "no parameters, h'a0'": message(hex("a0"), hex("a10126"), hex("")),
};
const readers = {
  "cose-js": async (octets) => (await coseJs.sign.verify(octets, { key })) && true,
  "cose-kit": async (octets) => (await coseVerify(octets, publicKey)).isValid,
};
async function show() {
  for (const [name, octets] of Object.entries(messages)) {
    const results = [];
    for (const [reader, verify] of Object.entries(readers)) {
      results.push(`${reader} ${await verify(octets).catch((error) => error.message)}`);
    }
    console.log(`${name}: ${results.join(", ")}`);
  }
}
await show();
const { Sign1 } = await import("@auth0/cose");
delete readers["cose-js"];
readers["@auth0/cose"] = async (octets) => {
  await Sign1.decode(octets).verify(publicKey);
  return true;
};
console.log("with @auth0/cose:");
await show();
JS
seen=$(node run.mjs)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
shortest form: cose-js true, cose-kit true
indefinite length: cose-js Signature missmatch, cose-kit true
number in two octets: cose-js Signature missmatch, cose-kit true
no parameters, h'': cose-js true, cose-kit true
no parameters, h'a0': cose-js true, cose-kit false
with @auth0/cose:
shortest form: cose-kit unknown COSE type, @auth0/cose true
indefinite length: cose-kit unknown COSE type, @auth0/cose true
number in two octets: cose-kit unknown COSE type, @auth0/cose true
no parameters, h'': cose-kit unknown COSE type, @auth0/cose true
no parameters, h'a0': cose-kit unknown COSE type, @auth0/cose signature verification failed
SEEN
