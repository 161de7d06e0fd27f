#!/usr/bin/env bash
# Packages: python-diameter 0.9.0, bromelia 0.3.1 as the second writer (Python 3.11), seen on
#   2026-11-30.
# Guess: typed commands write Origin-Host, Origin-Realm and Destination-Host with the M flag, which
#   RFC 6733, 4.5, requires in each message and the package's dictionary has as its default.
# Seen: credit control of the charging interfaces (Gy, Ro) is written with the flag cleared in all
#   three, whether the message is new or has been read with the flag set; Update-Location of S6a
#   keeps it. bromelia sets it in credit control too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile python-diameter==0.9.0 bromelia==0.3.1
cat >run.py <<'PY'
from bromelia.avps import DestinationHostAVP, OriginHostAVP, OriginRealmAVP
from diameter.message import Avp, Message, constants
from diameter.message.commands import CreditControlRequest, UpdateLocationRequest

NAMES = {264: "Origin-Host", 296: "Origin-Realm", 293: "Destination-Host"}

def flags(title, octets):
    avps = Message.from_bytes(octets, plain_msg=True).avps
    marks = [f"{NAMES[avp.code]} {avp.flags:#04x}" for avp in avps if avp.code in NAMES]
    print(f"{title}: {', '.join(marks)}")

def new(request):
    request.session_id = "smf.example;1;1"
    request.origin_host, request.origin_realm = b"smf.example", b"example"
    request.destination_host, request.destination_realm = b"chf.example", b"example"
    return request

charge = new(CreditControlRequest())
charge.auth_application_id = constants.APP_DIAMETER_CREDIT_CONTROL_APPLICATION
charge.service_context_id, charge.cc_request_type, charge.cc_request_number = "32255@3gpp.org", 1, 0
flags("Credit-Control, new", charge.as_bytes())
plain = Message.from_bytes(charge.as_bytes(), plain_msg=True)
for avp in plain.avps:
    avp.is_mandatory = True
received = plain.as_bytes()
flags("Credit-Control, received", received)
flags("Credit-Control, written again", Message.from_bytes(received).as_bytes())
update = new(UpdateLocationRequest())
update.user_name, update.auth_session_state = "001010123456789", 1
update.rat_type, update.ulr_flags, update.visited_plmn_id = 1004, 2, bytes.fromhex("00f110")
flags("Update-Location, new", update.as_bytes())
print("by default:", *(Avp.new(code).is_mandatory for code in NAMES))
other = [OriginHostAVP("a"), OriginRealmAVP("a"), DestinationHostAVP("a")]
print("bromelia:", *(f"{avp.dump()[4]:#04x}" for avp in other))
PY
seen=$(venv/bin/python -W ignore run.py 2>run.err) || { cat run.err >&2; exit 1; }
echo "$seen"
[ "$seen" = "Credit-Control, new: Origin-Host 0x00, Origin-Realm 0x00, Destination-Host 0x00
Credit-Control, received: Origin-Host 0x40, Origin-Realm 0x40, Destination-Host 0x40
Credit-Control, written again: Origin-Host 0x00, Origin-Realm 0x00, Destination-Host 0x00
Update-Location, new: Origin-Host 0x40, Origin-Realm 0x40, Destination-Host 0x40
by default: True True True
bromelia: 0x40 0x40 0x40" ] || { echo "changed" >&2; exit 1; }
