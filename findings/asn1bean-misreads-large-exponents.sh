#!/usr/bin/env bash
# Package: com.beanit:asn1bean 1.14.0 (Java 17), seen on 2026-11-30.
# Guess: a REAL that the library writes is read as the same number: with an exponent of one octet
#   and with one of two (X.690, 8.5.7.4). Not-a-number and minus zero have values of their own
#   (8.5.9). An arc of an object identifier has no upper bound (X.660).
# Seen: of an exponent of two octets the second is read with a sign, and the first is lost if it
#   is negative: 2 to the 200th is written right and read as 2 to the -56th, 1.0E60 as 8.6E-18.
#   What other encoders write is misread in the same way; 1.0E-24 is right. Not-a-number and minus
#   zero are refused. The arc 4294967295 is -1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >pom.xml <<'POM'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>finding</groupId>
  <artifactId>finding</artifactId>
  <version>0</version>
  <dependencies>
    <dependency>
      <groupId>com.beanit</groupId>
      <artifactId>asn1bean</artifactId>
      <version>1.14.0</version>
    </dependency>
  </dependencies>
</project>
POM
mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory=lib >maven.log 2>&1 ||
  { cat maven.log; exit 1; }
cat >Finding.java <<'JAVA'
import com.beanit.asn1bean.ber.ReverseByteArrayOutputStream;
import com.beanit.asn1bean.ber.types.BerObjectIdentifier;
import com.beanit.asn1bean.ber.types.BerReal;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.HexFormat;

class Finding {
    static String read(byte[] octets) {
        try {
            BerReal real = new BerReal();
            real.decode(new ByteArrayInputStream(octets));
            return Double.toString(real.value);
        } catch (IOException error) {
            return error.getMessage();
        }
    }

    public static void main(String[] arguments) throws Exception {
        HexFormat hex = HexFormat.of();
        for (double value : new double[] {-140.25, 0.1, 1.0E-24, 1.0E60, Math.pow(2, 200)}) {
            ReverseByteArrayOutputStream out = new ReverseByteArrayOutputStream(32, true);
            new BerReal(value).encode(out);
            byte[] octets = out.getArray();
            System.out.println(value + ": " + hex.formatHex(octets) + " is " + read(octets));
        }
        for (String[] each : new String[][] {
            {"2 to the 200th of another encoder", "09048100c801"},
            {"not a number", "090142"}, {"minus zero", "090143"},
        }) {
            System.out.println(each[0] + ": " + read(hex.parseHex(each[1])));
        }
        BerObjectIdentifier arcs = new BerObjectIdentifier();
        arcs.decode(new ByteArrayInputStream(hex.parseHex("06062a8fffffff7f")));
        System.out.println("1.2.4294967295: " + arcs);
    }
}
JAVA
javac -cp 'lib/*' Finding.java
seen=$(java -cp 'lib/*:.' Finding 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
-140.25: 0904c0fe0231 is -140.25
0.1: 090980c90ccccccccccccd is 0.1
1.0E-24: 090a81ff7c1357c299a88ea7 is 1.0E-24
1.0E60: 090a81009504fa793930bcd1 is 8.636168555094444E-18
1.6069380442589903E60: 09048100c801 is 1.3877787807814457E-17
2 to the 200th of another encoder: 1.3877787807814457E-17
not a number: invalid real encoding
minus zero: invalid real encoding
1.2.4294967295: 1.2.-1
SEEN
