#!/usr/bin/env bash
# Package: pkijs 4.0.0, asn1js 4.0.0 (Node 20) with openssl 3.0.19 of Debian 12, seen on 2026-11-30.
# Guess: CertificateChainValidationEngine verifies a chain with the algorithms of the engine's
#   WebCrypto, which has Ed25519 in Node 20, and names what it cannot verify. An object identifier
#   under 2.25, whose last arc is a UUID (X.667), is read as it was written.
# Seen: of a chain with Ed25519 signatures it says "No valid certificate paths found", as if the
#   issuer were missing. The arc of a UUID is written correctly and read as hexadecimal septets in
#   braces.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts pkijs@4.0.0 asn1js@4.0.0 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
for kind in "EC -pkeyopt ec_paramgen_curve:P-256" ED25519; do
  name=${kind%% *}
  openssl genpkey -algorithm $kind -out $name.key
  openssl req -x509 -new -key $name.key -subj /CN=CA -days 100 -outform DER -out $name.ca.der
  openssl x509 -inform DER -in $name.ca.der -out $name.ca.pem
  openssl req -new -key $name.key -subj /CN=amf1 -out nf.csr
  openssl x509 -req -in nf.csr -CA $name.ca.pem -CAkey $name.key -set_serial 7 -days 50 \
    -outform DER -out $name.nf.der 2>log
  openssl x509 -inform DER -in $name.nf.der -out $name.nf.pem
done
cat >run.mjs <<'JS'
import fs from "fs";
import { fromBER, ObjectIdentifier } from "asn1js";
import { Certificate, CertificateChainValidationEngine } from "pkijs";

const read = (name) => Certificate.fromBER(new Uint8Array(fs.readFileSync(name)).buffer);
for (const kind of ["EC", "ED25519"]) {
  const chain = new CertificateChainValidationEngine({
    trustedCerts: [read(`${kind}.ca.der`)], certs: [read(`${kind}.nf.der`)] });
  const { result, resultMessage } = await chain.verify();
  console.log(`pkijs, ${kind}: ${result} ${resultMessage}`.trim());
}
const written = new ObjectIdentifier({ value: "2.25.340282366920938463463374607431768211455" }).toBER();
console.log(Buffer.from(written).toString("hex"), fromBER(written).result.getValue());
JS
seen=$(for kind in EC ED25519; do
  echo "openssl, $kind: $(openssl verify -CAfile $kind.ca.pem $kind.nf.pem)"
done
node --no-warnings run.mjs)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
openssl, EC: EC.nf.pem: OK
openssl, ED25519: ED25519.nf.pem: OK
pkijs, EC: true
pkijs, ED25519: false No valid certificate paths found
06146983ffffffffffffffffffffffffffffffffff7f 2.25.{037f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f}
SEEN
