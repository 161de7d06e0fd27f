#!/usr/bin/env bash
# Package: netconf-client 3.6.0 (Python 3.11); ncclient 0.7.1 is the second reader; seen on
#   2026-11-30.
# Guess: an rpc-error of severity warning (RFC 6241, 4.3) does not make a reply fail, or the
#   severity tells the caller. Of several errors, each keeps its own fields, of which error-message and
#   error-info are optional.
# Seen: a warning is raised as RpcError, and its severity is always "error". With two errors, tag,
#   message and info are the first of each that occur: the tag of one error comes with the message
#   and the info of another. Without any message there is no attribute `message`. ncclient has each
#   error with its fields, and its severities.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile netconf-client==3.6.0 ncclient==0.7.1
cat >run.py <<'PY'
import socket
import threading
from ncclient.operations.rpc import RPCReply
from netconf_client.error import RpcError
from netconf_client.ncclient import Manager
from netconf_client.session import Session

END = "]]>]]>"
BASE = "urn:ietf:params:xml:ns:netconf:base:1.0"

def error(severity, tag, rest=""):
    return ("<rpc-error><error-type>application</error-type><error-tag>%s</error-tag>"
            "<error-severity>%s</error-severity>%s</rpc-error>" % (tag, severity, rest))

def message(text):
    return "<error-message>%s</error-message>" % text

def info(name, text):
    return "<error-info><%s>%s</%s></error-info>" % (name, text, name)

def serve(connection, reply):
    connection.sendall((hello + END).encode())
    received = b""
    while received.count(END.encode()) < 2:
        received += connection.recv(4096)
    connection.sendall((reply + END).encode())

hello = ("<hello xmlns='%s'><capabilities><capability>urn:ietf:params:netconf:base:1.0"
         "</capability></capabilities><session-id>4</session-id></hello>" % BASE)
for name, body in [
    ("a warning", error("warning", "operation-failed", message("carrier is active"))),
    ("two errors", error("error", "data-missing")
     + error("error", "bad-element", message("no such carrier")
             + info("bad-element", "tx-array-carriers"))),
    ("an error without message", error("error", "data-missing")),
]:
    reply = '<rpc-reply xmlns="%s" message-id="1">%s</rpc-reply>' % (BASE, body)
    ours, theirs = socket.socketpair()
    server = threading.Thread(target=serve, args=(theirs, reply))
    server.start()
    print(name)
    with Session(ours) as session:
        try:
            Manager(session, timeout=60).edit_config("<config/>")
            print("  netconf-client: done")
        except RpcError as raised:
            print("  netconf-client:", raised.severity, raised.tag,
                  getattr(raised, "message", "(no attribute)"),
                  "with info" if hasattr(raised, "info") else "")
    server.join()
    theirs.close()
    parsed = RPCReply(reply)
    print("  ncclient:", [(one.severity, one.tag, one.message) for one in parsed.errors])
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
a warning
  netconf-client: error operation-failed carrier is active 
  ncclient: [('warning', 'operation-failed', 'carrier is active')]
two errors
  netconf-client: error data-missing no such carrier with info
  ncclient: [('error', 'data-missing', None), ('error', 'bad-element', 'no such carrier')]
an error without message
  netconf-client: error data-missing (no attribute) 
  ncclient: [('error', 'data-missing', None)]
SEEN
