#!/usr/bin/env bash
# Packages: dilithium-crystals-js 1.1.3, and @noble/post-quantum 0.7.1 as ML-DSA of FIPS 204 (npm, Node
#   20), seen on 2026-11-30.
# Guess: the kinds 2 and 3 of this package, "Dilithium2" in its README, are those of the standard: public
#   keys of 1312 and 1952 octets and signatures of 2420 and 3309, or the 3293 of the last draft.
# Seen: they are of the second round of the competition, which had other parameters under other
#   numbers: Dilithium2 has a public key of 1472 octets and signatures of 2701. What is returned as
#   the signature has the whole message behind it. A signature of ML-DSA-44 has an "invalid signature
#   size" for each kind, and no reader of ML-DSA takes these.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts dilithium-crystals-js@1.1.3 \
  @noble/post-quantum@0.7.1 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.mjs <<'JS'
import { createRequire } from "node:module";
import { ml_dsa44, ml_dsa65 } from "@noble/post-quantum/ml-dsa.js";

const dilithium = await createRequire(import.meta.url)("dilithium-crystals-js");
const text = new TextEncoder().encode("NG setup");
const keys = ml_dsa44.keygen();
const standard = ml_dsa44.sign(text, keys.secretKey);
for (const [name, { keygen, sign }] of [["ML-DSA-44", ml_dsa44], ["ML-DSA-65", ml_dsa65]]) {
  const { publicKey, secretKey } = keygen();
  console.log(`${name}: key ${publicKey.length}, signature ${sign(text, secretKey).length}`);
}
for (const kind of [0, 1, 2, 3]) {
  const { publicKey, privateKey } = dilithium.generateKeys(kind);
  const { signature } = dilithium.sign(text, privateKey, kind);
  const own = dilithium.verify(signature, text, publicKey, kind).result === 0;
  let other;
  try {
    other = dilithium.verify(standard, text, keys.publicKey, kind).result;
  } catch (error) {
    other = error.message;
  }
  const behind = Buffer.from(signature.slice(-text.length)).toString();
  console.log(`kind ${kind}: key ${publicKey.length}, signature ${signature.length - text.length}`,
    `and "${behind}", own valid: ${own}\n  of ML-DSA-44: ${other}`);
}
JS
seen=$(node run.mjs 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
ML-DSA-44: key 1312, signature 2420
ML-DSA-65: key 1952, signature 3309
kind 0: key 896, signature 1387 and "NG setup", own valid: true
  of ML-DSA-44: Invalid signature size. Expected 1395, got 2420
kind 1: key 1184, signature 2044 and "NG setup", own valid: true
  of ML-DSA-44: Invalid signature size. Expected 2052, got 2420
kind 2: key 1472, signature 2701 and "NG setup", own valid: true
  of ML-DSA-44: Invalid signature size. Expected 2709, got 2420
kind 3: key 1760, signature 3366 and "NG setup", own valid: true
  of ML-DSA-44: Invalid signature size. Expected 3374, got 2420
SEEN
