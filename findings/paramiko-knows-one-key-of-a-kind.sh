#!/usr/bin/env bash
# Package: paramiko 5.1.0 (Python 3.11) with OpenSSH of Debian 12, seen on 2026-11-30.
# Guess: HostKeys finds for a name what `ssh-keygen -F` finds in the same known_hosts: patterns with
#   an asterisk, names in upper and lower case, each of several keys (sshd(8), SSH_KNOWN_HOSTS FILE
#   FORMAT: "It is permissible to have several lines or different host keys for the same names").
# Seen: of two Ed25519 keys of a host the first is known: after a change of keys the new one, which
#   stands behind the old one, is a mismatch. A pattern matches nothing but itself, so a NETCONF
#   client has no key for the hosts of a domain; one line with @cert-authority ends the reading of
#   the whole file with InvalidHostKey.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile paramiko==5.1.0
for number in 1 2; do ssh-keygen -q -t ed25519 -N "" -C "" -f key$number; done
{
  echo "odu1 $(cat key1.pub)"
  echo "odu1 $(cat key2.pub)"
  echo "*.ran.example $(cat key1.pub)"
  echo "ODU3 $(cat key1.pub)"
  echo "[odu4]:830 $(cat key1.pub)"
} >known_hosts
{ cat known_hosts; echo "@cert-authority *.ca.example $(cat key2.pub)"; } >with_authority
cat >run.py <<'PY'
import base64
import subprocess
import paramiko

keys = {open(f"key{number}.pub").read().split()[1]: number for number in (1, 2)}
known = paramiko.HostKeys("known_hosts")
for host in "odu1", "odu2.ran.example", "odu3", "[odu4]:830":
    said = subprocess.run(["ssh-keygen", "-F", host, "-f", "known_hosts"], capture_output=True, text=True)
    found = [keys[word] for word in said.stdout.split() if word in keys]
    accepted = [number for text, number in keys.items() if known.check(
        host, paramiko.Ed25519Key(data=base64.b64decode(text)))]
    print(f"{host}: ssh-keygen {found}, paramiko {accepted}")
try:
    print(len(paramiko.HostKeys("with_authority")))
except paramiko.hostkeys.InvalidHostKey as error:
    print("with @cert-authority:", type(error).__name__)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
odu1: ssh-keygen [1, 2], paramiko [1]
odu2.ran.example: ssh-keygen [1], paramiko []
odu3: ssh-keygen [1], paramiko []
[odu4]:830: ssh-keygen [1], paramiko [1]
with @cert-authority: InvalidHostKey
SEEN
