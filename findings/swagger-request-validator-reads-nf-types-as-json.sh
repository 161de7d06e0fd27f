#!/usr/bin/env bash
# Package: com.atlassian.oai:swagger-request-validator-core 2.44.1 (Java 17), seen on 2026-11-30.
# Guess: the NF type of a discovery (TS 29.510, target-nf-type) is a query parameter of text. 3GPP
#   writes its extensible enumerations as anyOf of an enumeration and a plain text (TS 29.501): each
#   value of either is valid, as it is in a body.
# Seen: a parameter with anyOf is read as JSON: AMF is an "unrecognized token" and each discovery is
#   refused. With quotes around it, which no NF sends, it is accepted. The same schema takes AMF in
#   a body.
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
      <groupId>com.atlassian.oai</groupId>
      <artifactId>swagger-request-validator-core</artifactId>
      <version>2.44.1</version>
    </dependency>
  </dependencies>
</project>
POM
mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory=lib >maven.log 2>&1 ||
  { cat maven.log; exit 1; }
cat >nrf.json <<'JSON'
{"openapi": "3.0.0", "info": {"title": "NRF", "version": "1"}, "paths": {
  "/nf-instances": {
    "get": {"parameters": [
      {"name": "target-nf-type", "in": "query", "required": true,
       "schema": {"$ref": "#/components/schemas/NFType"}}],
      "responses": {"200": {"description": "found"}}},
    "post": {"requestBody": {"content": {"application/json": {"schema":
      {"type": "object", "properties": {"nfType": {"$ref": "#/components/schemas/NFType"}}}}}},
      "responses": {"200": {"description": "done"}}}}},
 "components": {"schemas": {
  "NFType": {"anyOf": [{"type": "string", "enum": ["NRF", "AMF", "SMF"]}, {"type": "string"}]}}}}
JSON
cat >Finding.java <<'JAVA'
import com.atlassian.oai.validator.OpenApiInteractionValidator;
import com.atlassian.oai.validator.model.Request;
import com.atlassian.oai.validator.model.SimpleRequest;
import java.nio.file.Files;
import java.nio.file.Path;

class Finding {
    static OpenApiInteractionValidator validator;

    static void show(String name, Request request) {
        var messages = validator.validateRequest(request).getMessages();
        System.out.println(name + ": " + (messages.isEmpty() ? "valid"
            : messages.get(0).getMessage().lines().findFirst().get()));
    }

    public static void main(String[] arguments) throws Exception {
        validator = OpenApiInteractionValidator.createForInlineApiSpecification(
            Files.readString(Path.of("nrf.json"))).build();
        for (String type : new String[] {"AMF", "NEW_NF", "\"AMF\""})
            show("query " + type, SimpleRequest.Builder.get("/nf-instances")
                .withQueryParam("target-nf-type", type).build());
        for (String type : new String[] {"AMF", "NEW_NF"})
            show("body " + type, SimpleRequest.Builder.post("/nf-instances")
                .withContentType("application/json")
                .withBody("{\"nfType\": \"" + type + "\"}").build());
    }
}
JAVA
javac -cp 'lib/*' Finding.java
seen=$(java -cp 'lib/*:.' Finding 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
query AMF: Unable to parse JSON - Unrecognized token 'AMF': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')
query NEW_NF: Unable to parse JSON - Unrecognized token 'NEW_NF': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')
query "AMF": valid
body AMF: valid
body NEW_NF: valid
SEEN
