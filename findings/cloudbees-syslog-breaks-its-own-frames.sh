#!/usr/bin/env bash
# Package: com.cloudbees:syslog-java-client 1.1.7 (Java 17), seen on 2026-11-30.
# Guess: in the format RFC_5425 messages follow each other as length, blank and message (RFC 5425,
#   4.3), so a receiver that counts octets finds the second where the first ends. In RFC 3164 the
#   first of a month is written with a blank, "Jul  1" (4.1.2).
# Seen: behind each counted message stand CR and LF that are not in its length, so the second
#   length begins with a line break and the receiver has lost the frames. In the formats without a
#   length the line break of a text is sent as it is, and its second line is a message of its own.
#   The first of July is "Jul 01".
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
      <groupId>com.cloudbees</groupId>
      <artifactId>syslog-java-client</artifactId>
      <version>1.1.7</version>
    </dependency>
  </dependencies>
</project>
POM
mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory=lib >maven.log 2>&1 ||
  { cat maven.log; exit 1; }
cat >Finding.java <<'JAVA'
import com.cloudbees.syslog.Facility;
import com.cloudbees.syslog.MessageFormat;
import com.cloudbees.syslog.Severity;
import com.cloudbees.syslog.SyslogMessage;
import com.cloudbees.syslog.sender.TcpSyslogMessageSender;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Instant;
import java.util.Date;
import java.util.TimeZone;

class Finding {
    static byte[] sent(MessageFormat format, String... texts) throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            TcpSyslogMessageSender sender = new TcpSyslogMessageSender();
            sender.setSyslogServerHostname("127.0.0.1");
            sender.setSyslogServerPort(server.getLocalPort());
            sender.setMessageFormat(format);
            sender.setDefaultAppName("smf");
            sender.setDefaultFacility(Facility.LOCAL0);
            sender.setDefaultSeverity(Severity.ERROR);
            sender.setDefaultMessageHostname("core");
            for (String text : texts) {
                sender.sendMessage(text);
            }
            try (Socket peer = server.accept()) {
                sender.close();
                return peer.getInputStream().readAllBytes();
            }
        }
    }

    static String shown(String octets) {
        return octets.replaceAll("20\\d\\d-[0-9T:.-]+Z", "TIME").replaceAll(
            "[A-Z][a-z]{2} \\d\\d \\d\\d:\\d\\d:\\d\\d", "TIME")
            .replace("\r", "\\r").replace("\n", "\\n");
    }

    public static void main(String[] arguments) throws Exception {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        String stream = new String(sent(MessageFormat.RFC_5425, "link down", "link up"), "UTF-8");
        int blank = stream.indexOf(' ');
        int end = blank + 1 + Integer.parseInt(stream.substring(0, blank));
        System.out.println("first frame: " + shown(stream.substring(blank + 1, end)));
        System.out.println(
            "behind it: " + shown(stream.substring(end)).replaceFirst("\\d+ ", "LENGTH "));
        System.out.println("RFC_5424: "
            + shown(new String(sent(MessageFormat.RFC_5424, "link down\ncause 5"), "UTF-8")));
        System.out.println("RFC_3164: " + new SyslogMessage().withAppName("smf")
            .withFacility(Facility.LOCAL0).withSeverity(Severity.ERROR).withHostname("core")
            .withTimestamp(Date.from(Instant.parse("2026-07-01T10:00:00Z"))).withMsg("link down")
            .toRfc3164SyslogMessage());
    }
}
JAVA
javac -cp 'lib/*' Finding.java
seen=$(java -cp 'lib/*:.' Finding 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
first frame: <131>1 TIME core smf - - - link down
behind it: \r\nLENGTH <131>1 TIME core smf - - - link up\r\n
RFC_5424: <131>1 TIME core smf - - - link down\ncause 5\r\n
RFC_3164: <131>Jul 01 10:00:00 core smf: link down
SEEN
