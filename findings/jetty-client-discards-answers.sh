#!/usr/bin/env bash
# Package: org.eclipse.jetty.http2:jetty-http2-client-transport 12.1.0 (Java 17), seen on
#   2026-11-30.
#   OkHttp 5.3.2 and the HTTP/2 client of Node 20 are asked the same.
# Guess: a response that is complete, with END_STREAM, is a response, also where the server sends
#   RST_STREAM with NO_ERROR behind it, as RFC 9113, section 8.1 lets it: "Clients MUST NOT discard
#   responses as a result of receiving such a RST_STREAM". Node's server sends one for each stream
#   that an application closes, Go's where a handler did not read the request to its end.
# Seen: Jetty's client ends with EOFException "Stream has been reset", and the response is lost.
#   OkHttp and Node have it.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
cat >pom.xml <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>found</groupId><artifactId>found</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.eclipse.jetty.http2</groupId>
      <artifactId>jetty-http2-client-transport</artifactId><version>12.1.0</version>
    </dependency>
    <dependency>
      <groupId>com.squareup.okhttp3</groupId><artifactId>okhttp-jvm</artifactId>
      <version>5.3.2</version>
    </dependency>
  </dependencies>
</project>
XML
mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory=lib
cat >serve.py <<'PY'
import socket, struct, threading


def frame(kind, flags, stream, payload):
    length = struct.pack(">I", len(payload))[1:]
    return length + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def serve(stream):
    read = stream.makefile("rb")
    read.read(24)
    stream.sendall(frame(4, 0, 0, b""))  # SETTINGS
    while head := read.read(9):
        read.read(int.from_bytes(head[:3], "big"))
        if head[3] == 4 and not head[4] & 1:
            stream.sendall(frame(4, 1, 0, b""))  # its acknowledgement
        if head[3] == 1:
            asked = int.from_bytes(head[5:], "big")
            answer = frame(1, 4, asked, b"\x88")  # HEADERS, :status 200
            answer += frame(0, 1, asked, b"complete")  # DATA, END_STREAM
            stream.sendall(answer + frame(3, 0, asked, bytes(4)))  # RST_STREAM, NO_ERROR


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
PY
cat >Found.java <<'JAVA'
import java.util.List;
import java.util.concurrent.ExecutionException;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Request;
import org.eclipse.jetty.client.HttpClient;
import org.eclipse.jetty.http2.client.HTTP2Client;
import org.eclipse.jetty.http2.client.transport.HttpClientTransportOverHTTP2;

public class Found {
    public static void main(String[] arguments) throws Exception {
        String url = "http://127.0.0.1:" + arguments[0] + "/";
        var jetty = new HttpClient(new HttpClientTransportOverHTTP2(new HTTP2Client()));
        jetty.start();
        try {
            System.out.println("Jetty: " + jetty.GET(url).getContentAsString());
        } catch (ExecutionException failed) {
            System.out.println("Jetty: " + failed.getCause());
        }
        var okhttp = new OkHttpClient.Builder()
            .protocols(List.of(Protocol.H2_PRIOR_KNOWLEDGE)).build();
        try (var answer = okhttp.newCall(new Request.Builder().url(url).build()).execute()) {
            System.out.println("OkHttp: " + answer.body().string());
        }
        System.exit(0);
    }
}
JAVA
cat >found.mjs <<'JS'
import http2 from 'node:http2'

const session = http2.connect(`http://127.0.0.1:${process.argv[2]}`)
const request = session.request({ ':path': '/' })
let body = ''
request.on('data', (piece) => { body += piece })
request.on('error', (error) => console.log(`Node: ${error.message}`))
request.on('close', () => { console.log(`Node: ${body}`); session.destroy() })
JS
python3 serve.py >port &
server=$!
until [ -s port ]; do sleep 0.1; done
seen=$(java -cp 'lib/*' Found.java "$(cat port)" 2>/dev/null; node found.mjs "$(cat port)")
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
Jetty: java.io.EOFException: Stream has been reset
OkHttp: complete
Node: complete
SEEN
