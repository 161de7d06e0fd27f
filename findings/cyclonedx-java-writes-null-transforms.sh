#!/usr/bin/env bash
# Package: org.cyclonedx:cyclonedx-core-java 12.2.0 (Java 17), seen on 2026-11-30.
# Guess: a valid CBOM of CycloneDX 1.6 is valid after reading and writing, in JSON and in XML, and
#   IKEv2 transforms that it does not have stay absent: with AES-GCM there is no integrity transform
#   (RFC 7296, 3.3.2).
# Seen: absent transforms are written as null in JSON, and as empty elements in XML. The library's
#   own validator accepts the document it has read and refuses both that it wrote. Read back from
#   XML, each empty element is a reference to an asset whose bom-ref is "", so the link appears to
#   have an integrity transform. All other properties of cryptographic assets come back as they
#   were.
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
      <groupId>org.cyclonedx</groupId>
      <artifactId>cyclonedx-core-java</artifactId>
      <version>12.2.0</version>
    </dependency>
  </dependencies>
</project>
POM
mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory=lib >maven.log 2>&1 ||
  { cat maven.log; exit 1; }
cat >bom.json <<'JSON'
{"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": [
  {"type": "cryptographic-asset", "name": "IKE", "bom-ref": "ike", "cryptoProperties": {
    "assetType": "protocol", "protocolProperties": {"type": "ike", "version": "2",
      "ikev2TransformTypes": {"encr": ["aes-256-gcm"], "prf": ["hmac-sha-384"],
        "ke": ["x25519", "ml-kem-768"]}}}}]}
JSON
cat >Finding.java <<'JAVA'
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.cyclonedx.Version;
import org.cyclonedx.generators.BomGeneratorFactory;
import org.cyclonedx.model.Bom;
import org.cyclonedx.parsers.JsonParser;
import org.cyclonedx.parsers.XmlParser;

class Finding {
    static String count(List<String> references) {
        return references == null ? "absent" : references.size() + " reference";
    }

    static void show(String name, Bom bom) {
        var transforms = bom.getComponents().get(0).getCryptoProperties().getProtocolProperties()
            .getIkev2TransformTypes();
        System.out.println(name + ": prf " + count(transforms.getPrf())
            + ", integ " + count(transforms.getInteg()) + ", auth " + count(transforms.getAuth()));
    }

    public static void main(String[] arguments) throws Exception {
        var version = Version.VERSION_16;
        byte[] given = Files.readAllBytes(Path.of("bom.json"));
        var bom = new JsonParser().parse(given);
        String json = BomGeneratorFactory.createJson(version, bom).toJsonString();
        String xml = BomGeneratorFactory.createXml(version, bom).toXmlString();
        System.out.println("errors in what is read: "
            + new JsonParser().validate(given, version).size());
        System.out.println("errors in JSON: "
            + new JsonParser().validate(json.getBytes(), version).size());
        System.out.println("errors in XML: "
            + new XmlParser().validate(xml.getBytes(), version).size());
        show("read", bom);
        show("read back from XML", new XmlParser().parse(xml.getBytes()));
    }
}
JAVA
javac -cp 'lib/*' Finding.java
seen=$(java -cp 'lib/*:.' Finding 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
errors in what is read: 0
errors in JSON: 3
errors in XML: 6
read: prf 1 reference, integ absent, auth absent
read back from XML: prf 1 reference, integ 1 reference, auth 1 reference
SEEN
