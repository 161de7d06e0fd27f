#!/usr/bin/env bash
# Package: aiosipua 0.7.1 (Python 3.11), seen on 2026-11-30.
# Guess: the identities of IMS are SIP and tel URIs. <tel:+12015550123> is a number (RFC 3966, 3),
#   the user of a SIP URI may be a number with parameters of its own (RFC 3261, 19.1.6), a name in
#   quotation marks may have a less-than sign or an escaped mark (RFC 3261, 25.1), and blanks may
#   stand around the separators of a Via (RFC 4475, 3.1.1.1).
# Seen: a tel URI is a SIP URI: its host is `tel` and its port 12015550123, and with hyphens the
#   whole is a host, written in brackets as an IPv6 address. Of a user with parameters, the number
#   is the host and there is no user. Of the name "Desk <2>" the caller's address is the host 2, and
#   the real one is lost. A Via with blanks has no transport and the host `UDP  192.0.2.1`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile aiosipua==0.7.1
cat >run.py <<'PY'
from aiosipua import parse_address, parse_via, stringify_address

for text in [
    "<sip:+12015550123@ims.example;user=phone>;tag=1",
    "<tel:+12015550123>;tag=1",
    "<tel:+1-201-555-0123>;tag=1",
    "<sip:+12015550123;ext=5@ims.example;user=phone>",
    '"Desk 2" <sip:anna@ims.example>;tag=1',
    '"Desk <2>" <sip:anna@ims.example>;tag=1',
]:
    read = parse_address(text)
    uri = read.uri
    print(text)
    print(f"  {uri.scheme} user {uri.user} host {uri.host} port {uri.port} {uri.params}")
    print("  written", stringify_address(read))
for text in ["SIP/2.0/UDP 192.0.2.1:5062;branch=z9hG4bK1",
             "SIP / 2.0 / UDP  192.0.2.1:5062 ; branch = z9hG4bK1"]:
    via = parse_via(text)
    print(text)
    print(f"  transport {via.transport!r} host {via.host!r} port {via.port}")
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
<sip:+12015550123@ims.example;user=phone>;tag=1
  sip user +12015550123 host ims.example port None {'user': 'phone'}
  written <sip:+12015550123@ims.example;user=phone>;tag=1
<tel:+12015550123>;tag=1
  sip user None host tel port 12015550123 {}
  written <sip:tel:12015550123>;tag=1
<tel:+1-201-555-0123>;tag=1
  sip user None host tel:+1-201-555-0123 port None {}
  written <sip:[tel:+1-201-555-0123]>;tag=1
<sip:+12015550123;ext=5@ims.example;user=phone>
  sip user None host +12015550123 port None {'ext': '5@ims.example', 'user': 'phone'}
  written <sip:+12015550123;ext=5@ims.example;user=phone>
"Desk 2" <sip:anna@ims.example>;tag=1
  sip user anna host ims.example port None {}
  written "Desk 2" <sip:anna@ims.example>;tag=1
"Desk <2>" <sip:anna@ims.example>;tag=1
  sip user None host 2 port None {}
  written ""Desk" <sip:2>
SIP/2.0/UDP 192.0.2.1:5062;branch=z9hG4bK1
  transport 'UDP' host '192.0.2.1' port 5062
SIP / 2.0 / UDP  192.0.2.1:5062 ; branch = z9hG4bK1
  transport '' host 'UDP  192.0.2.1' port 5062
SEEN
