#!/usr/bin/env bash
# Package: stix2 3.0.2, beside stix2-patterns 2.1.2 (Python 3.11), seen on 2026-11-30.
# Guess: patterns that the validator of the same publisher finds valid are read by stix2 and written
#   as they were: NOT may stand before IN, EXISTS tells that a property is there, and a qualifier
#   WITHIN may have a fraction of a second (STIX 2.1, section 9).
# Seen: NOT is kept before = and dropped before IN, LIKE, MATCHES and ISSUBSET: an indicator
#   for what is outside of the operator's network is written as one for what is inside. A pattern
#   with EXISTS becomes a list of the parser's nodes, or ends in AttributeError beside another
#   comparison; NOT > is a TypeError, WITHIN 1.5 SECONDS a ValueError.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile stix2==3.0.2 stix2-patterns==2.1.2
cat >run.py <<'PY'
from stix2.pattern_visitor import create_pattern_object
from stix2patterns.validator import run_validator

PORT = "network-traffic:dst_port"
SECONDS = f"([{PORT} = 38412] AND [{PORT} = 2152]) WITHIN"
for pattern in (
    f"[{PORT} NOT = 38412]",
    f"[{PORT} NOT > 38412]",
    f"[{PORT} NOT IN (38412, 38462)]",
    "[domain-name:value NOT LIKE '%.3gppnetwork.org']",
    "[domain-name:value NOT MATCHES 'org$']",
    "[ipv4-addr:value NOT ISSUBSET '192.0.2.0/24']",
    f"[EXISTS {PORT}]",
    f"[EXISTS network-traffic:src_port AND {PORT} = 38412]",
    f"{SECONDS} 2 SECONDS",
    f"{SECONDS} 1.5 SECONDS",
):
    print("valid" if run_validator(pattern, stix_version="2.1") == [] else "invalid", pattern)
    try:
        read = str(create_pattern_object(pattern, version="2.1"))
        print(" ", "same" if read == pattern else "parser's nodes" if "antlr4" in read else read)
    except Exception as error:
        print(" ", type(error).__name__)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
valid [network-traffic:dst_port NOT = 38412]
  same
valid [network-traffic:dst_port NOT > 38412]
  TypeError
valid [network-traffic:dst_port NOT IN (38412, 38462)]
  [network-traffic:dst_port IN (38412, 38462)]
valid [domain-name:value NOT LIKE '%.3gppnetwork.org']
  [domain-name:value LIKE '%.3gppnetwork.org']
valid [domain-name:value NOT MATCHES 'org$']
  [domain-name:value MATCHES 'org$']
valid [ipv4-addr:value NOT ISSUBSET '192.0.2.0/24']
  [ipv4-addr:value ISSUBSET '192.0.2.0/24']
valid [EXISTS network-traffic:dst_port]
  parser's nodes
valid [EXISTS network-traffic:src_port AND network-traffic:dst_port = 38412]
  AttributeError
valid ([network-traffic:dst_port = 38412] AND [network-traffic:dst_port = 2152]) WITHIN 2 SECONDS
  same
valid ([network-traffic:dst_port = 38412] AND [network-traffic:dst_port = 2152]) WITHIN 1.5 SECONDS
  ValueError
SEEN
