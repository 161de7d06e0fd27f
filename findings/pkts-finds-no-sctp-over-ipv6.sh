#!/usr/bin/env bash
# Package: io.pkts:pkts-core 3.0.10 (Java 17), seen on 2026-11-30.
# Guess: what is found in a packet does not depend on the version of IP: an NGAP message is DATA of
#   SCTP over IPv4 and over IPv6, where the next header is 132 (RFC 8200, 3). The arrival time has
#   one unit. The length of a chunk is that of its header, without the padding (RFC 9260, 3.2).
# Seen: SCTP is found over IPv4 alone. Over IPv6, UDP is found and SCTP is not; there is no error.
#   The arrival time is in microseconds, and in nanoseconds where the file has these, so the same
#   packet is in 2026 or in the year 58884. A DATA chunk of 19 octets has the length 20.
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
      <groupId>io.pkts</groupId>
      <artifactId>pkts-core</artifactId>
      <version>3.0.10</version>
    </dependency>
  </dependencies>
</project>
POM
mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory=lib >maven.log 2>&1 ||
  { cat maven.log; exit 1; }
cat >make.py <<'PY'
from struct import pack

ETHERNET = bytes(12)
CHUNK = pack(">BBHIHHI", 0, 3, 19, 1, 1, 0, 60) + b"\xaa\xbb\xcc\0"
SCTP = pack(">HHII", 38412, 38412, 1, 0) + CHUNK
UDP = pack(">HHHH", 2152, 2152, 10, 0) + b"\xaa\xbb"


def packets():
    for protocol, body in [(132, SCTP), (17, UDP)]:
        yield (ETHERNET + pack(">HBBHIBBH", 0x800, 0x45, 0, 20 + len(body), 0, 64, protocol, 0)
               + bytes([192, 0, 2, 1, 192, 0, 2, 2]) + body)
        yield (ETHERNET + pack(">HIHBB", 0x86dd, 0x60000000, len(body), protocol, 64)
               + bytes.fromhex("20010db8" + "00" * 11 + "01" + "20010db8" + "00" * 11 + "02")
               + body)


for name, magic, fraction in [("micro", 0xa1b2c3d4, 500_000), ("nano", 0xa1b23c4d, 500_000_000)]:
    with open(name + ".pcap", "wb") as file:
        file.write(pack("<IHHiIII", magic, 2, 4, 0, 0, 65535, 1))
        for packet in packets():
            file.write(pack("<IIII", 1796036400, fraction, len(packet), len(packet)) + packet)
PY
python3 make.py
cat >Finding.java <<'JAVA'
import io.pkts.Pcap;
import io.pkts.packet.sctp.SctpPacket;
import io.pkts.protocol.Protocol;

class Finding {
    public static void main(String[] arguments) throws Exception {
        for (String file : new String[] {"micro.pcap", "nano.pcap"}) {
            System.out.println(file);
            Pcap.openStream(file).loop(packet -> {
                var line = new StringBuilder("  " + packet.getArrivalTime() + ":");
                for (var protocol : new Protocol[] {Protocol.IPv4, Protocol.IPv6, Protocol.UDP})
                    if (packet.hasProtocol(protocol))
                        line.append(" ").append(protocol);
                if (packet.hasProtocol(Protocol.SCTP))
                    for (var chunk : ((SctpPacket) packet.getPacket(Protocol.SCTP)).getChunks())
                        line.append(" sctp ").append(chunk.getType() + " " + chunk.getLength());
                System.out.println(line);
                return true;
            });
        }
    }
}
JAVA
javac -cp 'lib/*' Finding.java
seen=$(java -cp 'lib/*:.' Finding 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
micro.pcap
  1796036400500000: ip sctp DATA 20
  1796036400500000: ipv6
  1796036400500000: ip udp
  1796036400500000: ipv6 udp
nano.pcap
  1796036400500000000: ip sctp DATA 20
  1796036400500000000: ipv6
  1796036400500000000: ip udp
  1796036400500000000: ipv6 udp
SEEN
