#!/usr/bin/env bash
# Packages: etsi-qkd-014-client 0.9.0, qkdsec 0.3.0 (Python 3.11), seen on 2026-11-30.
# Guess: a client of ETSI GS QKD 014 V1.1.1 asks dec_keys under the ID of the master SAE (5.3),
#   the other end, leaves out number and size to have the KME's own (both are optional, 6.2), and
#   hands over the optional extensions of a key and of the status (6.1, 6.3).
# Seen: qkdsec names the parameter of get_dec_keys slave_sae_id, "the decrypting peer (this
#   client)", and with it asks for keys that it would have shared with itself. It always asks for
#   256 bits, whatever key_size the status has. etsi-qkd-014-client drops key_extension, and
#   status_extension, which its class declares, is an AttributeError.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile etsi-qkd-014-client==0.9.0 qkdsec==0.3.0
cat >run.py <<'PY'
import inspect
from unittest import mock
import requests
from etsi_qkd_014_client import QKD014Client
from qkdsec.client import ETSI014Client

STATUS = {"source_KME_ID": "a", "target_KME_ID": "b", "master_SAE_ID": "amf", "slave_SAE_ID": "gnb",
          "key_size": 512, "stored_key_count": 9, "max_key_count": 9, "max_key_per_request": 9,
          "max_key_size": 1024, "min_key_size": 64, "max_SAE_ID_count": 0,
          "status_extension": {"link": "up"}}
KEYS = {"keys": [{"key_ID": "bc490419", "key": "AAAA", "key_extension": {"expires": 60}}]}

def send(session, request, **options):
    print("  asked:", request.method, request.path_url, (request.body or b"").decode())
    answer = requests.Response()
    answer.status_code, answer.json = 200, lambda: STATUS if "status" in request.url else KEYS
    return answer

with mock.patch("requests.Session.send", send):
    print("qkdsec")
    client = ETSI014Client("https://kme.example")
    client.get_enc_keys("gnb")
    print(" ", *inspect.signature(client.get_dec_keys).parameters)
    client.get_dec_keys(slave_sae_id="gnb", key_ids=["bc490419"])
    print("etsi-qkd-014-client")
    client = QKD014Client("kme.example", "cert", "key", "ca")
    _, keys = client.get_key("gnb")
    print("  key_extension:", keys.keys[0].key_extension)
    _, status = client.get_status("gnb")
    try:
        print("  status_extension:", status.status_extension)
    except AttributeError as error:
        print(" ", error)
PY
seen=$(venv/bin/python -W ignore run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
qkdsec
  asked: GET /api/v1/keys/gnb/enc_keys?number=1&size=256 
  slave_sae_id key_ids key_id_extensions key_ids_extension
  asked: POST /api/v1/keys/gnb/dec_keys {"key_IDs": [{"key_ID": "bc490419"}]}
etsi-qkd-014-client
  asked: GET /api/v1/keys/gnb/enc_keys 
  key_extension: None
  asked: GET /api/v1/keys/gnb/status 
  'DataStatus' object has no attribute 'status_extension'
SEEN
