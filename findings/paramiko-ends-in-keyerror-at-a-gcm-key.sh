#!/usr/bin/env bash
# Package: paramiko 5.1.0, asyncssh 2.24.1 (Python 3.11), sshpk 1.18.0, ssh2 1.17.0 (Node 20) with
#   OpenSSH of Debian 12, seen on 2026-11-30.
# Guess: private keys that ssh-keygen encrypts with AES-256-GCM or ChaCha20-Poly1305 (`-Z`;
#   PROTOCOL.key allows each cipher of ssh) are read, or the error names the cipher.
# Seen: of an Ed25519 key with AES-256-GCM paramiko ends in KeyError 'mode', of an ECDSA key it
#   names the cipher; sshpk finds "excess bytes left after key" (the tag of the cipher) in both.
#   With ChaCha20-Poly1305 it is "Invalid initialization vector" in ssh2, and excess bytes in sshpk.
#   asyncssh reads all of them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile paramiko==5.1.0 asyncssh==2.24.1
npm install --silent --no-audit --no-fund --ignore-scripts sshpk@1.18.0 ssh2@1.17.0 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
make() { ssh-keygen -q -C "" -f "$@"; }
for type in ecdsa ed25519; do
  for cipher in aes256-ctr aes256-gcm@openssh.com chacha20-poly1305@openssh.com; do
    make "$type, ${cipher%@*}" -t $type -N password -Z $cipher
  done
done
cat >run.py <<'PY'
import sys
import asyncssh
import paramiko

for name in sys.argv[1:]:
    for reader, read in (("paramiko", lambda: paramiko.PKey.from_path(name, b"password")),
            ("asyncssh", lambda: asyncssh.read_private_key(name, "password"))):
        try:
            read()
            said = "read"
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        print(f"{name}, {reader}: {said}")
PY
cat >run.js <<'JS'
const fs = require("fs");
const sshpk = require("sshpk");
const { utils } = require("ssh2");

const passphrase = "password";
for (const name of process.argv.slice(2)) {
  const data = fs.readFileSync(name);
  let said = "read";
  try {
    sshpk.parsePrivateKey(data, "auto", { passphrase });
  } catch (error) {
    said = error.message.split(": ").pop();
  }
  console.log(`${name}, sshpk: ${said}`);
  const key = utils.parseKey(data, passphrase);
  console.log(`${name}, ssh2: ${key instanceof Error ? key.message : "read"}`);
}
JS
seen=$(venv/bin/python -W ignore run.py *256-ctr *256-gcm *poly1305
node run.js *256-ctr *256-gcm *poly1305)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
ecdsa, aes256-ctr, paramiko: read
ecdsa, aes256-ctr, asyncssh: read
ed25519, aes256-ctr, paramiko: read
ed25519, aes256-ctr, asyncssh: read
ecdsa, aes256-gcm, paramiko: SSHException: unknown cipher `aes256-gcm@openssh.com` used in private key file
ecdsa, aes256-gcm, asyncssh: read
ed25519, aes256-gcm, paramiko: KeyError: 'mode'
ed25519, aes256-gcm, asyncssh: read
ecdsa, chacha20-poly1305, paramiko: UnsupportedAlgorithm: Unsupported cipher: b'chacha20-poly1305@openssh.com'
ecdsa, chacha20-poly1305, asyncssh: read
ed25519, chacha20-poly1305, paramiko: UnsupportedAlgorithm: Unsupported cipher: b'chacha20-poly1305@openssh.com'
ed25519, chacha20-poly1305, asyncssh: read
ecdsa, aes256-ctr, sshpk: read
ecdsa, aes256-ctr, ssh2: read
ed25519, aes256-ctr, sshpk: read
ed25519, aes256-ctr, ssh2: read
ecdsa, aes256-gcm, sshpk: excess bytes left after key
ecdsa, aes256-gcm, ssh2: read
ed25519, aes256-gcm, sshpk: excess bytes left after key
ed25519, aes256-gcm, ssh2: read
ecdsa, chacha20-poly1305, sshpk: excess bytes left after key
ecdsa, chacha20-poly1305, ssh2: Invalid initialization vector
ed25519, chacha20-poly1305, sshpk: excess bytes left after key
ed25519, chacha20-poly1305, ssh2: Invalid initialization vector
SEEN
