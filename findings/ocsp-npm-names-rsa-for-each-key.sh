#!/usr/bin/env bash
# Package: ocsp 1.2.0, @techteamer/ocsp 1.0.1 (Node 20) with openssl 3.0.19 of Debian 12, seen on
#   2026-11-30.
# Guess: the OCSP server of the package, given a certificate and a key of P-256, answers with an
#   ECDSA signature that openssl verifies, as it does with RSA.
# Seen: the answer has an ECDSA signature and says sha512WithRSAEncryption, whatever the key is:
#   openssl refuses it (wrong public key type). The reader of ocsp refuses a correct answer too
#   ("Unknown signature algorithm"), that of @techteamer/ocsp takes it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts ocsp@1.2.0 @techteamer/ocsp@1.0.1 \
  >npm.log 2>&1 || { cat npm.log; exit 1; }
{
  openssl ecparam -name prime256v1 -genkey -noout -out ec.key
  openssl genrsa -out rsa.key 2048
  for kind in ec rsa; do
    openssl req -x509 -new -key $kind.key -subj /CN=CA -days 100 -out $kind.ca.pem
    openssl req -new -key $kind.key -subj /CN=amf1 -out nf.csr
    openssl x509 -req -in nf.csr -CA $kind.ca.pem -CAkey $kind.key -set_serial 7 -days 50 \
      -out $kind.nf.pem
    printf 'V\t300101000000Z\t\t07\tunknown\t/CN=amf1\n' >index.txt
    openssl ocsp -index index.txt -CA $kind.ca.pem -rsigner $kind.ca.pem -rkey $kind.key \
      -issuer $kind.ca.pem -cert $kind.nf.pem -no_nonce -respout $kind.der -ndays 3
  done
} >log 2>&1 || { cat log; exit 1; }
cat >run.js <<'JS'
const fs = require("fs");
const { execFile } = require("child_process");

const openssl = (port, kind) => new Promise((resolve) => {
  execFile("openssl", ["ocsp", "-issuer", `${kind}.ca.pem`, "-cert", `${kind}.nf.pem`, "-CAfile",
    `${kind}.ca.pem`, "-resp_text", "-url", `http://127.0.0.1:${port}/`],
    (error, out, text) => resolve(out + text));
});
(async () => {
  for (const name of ["ocsp", "@techteamer/ocsp"]) {
    const ocsp = require(name);
    for (const kind of ["rsa", "ec"]) {
      const issuer = fs.readFileSync(`${kind}.ca.pem`, "utf8");
      const server = ocsp.Server.create({ cert: issuer, key: fs.readFileSync(`${kind}.key`, "utf8") });
      server.addCert(7, "good");
      await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
      const text = await openssl(server.address().port, kind);
      server.close();
      const algorithm = text.match(/Signature Algorithm: (\S+)/)[1];
      console.log(`${name}, ${kind}: says ${algorithm}, openssl: ${text.match(/Response [Vv]erify \w+/)[0]}`);
      const request = ocsp.request.generate(fs.readFileSync(`${kind}.nf.pem`, "utf8"), issuer);
      const said = await new Promise((resolve) =>
        ocsp.verify({ request, issuer, response: fs.readFileSync(`${kind}.der`) }, resolve));
      console.log(`${name}, ${kind}, reads openssl's answer: ${said ? said.message : "good"}`);
    }
  }
  process.exit();
})();
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
ocsp, rsa: says sha512WithRSAEncryption, openssl: Response verify OK
ocsp, rsa, reads openssl's answer: good
ocsp, ec: says sha512WithRSAEncryption, openssl: Response Verify Failure
ocsp, ec, reads openssl's answer: Unknown signature algorithm 1,2,840,10045,4,3,2
@techteamer/ocsp, rsa: says sha512WithRSAEncryption, openssl: Response verify OK
@techteamer/ocsp, rsa, reads openssl's answer: good
@techteamer/ocsp, ec: says sha512WithRSAEncryption, openssl: Response Verify Failure
@techteamer/ocsp, ec, reads openssl's answer: good
SEEN
