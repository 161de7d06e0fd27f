#!/usr/bin/env bash
# Package: paramiko 5.1.0, asyncssh 2.24.1 (Python 3.11) with OpenSSH 9.2 of Debian 12, seen on
#   2026-11-30.
# Guess: `SSHConfig.lookup` gives the values that `ssh -G` gives for the same file: ssh_config(5)
#   allows Include, `Match final`, a number sign behind a value since OpenSSH 8.5, and compares the
#   hosts of Match in lower case.
# Seen: the comment behind a value is part of it: the host is "192.0.2.1 # rack 4". Include is
#   passed over in silence, so hosts, users and algorithms of the included files are not there.
#   `Match final all` ends the reading of the file with ConfigParseError, and `Match host ODU1` does
#   not match. asyncssh takes the comment for an error and leaves the two Match blocks out.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile paramiko==5.1.0 asyncssh==2.24.1
cat >run.py <<'PY'
import os
import subprocess
import asyncssh
import paramiko

with open("included", "w") as out:
    out.write("Host odu1\n  HostName 192.0.2.1\n  Port 830\n")
files = {
    "plain": "Host odu1\n  HostName 192.0.2.1\n  Port 830\n",
    "comment": "Host odu1\n  HostName 192.0.2.1 # rack 4\n  Port 830\n",
    "Include": f"Include {os.getcwd()}/included\n",
    "Match final": "Host odu1\n  HostName 192.0.2.1\nMatch final all\n  Port 830\n",
    "Match host ODU1": "Match host ODU1\n  HostName 192.0.2.1\n  Port 830\n",
}
for name, text in files.items():
    with open("config", "w") as out:
        out.write(text)
    said = subprocess.run(["ssh", "-G", "-F", "config", "odu1"], capture_output=True, text=True, check=True)
    values = dict(line.split(" ", 1) for line in said.stdout.splitlines() if " " in line)
    print(f"{name}, ssh: {values['hostname']}, {values['port']}")
    try:
        read = paramiko.SSHConfig.from_path("config").lookup("odu1")
        print(f"{name}, paramiko: {read['hostname']}, {read.get('port', 22)}")
    except paramiko.ConfigParseError as error:
        print(f"{name}, paramiko: ConfigParseError: {error}")
    try:
        options = asyncssh.SSHClientConnectionOptions(config=["config"], host="odu1")
        print(f"{name}, asyncssh: {options.host}, {options.port}")
    except Exception as error:
        print(f"{name}, asyncssh: {type(error).__name__}: {error}")
PY
seen=$(venv/bin/python -W ignore run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
plain, ssh: 192.0.2.1, 830
plain, paramiko: 192.0.2.1, 830
plain, asyncssh: 192.0.2.1, 830
comment, ssh: 192.0.2.1, 830
comment, paramiko: 192.0.2.1 # rack 4, 830
comment, asyncssh: ConfigParseError: config line 2: Extra data at end: # rack 4
Include, ssh: 192.0.2.1, 830
Include, paramiko: odu1, 22
Include, asyncssh: 192.0.2.1, 830
Match final, ssh: 192.0.2.1, 830
Match final, paramiko: ConfigParseError: Match does not allow 'all' mixed with anything but 'canonical'
Match final, asyncssh: 192.0.2.1, 22
Match host ODU1, ssh: 192.0.2.1, 830
Match host ODU1, paramiko: odu1, 22
Match host ODU1, asyncssh: odu1, 22
SEEN
