#!/usr/bin/env bash
# Package: email of Python's standard library (CPython 3.11.7), seen on 2026-11-30.
# Guess: a multipart/related body of the SBI (TS 29.500, 6.1.2.4) that is built by email with a
#   binary part, `encode_noop` and the policy HTTP, has the octets of the part as they are. The same
#   library reads such a body right.
# Seen: each 0x0a and each 0x0d of the part becomes the line end 0x0d 0x0a. A NAS or NGAP message
#   with one of these octets arrives damaged and longer; most messages of a test have none.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/run.py" <<'PY'
import sys
from email import message_from_bytes, policy
from email.encoders import encode_noop
from email.mime.application import MIMEApplication
from email.mime.multipart import MIMEMultipart

NAS = bytes.fromhex("7e005c000d0102f80a0d00f110")
HEAD = b"Content-Type: multipart/related; boundary=b\r\n\r\n"
PART = b"--b\r\nContent-Type: application/vnd.3gpp.5gnas\r\n\r\n%s\r\n--b--\r\n"

def read(body):
    return message_from_bytes(body, policy=policy.HTTP).get_payload()[0].get_payload(decode=True)

def written(content):
    rules = policy.HTTP
    message = MIMEMultipart("related", boundary="b", policy=rules)
    message.attach(MIMEApplication(content, "vnd.3gpp.5gnas", encode_noop, policy=rules))
    return read(message.as_bytes(policy=rules))

print("python", sys.version.split()[0])
assert read(HEAD + PART % NAS) == NAS
print("read from a body made by hand: as it was")
plain = NAS.replace(b"\r", b"").replace(b"\n", b"")
assert written(plain) == plain
print("written without 0x0a and 0x0d: as it was")
found = written(NAS)
print("before ", NAS.hex())
print("written", found.hex())
assert found == bytes.fromhex("7e005c00" "0d0a" "0102f8" "0d0a" "0d0a" "00f110"), found.hex()
PY
python3 "$folder/run.py"
echo "as stated"
