#!/usr/bin/env bash
# Package: org.bouncycastle:bcprov-jdk18on 1.87 (Java 17), seen on 2026-11-30.
# Guess: a name that X500Name prints is the same name when it is read: a value that is no text, as the
#   BIT STRING of x500UniqueIdentifier (X.520, 6.2.7), is written as a number sign and hexadecimal
#   digits (RFC 4514, 2.4).
# Seen: of a BIT STRING the number sign is escaped as if it were text: UniqueIdentifier=\#03020780,
#   which is read as a UTF8String of nine characters. A name that is kept as
#   text is another one afterwards. The JDK writes the same value without the escape and reads it
#   back; an INTEGER, an OCTET STRING and a SEQUENCE are right in both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >pom.xml <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>found</groupId><artifactId>found</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>org.bouncycastle</groupId><artifactId>bcprov-jdk18on</artifactId><version>1.87</version>
  </dependency></dependencies>
</project>
XML
mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory=lib >/dev/null
cat >Found.java <<'JAVA'
import java.util.Arrays;
import java.util.HexFormat;
import javax.security.auth.x500.X500Principal;
import org.bouncycastle.asn1.x500.X500Name;

public class Found {
    public static void main(String[] arguments) throws Exception {
        String[] values = {"03020780", "020105", "0403616263", "30030c0161"};
        for (String value : values) {
            String type = value.startsWith("0302") ? "2.5.4.45" : "1.2.3.4";
            byte[] octets = new X500Principal(type + "=#" + value).getEncoded();
            String name = X500Name.getInstance(octets).toString();
            byte[] again = new X500Name(name).getEncoded();
            String principal = new X500Principal(octets).getName();
            System.out.printf("%s: BC %s, %s; JDK %s, %s%n", value, name,
                Arrays.equals(octets, again) ? "the same" : "read as " + value(again), principal,
                Arrays.equals(octets, new X500Principal(principal).getEncoded()) ? "the same" : "other");
        }
    }

    static String value(byte[] name) {
        String text = HexFormat.of().formatHex(name);
        return text.substring(text.length() - 22);
    }
}
JAVA
seen=$(java -cp 'lib/*' Found.java)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
03020780: BC UniqueIdentifier=\#03020780, read as 0c09233033303230373830; JDK 2.5.4.45=#03020780, the same
020105: BC 1.2.3.4=#020105, the same; JDK 1.2.3.4=#020105, the same
0403616263: BC 1.2.3.4=#0403616263, the same; JDK 1.2.3.4=#0403616263, the same
30030c0161: BC 1.2.3.4=#30030c0161, the same; JDK 1.2.3.4=#30030c0161, the same
SEEN
