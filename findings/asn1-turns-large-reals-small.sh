#!/usr/bin/env bash
# Package: asn1 3.3.0 (Python 3.11), seen on 2026-12-01.
# Guess: the exponent of a REAL is a number in two's complement (X.690, 8.5.7.4): 128 needs two
#   octets, and so does -300. A number of 64 bits comes back as it was written.
# Seen: exponents from 128 to 255 have one octet, so that 2 to the 128th is 2 to the -128th for
#   each reader, and those below -256 have one octet less than they need: 2 to the -300th is 2 to
#   the -44th. Of the 2098 powers of two of 64 bits, 943 come back as another number, without an
#   error; asn1tools reads the same.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile asn1==3.3.0 asn1tools==0.169.0
cat >run.py <<'PY'
from math import ldexp, log2

import asn1
import asn1tools

other = asn1tools.compile_string("A DEFINITIONS ::= BEGIN R ::= REAL END", "der")


def write(value):
    encoder = asn1.Encoder()
    encoder.start()
    encoder.write(value, asn1.Numbers.Real)
    return encoder.output()


def read(octets):
    decoder = asn1.Decoder()
    decoder.start(octets)
    return decoder.read()[1]


for power in (127, 128, 255, 256, -128, -129, -256, -257, -300, -1074):
    octets = write(ldexp(1, power))
    print(f"2 to the {power}: {octets.hex()}, read 2 to the {log2(read(octets)):g},",
          f"by asn1tools {log2(other.decode('R', octets)):g}")
print("other numbers:", sum(read(write(ldexp(1, power))) != ldexp(1, power)
                            for power in range(-1074, 1024)), "of", 1074 + 1024)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
2 to the 127: 0903807f01, read 2 to the 127, by asn1tools 127
2 to the 128: 0903808001, read 2 to the -128, by asn1tools -128
2 to the 255: 090380ff01, read 2 to the -1, by asn1tools -1
2 to the 256: 090481010001, read 2 to the 256, by asn1tools 256
2 to the -128: 0903808001, read 2 to the -128, by asn1tools -128
2 to the -129: 090481ff7f01, read 2 to the -129, by asn1tools -129
2 to the -256: 090481ff0001, read 2 to the -256, by asn1tools -256
2 to the -257: 090481ffff01, read 2 to the -1, by asn1tools -1
2 to the -300: 090481ffd401, read 2 to the -44, by asn1tools -44
2 to the -1074: 090481fcce01, read 2 to the -818, by asn1tools -818
other numbers: 943 of 2098
SEEN
