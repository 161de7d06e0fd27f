#!/usr/bin/env bash
# Package: asn1 3.3.0 (Python 3.11), seen on 2026-12-01.
# Guess: bit 0 of a BIT STRING is the first bit of its first octet (X.690, 8.6.2), so the value of
#   one that has unused bits keeps its octets, or says how many bits it has: nonRepudiation of a
#   key usage is another value than digitalSignature.
# Seen: the octets are shifted to the right by the number of unused bits, and this number is not
#   given: digitalSignature, nonRepudiation and keyEncipherment, each alone, are all the octet 01.
#   Nothing in the value tells them apart, and each is written again as a string of 8 bits.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile asn1==3.3.0
cat >run.py <<'PY'
import asn1

for name, octets in (("digitalSignature", "03020780"), ("nonRepudiation", "03020640"),
                     ("keyEncipherment", "03020520"), ("the first and the third", "030205a0"),
                     ("keyCertSign, cRLSign", "03020106"), ("8 bits", "03020001")):
    decoder = asn1.Decoder()
    decoder.start(bytes.fromhex(octets))
    tag, value = decoder.read()
    encoder = asn1.Encoder()
    encoder.start()
    encoder.write(value, asn1.Numbers.BitString)
    print(f"{name} {octets}: read {value.hex()}, written {encoder.output().hex()}")
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
digitalSignature 03020780: read 01, written 03020001
nonRepudiation 03020640: read 01, written 03020001
keyEncipherment 03020520: read 01, written 03020001
the first and the third 030205a0: read 05, written 03020005
keyCertSign, cRLSign 03020106: read 03, written 03020003
8 bits 03020001: read 01, written 03020001
SEEN
