#!/usr/bin/env bash
# Package: diameter-codec 1.0.3 (Python 3.11), seen on 2026-11-30.
# Guess: an AVP of type OctetString is octets or their digits in hexadecimal (RFC 6733, 4.2), the
#   same whatever they are.
# Seen: octets of an authentication vector (TS 29.272, 7.3.53 to 7.3.56) change their form with
#   length and value. 16 octets, as RAND and AUTN have, are an IPv6 address, and 4 octets, as XRES
#   may have, an IPv4 address; 8 octets that are UTF-8 by chance are text, others digits in
#   hexadecimal. The content type `binary` in the dictionary makes all of them digits.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile diameter-codec==1.0.3
cat >names.xml <<'XML'
<dictionary xmlns="urn:finding">
  <vendors><vendor id="0" name="None"/><vendor id="10415" name="TGPP"/></vendors>
  <application id="16777251" name="S6a"><avps>
    <avp code="263" name="Session-Id" type="UTF8String" vendor="None"/>
    <avp code="264" name="Origin-Host" type="DiameterIdentity" vendor="None"/>
    <avp code="268" name="Result-Code" type="Unsigned32" vendor="None"/>
    <avp code="277" name="Auth-Session-State" type="Unsigned32" vendor="None"/>
    <avp code="296" name="Origin-Realm" type="DiameterIdentity" vendor="None"/>
    <avp code="1413" name="Authentication-Info" type="Grouped" vendor="TGPP"/>
    <avp code="1414" name="E-UTRAN-Vector" type="Grouped" vendor="TGPP"/>
    <avp code="1447" name="RAND" type="OctetString" vendor="TGPP"/>
    <avp code="1448" name="XRES" type="OctetString" vendor="TGPP"/>
    <avp code="1449" name="AUTN" type="OctetString" vendor="TGPP"/>
    <avp code="1450" name="KASME" type="OctetString" vendor="TGPP" contenttype="binary"/>
  </avps></application>
</dictionary>
XML
cat >run.py <<'PY'
import logging
import struct
from codec.diameter.diameter import Diameter
from codec.diameter.dictionary import DefaultDictionaryLayout

logging.disable(logging.CRITICAL)

def avp(code, value, vendor=10415):
    head = struct.pack("!I", vendor) if vendor else b""
    flags = 0xC0 if vendor else 0x40
    length = 8 + len(head) + len(value)
    return struct.pack("!II", code, flags << 24 | length) + head + value + bytes(-len(value) % 4)

def show(items, depth=0):
    for item in items:
        if isinstance(item.data, tuple):
            print("  " * depth + item.name)
            show(item.data, depth + 1)
        else:
            print("  " * depth + item.name, "=", item.data)

rand, autn = bytes(range(0x10, 0x20)), bytes(range(0xA0, 0xB0))
body = (avp(263, b"mme;1;2", 0) + avp(268, struct.pack("!I", 2001), 0)
        + avp(277, struct.pack("!I", 1), 0) + avp(264, b"hss.example", 0)
        + avp(296, b"example", 0))
for xres in ["c0000207", "4142434445464748", "f1f2f3f4f5f6f7f8"]:
    body += avp(1413, avp(1414, avp(1447, rand) + avp(1448, bytes.fromhex(xres))
                          + avp(1449, autn) + avp(1450, rand + autn)))
message = struct.pack("!IIIII", 1 << 24 | 20 + len(body), 0x40 << 24 | 318, 16777251, 1, 2) + body
show(Diameter(DefaultDictionaryLayout("names.xml")).decode(message).avp_set)
PY
seen=$(venv/bin/python run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
Session-Id = mme;1;2
Result-Code = 2001
Auth-Session-State = 1
Origin-Host = hss.example
Origin-Realm = example
Authentication-Info
  E-UTRAN-Vector
    RAND = 1011:1213:1415:1617:1819:1a1b:1c1d:1e1f
    XRES = 192.0.2.7
    AUTN = a0a1:a2a3:a4a5:a6a7:a8a9:aaab:acad:aeaf
    KASME = 101112131415161718191a1b1c1d1e1fa0a1a2a3a4a5a6a7a8a9aaabacadaeaf
Authentication-Info
  E-UTRAN-Vector
    RAND = 1011:1213:1415:1617:1819:1a1b:1c1d:1e1f
    XRES = ABCDEFGH
    AUTN = a0a1:a2a3:a4a5:a6a7:a8a9:aaab:acad:aeaf
    KASME = 101112131415161718191a1b1c1d1e1fa0a1a2a3a4a5a6a7a8a9aaabacadaeaf
Authentication-Info
  E-UTRAN-Vector
    RAND = 1011:1213:1415:1617:1819:1a1b:1c1d:1e1f
    XRES = f1f2f3f4f5f6f7f8
    AUTN = a0a1:a2a3:a4a5:a6a7:a8a9:aaab:acad:aeaf
    KASME = 101112131415161718191a1b1c1d1e1fa0a1a2a3a4a5a6a7a8a9aaabacadaeaf
SEEN
