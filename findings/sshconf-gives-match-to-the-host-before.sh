#!/usr/bin/env bash
# Package: sshconf 0.2.7 (Python 3.11) with OpenSSH of Debian 12, seen on 2026-11-30.
# Guess: read_ssh_config gives for a host what `ssh -G` gives: a Host line may have several patterns,
#   a Match block is a section of its own (ssh_config(5)), and a name may be in quotes.
# Seen: "odu1 odu2" is one host of that name, and odu1 has no options at all. A Match block belongs
#   to the Host in front of it: its user becomes a second user of all hosts. `set` of a host on a line
#   of two is "not found".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile sshconf==0.2.7
cat >config <<'TEXT'
Host odu1 odu2
  HostName 192.0.2.1
  Port 830
Host ru*
  User reader
Match host ru7
  HostName 192.0.2.7
TEXT
cat >run.py <<'PY'
import subprocess
import sshconf

config = sshconf.read_ssh_config("config")
print("hosts:", config.hosts())
for host in "odu1", "ru*", "ru7":
    print(f"{host}:", config.host(host))
for host in "odu1", "ru6", "ru7":
    said = subprocess.run(["ssh", "-G", "-F", "config", host], capture_output=True, text=True, check=True)
    values = dict(line.split(" ", 1) for line in said.stdout.splitlines() if " " in line)
    print(f"ssh, {host}: {values['hostname']}, {values['port']}")
try:
    config.set("odu1", User="writer")
except ValueError as error:
    print("set:", error)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
hosts: ('odu1 odu2', 'ru*')
odu1: {}
ru*: {'user': 'reader', 'match': 'host ru7', 'hostname': '192.0.2.7'}
ru7: {}
ssh, odu1: 192.0.2.1, 830
ssh, ru6: ru6, 22
ssh, ru7: 192.0.2.7, 22
set: Host odu1: not found
SEEN
