#!/usr/bin/env bash
# Package: org.pcap4j:pcap4j-core 1.8.2 with pcap4j-packetfactory-static (Java 17), seen on
#   2026-11-30.
# Guess: GtpV1Packet, whose header has the field for the next extension header, reads extension
#   headers up to type 0 (TS 29.281, 5.2.1), as each packet on N3 has one with its QFI. The payload
#   of a G-PDU is the user's packet, and `get(IpV4Packet.class)` finds it.
# Seen: what the field announces is not read. The type 0x85 of a PDU Session Container is unknown,
#   and its octets are the first of the payload, so a user's packet begins with 01 00 09 00. Without
#   an extension header the payload is the user's packet, but it is no IpV4Packet either: octets.
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
      <groupId>org.pcap4j</groupId>
      <artifactId>pcap4j-core</artifactId>
      <version>1.8.2</version>
    </dependency>
    <dependency>
      <groupId>org.pcap4j</groupId>
      <artifactId>pcap4j-packetfactory-static</artifactId>
      <version>1.8.2</version>
    </dependency>
  </dependencies>
</project>
POM
mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory=lib >maven.log 2>&1 ||
  { cat maven.log; exit 1; }
cat >Finding.java <<'JAVA'
import java.util.HexFormat;
import org.pcap4j.packet.GtpV1Packet;
import org.pcap4j.packet.IpV4Packet;
import org.pcap4j.packet.UdpPacket;

class Finding {
    public static void main(String[] arguments) throws Exception {
        String user = "4500001c00000000401166cf0a0000010a0000020001000200080000";
        for (String[] each : new String[][] {
            {"without", "30ff001c00000001"},
            {"with a sequence number", "32ff00200000000100050000"},
            {"with a PDU session container", "34ff00240000000100000085" + "01000900"},
        }) {
            byte[] tunnel = HexFormat.of().parseHex(each[1] + user);
            byte[] octets = HexFormat.of().parseHex(
                "08680868" + HexFormat.of().toHexDigits((short) (8 + tunnel.length)) + "0000"
                + each[1] + user);
            UdpPacket udp = UdpPacket.newPacket(octets, 0, octets.length);
            GtpV1Packet gtp = udp.get(GtpV1Packet.class);
            System.out.println(each[0] + ": next "
                + gtp.getHeader().getNextExtensionHeaderType() + ", payload "
                + HexFormat.of().formatHex(gtp.getPayload().getRawData()).substring(0, 16)
                + "..., IPv4 packet " + gtp.get(IpV4Packet.class));
        }
    }
}
JAVA
javac -cp 'lib/*' Finding.java
seen=$(java -cp 'lib/*:.' Finding 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
without: next null, payload 4500001c00000000..., IPv4 packet null
with a sequence number: next 0x00 (No more extension headers), payload 4500001c00000000..., IPv4 packet null
with a PDU session container: next 0x85 (unknown), payload 010009004500001c..., IPv4 packet null
SEEN
