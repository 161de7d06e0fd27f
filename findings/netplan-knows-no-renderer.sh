#!/usr/bin/env bash
# Package: netplan 0.3.3 (Python 3.11), seen on 2026-11-30.
# Guess: "a Python library for parsing the netplan configuration data" reads a file with the keys
#   that the format of version 2 has beside the kinds of interfaces it knows: `renderer`, `vrfs` for
#   the networks of a core, `tunnels`, `dummy-devices`.
# Seen: only ethernets, bonds, bridges, vlans and wifis may stand there. `renderer: networkd`, which
#   most files of servers have, ends in ParseFileException, as do VRFs, tunnels and dummy devices,
#   and nothing of the folder is read. VLANs are read, and lists of two files are joined.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile netplan==0.3.3 PyYAML==6.0.3
cat >run.py <<'PY'
import os
import tempfile
import netplan

def read(name, *files):
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(files):
            with open(os.path.join(folder, f"{number:02}-n2.yaml"), "w") as file:
                file.write("network:\n  version: 2\n" + text)
        try:
            parsed = netplan.Parser(dirs=[folder]).parse().data
            print(f"{name}:", {key: item.data for key, item in parsed.items()})
        except netplan.parser.ParseFileException as error:
            print(f"{name}: {type(error.inner).__name__}: {error.inner}")

PORT = "  ethernets:\n    n2: {addresses: [192.0.2.1/24]}\n"
read("VLAN", PORT + "  vlans:\n    n2.10: {id: 10, link: n2}\n")
read("two files", PORT, "  ethernets:\n    n2: {addresses: [192.0.2.2/24]}\n")
read("renderer", "  renderer: networkd\n" + PORT)
read("VRF", PORT + "  vrfs:\n    core: {table: 10, interfaces: [n2]}\n")
read("tunnel", PORT + "  tunnels:\n    n3: {mode: gre, local: 192.0.2.1, remote: 192.0.2.9}\n")
read("dummy device", PORT + "  dummy-devices:\n    anycast: {addresses: [192.0.2.8/32]}\n")
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
VLAN: {'n2': {'addresses': ['192.0.2.1/24']}, 'n2.10': {'id': 10, 'link': 'n2'}}
two files: {'n2': {'addresses': ['192.0.2.1/24', '192.0.2.2/24']}}
renderer: Exception: Unsupported section(s) renderer
VRF: Exception: Unsupported section(s) vrfs
tunnel: Exception: Unsupported section(s) tunnels
dummy device: Exception: Unsupported section(s) dummy-devices
SEEN
