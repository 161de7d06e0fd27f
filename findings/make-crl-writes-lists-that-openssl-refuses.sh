#!/usr/bin/env bash
# Package: make-crl 0.2.2 (Python 3.11) with openssl 3.0.19 of Debian 12, seen on 2026-11-30.
# Guess: a list that make-crl writes is one that openssl, which it calls for keys and signatures,
#   accepts: authority key identifier and CRL number are marked non-critical (RFC 5280, 5.2: "MUST
#   mark this extension as non-critical" for the number, 5.2.3).
# Seen: both are critical. openssl verifies no certificate with such a list: error 36, unhandled
#   critical CRL extension, whether a certificate is revoked or not. With openssl's own list of the
#   same authority both are answered.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile make-crl==0.2.2 pyasn1==0.6.4
{
  openssl ecparam -name prime256v1 -genkey -noout -out ca.key
  openssl req -x509 -new -key ca.key -subj /CN=CA -days 100 -out ca.pem \
    -addext keyUsage=critical,cRLSign,keyCertSign
  for number in 7 8; do
    openssl req -new -key ca.key -subj "/CN=NF $number" -out nf.csr
    openssl x509 -req -in nf.csr -CA ca.pem -CAkey ca.key -set_serial "$number" -days 50 \
      -out "nf$number.pem"
  done
  touch index.txt
  echo 01 >number
  printf '[ca]\ndefault_ca=a\n[a]\ndatabase=index.txt\ncrlnumber=number\ndefault_md=sha256\n' >cnf
  printf 'default_crl_days=30\ncrl_extensions=e\n[e]\nauthorityKeyIdentifier=keyid\n' >>cnf
  openssl ca -config cnf -cert ca.pem -keyfile ca.key -revoke nf8.pem
  openssl ca -config cnf -cert ca.pem -keyfile ca.key -gencrl -out openssl.pem
  venv/bin/make-crl make-empty ca.pem ca.key empty.der
  cp empty.der full.der
  venv/bin/make-crl revoke -r keyCompromise ca.pem ca.key full.der nf8.pem
} >log 2>&1 || { cat log; exit 1; }
show() {
  for number in 7 8; do
    { openssl verify -CAfile ca.pem -CRLfile "$1" -crl_check "nf$number.pem" 2>&1 || true; } |
      sed -n "s/^error \(.*\) at 0 depth lookup/  NF $number: \1/p; s/^nf.*: OK/  NF $number: OK/p"
  done
}
run() {
  echo "openssl:"
  show openssl.pem
  for name in empty full; do
    openssl crl -inform DER -in "$name.der" -out "$name.pem"
    openssl crl -in "$name.pem" -noout -text >text
    echo "make-crl, $name: critical extensions $(grep -c 'X509v3.*critical' text)"
    show "$name.pem"
  done
}
seen=$(run)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
openssl:
  NF 7: OK
  NF 8: 23: certificate revoked
make-crl, empty: critical extensions 2
  NF 7: 36: unhandled critical CRL extension
  NF 8: 36: unhandled critical CRL extension
make-crl, full: critical extensions 2
  NF 7: 36: unhandled critical CRL extension
  NF 8: 36: unhandled critical CRL extension
SEEN
