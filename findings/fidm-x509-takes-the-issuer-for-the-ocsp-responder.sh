#!/usr/bin/env bash
# Package: @fidm/x509 1.2.1 (Node 20), seen on 2026-11-30; openssl makes the certificates.
# Guess: `ocspServer` and `issuingCertificateURL` of a certificate are the locations whose access
#   method is id-ad-ocsp and id-ad-caIssuers (RFC 5280, 4.2.2.1); the order of the two is free.
# Seen: the access methods are not read. The first location is the responder and the second is the
#   issuer's certificate: with caIssuers in front, the two have changed places, and with two
#   responders the second one is the issuer's certificate. A client asks a file for the status.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts @fidm/x509@1.2.1 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
make() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem \
    -subj /CN=amf1 -days 100 -addext "authorityInfoAccess=$2" -out "$1.pem" 2>openssl.log ||
    { cat openssl.log; exit 1; }
}
ocsp='OCSP;URI:http://ca.example/ocsp'
issuer='caIssuers;URI:http://ca.example/ca.cer'
make "OCSP, issuer" "$ocsp,$issuer"
make "issuer, OCSP" "$issuer,$ocsp"
make "issuer" "$issuer"
make "OCSP, OCSP" "$ocsp,OCSP;URI:http://two.example/ocsp"
cat >run.js <<'JS'
const fs = require("fs");
const { Certificate } = require("@fidm/x509");

for (const name of ["OCSP, issuer", "issuer, OCSP", "issuer", "OCSP, OCSP"]) {
  const { ocspServer, issuingCertificateURL } = Certificate.fromPEM(fs.readFileSync(`${name}.pem`));
  console.log(`${name}: ocspServer "${ocspServer}", issuingCertificateURL "${issuingCertificateURL}"`);
}
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
OCSP, issuer: ocspServer "http://ca.example/ocsp", issuingCertificateURL "http://ca.example/ca.cer"
issuer, OCSP: ocspServer "http://ca.example/ca.cer", issuingCertificateURL "http://ca.example/ocsp"
issuer: ocspServer "http://ca.example/ca.cer", issuingCertificateURL ""
OCSP, OCSP: ocspServer "http://ca.example/ocsp", issuingCertificateURL "http://two.example/ocsp"
SEEN
