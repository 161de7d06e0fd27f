#!/usr/bin/env bash
# Package: cyphera-kmip 0.0.1a1, beside PyKMIP 0.11.0 (Python 3.11), seen on 2026-11-30.
# Guess: a client that says it has "27 operations" of KMIP 1.4 writes and reads the tags of its
#   section 9.1.3.1: Data is 4200C2, the nonce 42003D, Signature Data 4200C3, MAC Data 4200C6,
#   Result Message 42007D, Revocation Reason 420081.
# Seen: it has other numbers for these and more. The text to encrypt is sent as a Destroy Date, the
#   nonce of Decrypt as a Key Wrapping Specification, the reason of Revoke as a Revocation Reason
#   Code: PyKMIP's server side refuses the four requests. The ciphertext, the signature and the MAC
#   of a right answer are None, without an error, and why a request failed is not told. A name and a
#   password that are set with `set_credentials` are in no request. A Get is read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile cyphera-kmip==0.0.1a1 PyKMIP==0.11.0
cat >run.py <<'PY'
from cyphera_kmip import operations, ttlv
from cyphera_kmip.client import KmipClient
from kmip.core import enums, objects, utils
from kmip.core.messages import contents, messages, payloads

VERSION = enums.KMIPVersion.KMIP_1_4

def server_reads(request):
    message = messages.RequestMessage()
    try:
        message.read(utils.BytearrayStream(request), kmip_version=VERSION)
        return "read"
    except Exception as error:
        return type(error).__name__

def tags(request):
    batch = ttlv.find_child(ttlv.decode_ttlv(request), enums.Tags.BATCH_ITEM.value)
    payload = ttlv.find_child(batch, enums.Tags.REQUEST_PAYLOAD.value)
    return [enums.Tags(child["tag"]).name for child in payload["value"]]

def answer(payload, batch):
    stream = utils.BytearrayStream()
    messages.ResponseMessage(
        response_header=messages.ResponseHeader(
            contents.ProtocolVersion(1, 4), contents.TimeStamp(1796000000), contents.BatchCount(1)),
        batch_items=[messages.ResponseBatchItem(response_payload=payload, **batch)],
    ).write(stream, kmip_version=VERSION)
    return stream.buffer

def success(payload, operation):
    batch = {"operation": contents.Operation(operation),
             "result_status": contents.ResultStatus(enums.ResultStatus.SUCCESS)}
    return operations.parse_response(answer(payload, batch))["payload"]

for name, request in {
    "get": operations.build_get_request("key-1"),
    "encrypt": operations.build_encrypt_request("key-1", b"subscriber"),
    "decrypt": operations.build_decrypt_request("key-1", b"ciphertext", bytes(12)),
    "mac": operations.build_mac_request("key-1", b"subscriber"),
    "revoke": operations.build_revoke_request("key-1", 1),
}.items():
    print(f"{name}: {server_reads(request)} {' '.join(tags(request))}")

O = enums.Operation
payload = payloads.EncryptResponsePayload("key-1", b"ciphertext", bytes(12))
print("encrypted:", operations.parse_encrypt_payload(success(payload, O.ENCRYPT)))
payload = payloads.SignResponsePayload("key-1", b"signature")
print("signed:", operations.parse_sign_payload(success(payload, O.SIGN)))
payload = payloads.MACResponsePayload(
    objects.attributes.UniqueIdentifier("key-1"), objects.MACData(b"mac"))
print("mac:", operations.parse_mac_payload(success(payload, O.MAC)))
try:
    operations.parse_response(answer(None, {
        "result_status": contents.ResultStatus(enums.ResultStatus.OPERATION_FAILED),
        "result_reason": contents.ResultReason(enums.ResultReason.ITEM_NOT_FOUND),
        "result_message": contents.ResultMessage("no such key")}))
except operations.KmipError as error:
    print("failed:", error, error.result_reason)

sent = []
client = KmipClient("127.0.0.1", "cert.pem", "key.pem")
client.set_credentials("operator", "secret")
client._connect = lambda: type("Socket", (), {
    "sendall": lambda self, octets: sent.append(octets), "recv": lambda self, size: b""})()
try:
    client.get("key-1")
except ConnectionError:
    print("name in the request:", b"operator" in sent[0])
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
get: read UNIQUE_IDENTIFIER
encrypt: ValueError UNIQUE_IDENTIFIER DESTROY_DATE
decrypt: ValueError UNIQUE_IDENTIFIER DESTROY_DATE KEY_WRAPPING_SPECIFICATION
mac: InvalidKmipEncoding UNIQUE_IDENTIFIER DESTROY_DATE
revoke: ReadValueError UNIQUE_IDENTIFIER REVOCATION_REASON_CODE
encrypted: {'data': None, 'nonce': None}
signed: {'signature_data': None}
mac: {'mac_data': None}
failed: KMIP operation failed (status=1) 0
name in the request: False
SEEN
