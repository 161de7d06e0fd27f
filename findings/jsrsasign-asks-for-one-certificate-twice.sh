#!/usr/bin/env bash
# Package: jsrsasign 11.1.5 (Node 20) with openssl 3.0.19 of Debian 12, seen on 2026-11-30.
# Guess: an OCSPRequest for two certificates asks for both serial numbers. A CRL with extensions is
#   version 2 (RFC 5280, 5.1.2.1: MUST). The reason of a revocation is in what is read from an OCSP
#   response. Object identifiers under joint-iso-itu-t (2.x) are written and read as they are.
# Seen: the request asks for the first certificate twice, so the second is never answered. The CRL
#   is version 1 with extensions unless `version` is set. A second CRL from the same parameters with
#   one more revocation is the first one again: its octets and signature were put among them
#   (tbsobj, sighex). The reason is left out. 2.47.1 is read as 3.7.1, 2.999.1 is not written.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts jsrsasign@11.1.5 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
{
  openssl ecparam -name prime256v1 -genkey -noout -out ca.key
  openssl pkcs8 -topk8 -nocrypt -in ca.key -out ca.p8
  openssl req -x509 -new -key ca.key -subj /CN=CA -days 100 -out ca.pem
  for number in 7 8; do
    openssl req -new -key ca.key -subj "/CN=NF $number" -out nf.csr
    openssl x509 -req -in nf.csr -CA ca.pem -CAkey ca.key -set_serial "$number" -days 50 \
      -out "nf$number.pem"
  done
  printf 'R\t300101000000Z\t260101000000Z,keyCompromise\t07\tunknown\t/CN=NF 7\n' >index.txt
  openssl ocsp -index index.txt -CA ca.pem -rsigner ca.pem -rkey ca.key -issuer ca.pem \
    -cert nf7.pem -no_nonce -respout response.der -ndays 3
} >log 2>&1 || { cat log; exit 1; }
cat >run.js <<'JS'
const fs = require("fs");
const { ASN1HEX, KEYUTIL, KJUR } = require("jsrsasign");

const pem = (name) => fs.readFileSync(name, "utf8");
const { ocsp, x509 } = KJUR.asn1;
const issuerCert = pem("ca.pem");
const reqList = ["nf7.pem", "nf8.pem"].map((name) => ({ issuerCert, subjectCert: pem(name) }));
fs.writeFileSync("request.der", Buffer.from(new ocsp.OCSPRequest({ reqList }).tohex(), "hex"));
const key = KEYUTIL.getKey(pem("ca.p8"));
const crl = { sigalg: "SHA256withECDSA", issuer: { str: "/CN=CA" }, thisupdate: "20260101000000Z",
  nextupdate: "20300101000000Z", ext: [{ extname: "cRLNumber", num: { int: 3 } }], cakey: key };
fs.writeFileSync("one.crl", new x509.CRL(crl).getPEM());
const date = "20260201000000Z";
const next = { ...crl, version: 2, revcert: [{ sn: { int: 8 }, date }] };
fs.writeFileSync("two.crl", new x509.CRL(next).getPEM());
delete next.tbsobj;
delete next.sighex;
fs.writeFileSync("new.crl", new x509.CRL(next).getPEM());
const response = new ocsp.OCSPParser().getOCSPResponse(fs.readFileSync("response.der").toString("hex"));
console.log("status read:", JSON.stringify(response.array[0].status));
const attempt = (make) => {
  try {
    return make();
  } catch (error) {
    return error.message ?? error;
  }
};
console.log("2.47.1 (06027f01):", ASN1HEX.hextooidstr("7f01"));
console.log("2.999.1:", attempt(() => new KJUR.asn1.DERObjectIdentifier({ oid: "2.999.1" }).tohex()));
JS
seen=$(node run.js
openssl ocsp -reqin request.der -req_text | sed -n 's/^ *Serial/request: Serial/p'
openssl ocsp -respin response.der -noverify -resp_text | sed -n 's/^ *Revocation Reason/openssl: reason/p'
for name in one two new; do
  openssl crl -in $name.crl -noout -text |
    sed -n "s/^ *Version/$name.crl: version/p; s/^ *CRL ext/$name.crl: ext/p; s/^Rev/$name.crl: Rev/p"
done)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
status read: {"status":"revoked","time":"20260101000000Z"}
2.47.1 (06027f01): 3.7.1
2.999.1: value hex must be even length: n=0,v=43701
request: Serial Number: 07
request: Serial Number: 07
openssl: reason: keyCompromise (0x1)
one.crl: version 1 (0x0)
one.crl: extensions:
two.crl: version 1 (0x0)
two.crl: extensions:
new.crl: version 2 (0x1)
new.crl: extensions:
new.crl: Revoked Certificates:
SEEN
