#!/usr/bin/env bash
# Package: github.com/owenrumney/go-sarif/v3 3.3.1 (Go 1.26), seen on 2026-11-30.
# Guess: a valid SARIF log that is opened and written again says the same: properties that were
#   absent stay absent or get their defaults, which SARIF 2.1.0 gives as -1 for ruleIndex, rank,
#   parentIndex and charOffset, and as en-US for language.
# Seen: they become 0 and "". A result with ruleId R2 gets ruleIndex 0, the place of R1, so a
#   consumer that follows the index reports another rule and its level. Each result has rank 0
#   instead of none, each artifact is nested in the first one, itself included, and a region by
#   octets gets character 0 as well. `Validate` refuses the log for its language, and accepted it
#   before.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/owenrumney/go-sarif/v3 v3.3.1
MOD
cat >log.json <<'JSON'
{"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [{
  "tool": {"driver": {"name": "inspector", "rules": [
    {"id": "R1", "defaultConfiguration": {"level": "note"}},
    {"id": "R2", "defaultConfiguration": {"level": "error"}}]}},
  "artifacts": [{"location": {"uri": "n2.pcap"}}],
  "results": [{"ruleId": "R2", "message": {"text": "no ML-KEM"}, "locations": [{"physicalLocation":
    {"artifactLocation": {"uri": "n2.pcap"}, "region": {"byteOffset": 24, "byteLength": 16}}}]}]}]}
JSON
cat >main.go <<'GO'
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
)

func main() {
	report, err := sarif.Open("log.json")
	if err != nil {
		panic(err)
	}
	var written bytes.Buffer
	if err := report.Write(&written); err != nil {
		panic(err)
	}
	var log struct {
		Runs []struct {
			Language  string
			Artifacts []map[string]any
			Results   []map[string]any
		}
	}
	if err := json.Unmarshal(written.Bytes(), &log); err != nil {
		panic(err)
	}
	run := log.Runs[0]
	result := run.Results[0]
	fmt.Println("result:", result["ruleId"], "index", result["ruleIndex"], "rank", result["rank"])
	fmt.Println("artifact: parentIndex", run.Artifacts[0]["parentIndex"])
	place := result["locations"].([]any)[0].(map[string]any)["physicalLocation"].(map[string]any)
	region, _ := json.Marshal(place["region"])
	fmt.Println("region:", string(region))
	fmt.Printf("language: %q\n", run.Language)
	if err := report.Validate(); err != nil {
		fmt.Println("invalid for its language:", strings.Contains(err.Error(), "language"))
	}
}
GO
seen=$(go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
result: R2 index 0 rank 0
artifact: parentIndex 0
region: {"byteLength":16,"byteOffset":24,"charOffset":0}
language: ""
invalid for its language: true
SEEN
