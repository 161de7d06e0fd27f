#!/usr/bin/env bash
# Package: org.bouncycastle:bcpkix-jdk18on 1.84 (Java 17), seen on 2026-11-30.
# Guess: JcePBMac1CalculatorBuilder, which protects CMP messages by PBMAC1, writes PBMAC1-params
#   with the key derivation id-PBKDF2 (RFC 8018, appendix A.5: nothing else is defined there).
# Seen: it writes id-PBES2, an encryption scheme, with the parameters of PBKDF2. The key is that of
#   PBKDF2 all the same: the JDK computes the same MAC. Another end that reads the identifier
#   refuses the message, whatever the secret is; Bouncy Castle reads its own.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >pom.xml <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>found</groupId><artifactId>found</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>org.bouncycastle</groupId><artifactId>bcpkix-jdk18on</artifactId><version>1.84</version>
  </dependency></dependencies>
</project>
XML
mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory=lib
cat >Found.java <<'JAVA'
import java.util.Arrays;
import javax.crypto.Mac;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;
import javax.crypto.spec.SecretKeySpec;
import org.bouncycastle.asn1.pkcs.PBKDF2Params;
import org.bouncycastle.asn1.pkcs.PBMAC1Params;
import org.bouncycastle.jce.provider.BouncyCastleProvider;
import org.bouncycastle.operator.MacCalculator;
import org.bouncycastle.pkcs.jcajce.JcePBMac1CalculatorBuilder;

public class Found {
    public static void main(String[] arguments) throws Exception {
        char[] secret = "secret".toCharArray();
        byte[] text = "message".getBytes();
        MacCalculator mac = new JcePBMac1CalculatorBuilder("HMACSHA256", 256)
            .setProvider(new BouncyCastleProvider()).setIterationCount(10000).build(secret);
        mac.getOutputStream().write(text);
        byte[] made = mac.getMac();
        var both = PBMAC1Params.getInstance(mac.getAlgorithmIdentifier().getParameters());
        System.out.println("key derivation " + both.getKeyDerivationFunc().getAlgorithm());
        var of = PBKDF2Params.getInstance(both.getKeyDerivationFunc().getParameters());
        var spec = new PBEKeySpec(secret, of.getSalt(), of.getIterationCount().intValue(), 256);
        byte[] key = SecretKeyFactory.getInstance("PBKDF2WithHmacSHA256")
            .generateSecret(spec).getEncoded();
        Mac jdk = Mac.getInstance("HmacSHA256");
        jdk.init(new SecretKeySpec(key, "HmacSHA256"));
        System.out.println("MAC by PBKDF2 of the JDK: " + Arrays.equals(jdk.doFinal(text), made));
    }
}
JAVA
found=$(java -cp 'lib/*' Found.java)
echo "$found"
test "$found" = "key derivation 1.2.840.113549.1.5.13
MAC by PBKDF2 of the JDK: true"
echo "as stated"
