#!/usr/bin/env bash
# Packages: cryptography 50.0.2, dilithium-py 1.5.1, kyber-py 1.2.0 (Python 3.11),
#   org.bouncycastle:bcprov-jdk18on 1.84 (Java 17), seen on 2026-11-30.
# Guess: an ML-DSA or ML-KEM private key in PKCS#8 that holds its seed is read, in the form "seed" and
#   in the form "both" (RFC 9881 and RFC 9935 have "seed", "expandedKey" and "both").
# Seen: the seed alone is read. "both", which Bouncy Castle and OpenSSL 3.5 write unless asked
#   otherwise, ends in "Could not deserialize key data", as if the file were damaged; dilithium-py and
#   kyber-py find the same seed in it, and the key of that seed is the one in the other half. So is a
#   seed of a OneAsymmetricKey of version 1, with the public key behind it (RFC 5958), which neither
#   Python reader takes and Bouncy Castle does.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile cryptography==50.0.2 dilithium-py==1.5.1 kyber-py==1.2.0 \
    ecdsa==0.19.1
cat >pom.xml <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>found</groupId><artifactId>found</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>org.bouncycastle</groupId><artifactId>bcprov-jdk18on</artifactId><version>1.84</version>
  </dependency></dependencies>
</project>
XML
mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory=lib >/dev/null
cat >Make.java <<'JAVA'
import java.nio.file.*;
import java.security.*;
import org.bouncycastle.asn1.*;
import org.bouncycastle.asn1.pkcs.PrivateKeyInfo;
import org.bouncycastle.asn1.x509.SubjectPublicKeyInfo;
import org.bouncycastle.jce.provider.BouncyCastleProvider;

public class Make {
    public static void main(String[] arguments) throws Exception {
        Security.addProvider(new BouncyCastleProvider());
        for (String name : new String[] {"ML-DSA-65", "ML-KEM-768"}) {
            KeyPair pair = KeyPairGenerator.getInstance(name, "BC").generateKeyPair();
            byte[] both = pair.getPrivate().getEncoded();
            Files.write(Path.of(name + ".both"), both);
            var key = PrivateKeyInfo.getInstance(both);
            var seed = ASN1Sequence.getInstance(key.parsePrivateKey()).getObjectAt(0);
            var alone = new DERTaggedObject(false, 0, seed);
            var bits = SubjectPublicKeyInfo.getInstance(pair.getPublic().getEncoded());
            var algorithm = key.getPrivateKeyAlgorithm();
            Files.write(Path.of(name + ".seed"), new PrivateKeyInfo(algorithm, alone).getEncoded());
            Files.write(Path.of(name + ".seed and public key"), new PrivateKeyInfo(algorithm, alone,
                null, bits.getPublicKeyData().getOctets()).getEncoded());
        }
    }
}
JAVA
java -cp 'lib/*' Make.java
cat >run.py <<'PY'
from cryptography.hazmat.primitives.serialization import load_der_private_key
import dilithium_py.ml_dsa.pkcs as dsa
import kyber_py.ml_kem.pkcs as kem

for name, other in ("ML-DSA-65", dsa.sk_from_der), ("ML-KEM-768", kem.dk_from_der):
    for form in "seed", "both", "seed and public key":
        data = open(f"{name}.{form}", "rb").read()
        try:
            own = load_der_private_key(data, None).public_key().public_bytes_raw()
            first = "read"
        except ValueError as error:
            first = str(error).split(".")[0]
        try:
            _, _, seed, public = other(data)
            second = f"a seed of {len(seed)} octets" + ", the same key" * (public == own)
        except Exception as error:
            second = str(error)
        print(f"{name}, {form}: {first}; second reader:", second)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
[ "$seen" = "ML-DSA-65, seed: read; second reader: a seed of 32 octets, the same key
ML-DSA-65, both: Could not deserialize key data; second reader: a seed of 32 octets, the same key
ML-DSA-65, seed and public key: Could not deserialize key data; second reader: Unsupported version: 1
ML-KEM-768, seed: read; second reader: a seed of 64 octets, the same key
ML-KEM-768, both: Could not deserialize key data; second reader: a seed of 64 octets, the same key
ML-KEM-768, seed and public key: Could not deserialize key data; second reader: Unsupported version: 1" ] || { echo "changed" >&2; exit 1; }
