#!/usr/bin/env bash
# Packages: com.nimbusds:nimbus-jose-jwt 10.10 (Java 17), jose 6.2.18 (Node 20), seen on 2026-11-30.
# Guess: the additional authenticated data that `JWEObjectJSON` is given, as the clear part of an
#   N32-f message (PRINS, TS 29.573, 6.2), is written in base64url and authenticated in that form
#   (RFC 7516, 5.1 steps 14 and 15, 7.2.1). Another library decrypts it, and `getAAD` answers what
#   was given.
# Seen: the octets are written as they are: the member "aad" is JSON as text, and jose refuses it.
#   Nimbus decrypts its own. It is right if the caller encodes the data before; the Javadoc does not
#   say so. `getAAD` answers the protected header, a dot and the data, in messages of jose too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  jose@6.2.18 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >pom.xml <<'POM'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>finding</groupId>
  <artifactId>finding</artifactId>
  <version>0</version>
  <dependencies>
    <dependency>
      <groupId>com.nimbusds</groupId>
      <artifactId>nimbus-jose-jwt</artifactId>
      <version>10.10</version>
    </dependency>
  </dependencies>
</project>
POM
mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory=lib >maven.log 2>&1 ||
  { cat maven.log; exit 1; }
cat >Finding.java <<'JAVA'
import com.nimbusds.jose.EncryptionMethod;
import com.nimbusds.jose.JWEAlgorithm;
import com.nimbusds.jose.JWEHeader;
import com.nimbusds.jose.JWEObjectJSON;
import com.nimbusds.jose.Payload;
import com.nimbusds.jose.crypto.DirectDecrypter;
import com.nimbusds.jose.crypto.DirectEncrypter;
import com.nimbusds.jose.util.Base64URL;
import java.nio.file.Files;
import java.nio.file.Path;

class Finding {
    static final byte[] KEY = new byte[32];
    static final String CLEAR = "{\"reqLine\":1}";

    static void write(String name, String data) throws Exception {
        var header = new JWEHeader(JWEAlgorithm.DIR, EncryptionMethod.A256GCM);
        var message = new JWEObjectJSON(header, new Payload("{}"), null, data.getBytes());
        message.encrypt(new DirectEncrypter(KEY));
        Files.writeString(Path.of(name), message.serializeFlattened());
    }

    static void read(String name) throws Exception {
        var message = JWEObjectJSON.parse(Files.readString(Path.of(name)));
        message.decrypt(new DirectDecrypter(KEY));
        String data = new String(message.getAAD());
        System.out.println("Nimbus reads " + name + ": header" + data.substring(data.indexOf('.')));
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0) {
            for (String name : arguments)
                read(name);
            return;
        }
        write("clear", CLEAR);
        write("encoded", Base64URL.encode(CLEAR).toString());
    }
}
JAVA
cat >run.mjs <<'JS'
import { readFileSync, writeFileSync } from "node:fs";
import { FlattenedEncrypt, flattenedDecrypt } from "jose";

const key = new Uint8Array(32);
const text = (value) => new TextEncoder().encode(value);
for (const name of ["clear", "encoded"]) {
  const message = JSON.parse(readFileSync(name, "utf8"));
  console.log(`${name}:`, message.aad);
  try {
    const read = await flattenedDecrypt(message, key);
    console.log("  jose:", new TextDecoder().decode(read.additionalAuthenticatedData));
  } catch (error) {
    console.log("  jose:", error.message);
  }
}
const message = await new FlattenedEncrypt(text("{}"))
  .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
  .setAdditionalAuthenticatedData(text('{"reqLine":1}')).encrypt(key);
writeFileSync("jose", JSON.stringify(message));
JS
javac -cp 'lib/*' Finding.java
seen=$(java -cp 'lib/*:.' Finding && node run.mjs && java -cp 'lib/*:.' Finding clear jose)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
clear: {"reqLine":1}
  jose: Failed to base64url decode the aad
encoded: eyJyZXFMaW5lIjoxfQ
  jose: {"reqLine":1}
Nimbus reads clear: header.{"reqLine":1}
Nimbus reads jose: header.eyJyZXFMaW5lIjoxfQ
SEEN
