#!/usr/bin/env bash
# Package: org.graylog2:syslog4j 0.9.61 (Java 17), seen on 2026-11-30.
# Guess: "-" instead of structured data ends the header as structured data does (RFC 5424, 6.3 and
#   example 1 of 6.5): the message identifier and the text are the same in both. In a value, `\\` is
#   one backslash (6.3.3).
# Seen: without structured data there is no message identifier, and the text is the identifier, the
#   "-" and the text. With structured data both are right. The backslash that `\\` stands for is
#   lost, so a path or an octal escape of a log becomes another; `\"` and `\]` are right.
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
      <groupId>org.graylog2</groupId>
      <artifactId>syslog4j</artifactId>
      <version>0.9.61</version>
    </dependency>
  </dependencies>
</project>
POM
mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory=lib >maven.log 2>&1 ||
  { cat maven.log; exit 1; }
cat >Finding.java <<'JAVA'
import java.net.InetAddress;
import org.graylog2.syslog4j.server.impl.event.structured.StructuredSyslogServerEvent;

class Finding {
    public static void main(String[] arguments) throws Exception {
        for (String rest : new String[] {
            "-",
            "[alarm@32473 severity=\"major\"]",
            "[alarm@32473 file=\"C:\\\\log\" text=\"\\\"a\\\" [1\\]\"]",
        }) {
            String line = "<165>1 2026-11-30T10:00:00Z gnb1 app 12 ALARM " + rest + " link down";
            byte[] octets = line.getBytes("UTF-8");
            var message = new StructuredSyslogServerEvent(
                octets, octets.length, InetAddress.getLoopbackAddress()).getStructuredMessage();
            System.out.println(rest);
            System.out.println("  identifier " + message.getMessageId() + ", text "
                + message.getMessage() + ", data " + message.getStructuredData());
        }
    }
}
JAVA
javac -cp 'lib/*' Finding.java
seen=$(java -cp 'lib/*:.' Finding 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
-
  identifier null, text ALARM - link down, data null
[alarm@32473 severity="major"]
  identifier ALARM, text link down, data {alarm@32473={severity=major}}
[alarm@32473 file="C:\\log" text="\"a\" [1\]"]
  identifier ALARM, text link down, data {alarm@32473={file=C:log, text="a" [1]}}
SEEN
