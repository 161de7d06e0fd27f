"""A TLS 1.3 end of Python's ssl: client|server HOST PORT CERTIFICATE KEY ROOTS [GROUPS]."""

import socket
import ssl
import sys
import time

if sys.argv[1:] == ["version"]:
    print(sys.version.split()[0], ssl.OPENSSL_VERSION)
    sys.exit()
role, host, port, certificate, key, roots, *groups = sys.argv[1:]
client = role == "client"
rules = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT if client else ssl.PROTOCOL_TLS_SERVER)
rules.minimum_version = ssl.TLSVersion.TLSv1_3
rules.verify_mode = ssl.CERT_REQUIRED
rules.load_verify_locations(roots)
rules.load_cert_chain(certificate, key)
rules.set_alpn_protocols(["h2"])
if groups and hasattr(rules, "set_groups"):
    rules.set_groups(groups[0])
if client:
    with socket.create_connection((host, int(port))) as plain:
        with rules.wrap_socket(plain, server_hostname="nrf.5gc"):
            time.sleep(600)
listener = socket.create_server((host, int(port)))
print("ACCEPT", flush=True)
while True:
    plain, _ = listener.accept()
    try:
        rules.wrap_socket(plain, server_side=True).recv(1)
    except OSError as error:
        print(error, file=sys.stderr, flush=True)
