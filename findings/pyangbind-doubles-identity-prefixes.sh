#!/usr/bin/env bash
# Packages: pyangbind 0.8.7, pyang 2.7.1 (Python 3.11), seen on 2026-11-30.
# Guess: an identity that is set by its prefix, as YANG modules and XML have it
#   (`ianaift:ethernetCsmacd`), is written to JSON with the name of its module (RFC 7951, 6.8), as
#   one that is set without a prefix or by the module is.
# Seen: it is accepted, and written with both: `iana-if-type:ianaift:ethernetCsmacd`, which is no
#   identityref: a name of a module and a name of an identity have no colon. Prefix and module
#   differ in most modules of O1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --only-binary :all: pyangbind==0.8.7 pyang==2.7.1
cat >ietf-interfaces.yang <<'YANG'
module ietf-interfaces {
  namespace "urn:if"; prefix if; revision 2026-01-01;
  identity interface-type;
  container interfaces { list interface {
    key name; leaf name { type string; } leaf type { type identityref { base interface-type; } }
  } }
}
YANG
cat >iana-if-type.yang <<'YANG'
module iana-if-type {
  namespace "urn:types"; prefix ianaift; import ietf-interfaces { prefix if; } revision 2026-01-01;
  identity ethernetCsmacd { base if:interface-type; }
}
YANG
plugin=$(venv/bin/python -c 'import pyangbind; print(pyangbind.__path__[0])')/plugin
venv/bin/pyang --plugindir "$plugin" -f pybind -o binding.py ietf-interfaces.yang iana-if-type.yang
cat >run.py <<'PY'
import json
import binding
from pyangbind.lib import pybindJSON

def written(kind):
    module = binding.ietf_interfaces()
    module.interfaces.interface.add("eth0").type = kind
    return json.loads(pybindJSON.dumps(module, mode="ietf"))

def type_of(document):
    return document["ietf-interfaces:interfaces"]["interface"][0]["type"]

for kind in ["ethernetCsmacd", "iana-if-type:ethernetCsmacd", "ianaift:ethernetCsmacd"]:
    print(kind, "->", type_of(written(kind)))
assert type_of(written("ethernetCsmacd")) == "iana-if-type:ethernetCsmacd"
assert type_of(written("iana-if-type:ethernetCsmacd")) == "iana-if-type:ethernetCsmacd"
doubled = written("ianaift:ethernetCsmacd")
assert type_of(doubled) == "iana-if-type:ianaift:ethernetCsmacd"
PY
venv/bin/python run.py
echo "as stated"
