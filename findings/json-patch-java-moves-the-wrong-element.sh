#!/usr/bin/env bash
# Package: com.github.java-json-tools:json-patch 1.13 (Java 17), seen on 2026-11-30.
# Guess: a patch that JsonDiff makes of two documents, as a 5G function sends it to the UDR or NRF
#   (RFC 6902), turns the first into the second when the same library applies it.
# Seen: of two slices that were rejected, the first becomes allowed and the second is dropped. The
#   patch removes element 0 and then moves element 0, which is the second one by then: the slice
#   that should go is allowed, and there is no error. Of 729 changes of two lists that share none of
#   three values, 14 end in another document.
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
      <groupId>com.github.java-json-tools</groupId>
      <artifactId>json-patch</artifactId>
      <version>1.13</version>
    </dependency>
  </dependencies>
</project>
POM
mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory=lib >maven.log 2>&1 ||
  { cat maven.log; exit 1; }
cat >Finding.java <<'JAVA'
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.github.fge.jsonpatch.JsonPatch;
import com.github.fge.jsonpatch.diff.JsonDiff;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

class Finding {
    static final ObjectMapper MAPPER = new ObjectMapper();

    static JsonNode document(List<?> allowed, List<?> rejected) {
        return MAPPER.valueToTree(new TreeMap<>(Map.of("allowed", allowed, "rejected", rejected)));
    }

    public static void main(String[] arguments) throws Exception {
        var first = Map.of("sst", 1);
        var from = document(List.of(), List.of(first, Map.of("sst", 2)));
        var to = document(List.of(first), List.of());
        var patch = JsonDiff.asJson(from, to);
        System.out.println("from   " + from);
        System.out.println("to     " + to);
        System.out.println("patch  " + patch);
        System.out.println("result " + JsonPatch.fromJson(patch).apply(from));
        List<List<Integer>> lists = new ArrayList<>();
        for (int bits = 0; bits < 8; bits++) {
            List<Integer> list = new ArrayList<>();
            for (int value = 0; value < 3; value++)
                if ((bits >> value & 1) == 1)
                    list.add(value);
            lists.add(list);
        }
        int all = 0;
        int wrong = 0;
        List<JsonNode> documents = new ArrayList<>();
        for (var allowed : lists)
            for (var rejected : lists)
                if (Collections.disjoint(allowed, rejected))
                    documents.add(document(allowed, rejected));
        for (var start : documents)
            for (var end : documents) {
                all++;
                if (!JsonPatch.fromJson(JsonDiff.asJson(start, end)).apply(start).equals(end))
                    wrong++;
            }
        System.out.println(wrong + " of " + all + " changes of two lists are wrong");
    }
}
JAVA
javac -cp 'lib/*' Finding.java
seen=$(java -cp 'lib/*:.' Finding 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
from   {"allowed":[],"rejected":[{"sst":1},{"sst":2}]}
to     {"allowed":[{"sst":1}],"rejected":[]}
patch  [{"op":"remove","path":"/rejected/0"},{"op":"move","path":"/allowed/-","from":"/rejected/0"}]
result {"allowed":[{"sst":2}],"rejected":[]}
14 of 729 changes of two lists are wrong
SEEN
