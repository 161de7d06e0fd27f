#!/usr/bin/env bash
# Packages: pygnmi 0.8.15, aiognmi 0.1.1 (Python 3.11), seen on 2026-11-30.
# Guess: a path is read as OpenConfig's "Schema path encoding conventions for gNMI" has it: the
#   value of a key goes from the first `=` to the next `]` without a backslash in front, and may
#   hold any other character; `\]` is `]`.
# Seen: a distinguished name as the value, as in lists of certificates or of managed elements,
#   ends in ValueError in both, for it has one more `=`. An escaped bracket ends in ValueError in
#   pygnmi; aiognmi cuts the value there and keeps the backslash, which asks for another user.
#   aiognmi asks each path with a leading slash under the origin openconfig and leaves the module in
#   the name; pygnmi makes the module the origin.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in pygnmi==0.8.15 aiognmi==0.1.1; do
    name=${package%%=*}
    python3 -m venv "$name"
    "$name/bin/pip" install --quiet --no-compile "$package"
done
cat >run.py <<'PY'
import sys

name = sys.argv[1]
if name == "pygnmi":
    from pygnmi.create_gnmi_path import gnmi_path_generator as read
else:
    from aiognmi.utils import create_gnmi_path as read

for path in (
    "/certs/cert[name=gnb]",
    "/certs/cert[subject=CN=gnb,O=Example]",
    r"/users/user[name=a\]b]",
    "/ports/port[name=Ethernet1/1]",
    "/o-ran-hardware:hardware/module",
):
    try:
        made = read(path)
    except Exception as error:
        print(f"{name}, {path}: {type(error).__name__}")
        continue
    elements = [elem.name + "".join(f" {{{k}: {v}}}" for k, v in elem.key.items())
                for elem in made.elem]
    print(f"{name}, {path}: {' / '.join(elements)}, origin {made.origin!r}")
PY
seen=$(for name in pygnmi aiognmi; do "$name/bin/python" -W ignore run.py "$name"; done)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
pygnmi, /certs/cert[name=gnb]: certs / cert {name: gnb}, origin ''
pygnmi, /certs/cert[subject=CN=gnb,O=Example]: ValueError
pygnmi, /users/user[name=a\]b]: ValueError
pygnmi, /ports/port[name=Ethernet1/1]: ports / port {name: Ethernet1/1}, origin ''
pygnmi, /o-ran-hardware:hardware/module: hardware / module, origin 'o-ran-hardware'
aiognmi, /certs/cert[name=gnb]: certs / cert {name: gnb}, origin 'openconfig'
aiognmi, /certs/cert[subject=CN=gnb,O=Example]: ValueError
aiognmi, /users/user[name=a\]b]: users / user {name: a\}, origin 'openconfig'
aiognmi, /ports/port[name=Ethernet1/1]: ports / port {name: Ethernet1/1}, origin 'openconfig'
aiognmi, /o-ran-hardware:hardware/module: o-ran-hardware:hardware / module, origin 'openconfig'
SEEN
