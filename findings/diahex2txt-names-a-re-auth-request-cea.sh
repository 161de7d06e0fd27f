#!/usr/bin/env bash
# Package: diahex2txt 1.0.0 with python-diameter 0.9.0 (Python 3.13), seen on 2026-11-30.
# Guess: request and answer of a Diameter command have one code and differ in the R flag (RFC
#   6733, 3), so the tool names commands by both: 258 is Re-Auth, 317 Cancel-Location, 319
#   Insert-Subscriber-Data (TS 29.272, 7.2.2). Application 16777265 is SWx, 16777264 SWm, 16777236
#   Rx.
# Seen: each request has two codes in its table, the answer the next one, and the flag is not
#   looked at. Each answer is named as the request, a Re-Auth-Request as the answer to
#   Capabilities-Exchange, and Cancel-Location as the answer to Update-Location. SWx is named Gmb,
#   Rx is unknown. A Visited-PLMN-Id whose octets are printable is text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python=$(PYENV_VERSION=3.13.0 pyenv which python3 2>/dev/null || command -v python3.13)
"$python" -m venv venv
venv/bin/pip install --quiet --no-compile diahex2txt==1.0.0 python-diameter==0.9.0
cat >run.py <<'PY'
from diahex2txt.decoder import DiameterDecoder
from diameter.message import commands

def lines(message, application):
    message.header.application_id = application
    return [line.strip() for line in DiameterDecoder().decode(message.as_bytes().hex()).split("\n")]

s6a = 16777251
for name, application in [
    ("ReAuthRequest", 16777238), ("AuthenticationInformationRequest", s6a),
    ("AuthenticationInformationAnswer", s6a), ("CancelLocationRequest", s6a),
    ("InsertSubscriberDataRequest", s6a), ("MultimediaAuthRequest", 16777265),
    ("AaRequest", 16777236),
]:
    read = lines(getattr(commands, name)(), application)
    print(name + ":", *[line.split(" - ")[1] for line in read if line[:5] in ("Code:", "App I")],
          sep="\n  ")
for plmn in (b"\x00\xf1\x10", b"\x32\x54\x56"):
    message = commands.AuthenticationInformationRequest()
    message.visited_plmn_id = plmn
    print(lines(message, s6a)[-1])
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
ReAuthRequest:
  CEA (Capabilities-Exchange-Answer)
  Gx (3GPP Policy Control)
AuthenticationInformationRequest:
  AIR (Authentication-Information-Request)
  S6a/S6d (3GPP Mobility Management)
AuthenticationInformationAnswer:
  AIR (Authentication-Information-Request)
  S6a/S6d (3GPP Mobility Management)
CancelLocationRequest:
  ULA (Update-Location-Answer)
  S6a/S6d (3GPP Mobility Management)
InsertSubscriberDataRequest:
  AIA (Authentication-Information-Answer)
  S6a/S6d (3GPP Mobility Management)
MultimediaAuthRequest:
  MAR (Multimedia-Auth-Request)
  Gmb (3GPP GGSN-BM-SC)
AaRequest:
  AAR (AA-Request)
  Unknown
Visited-PLMN-Id (Code: 1407): 0x00f110
Visited-PLMN-Id (Code: 1407): 2TV
SEEN
