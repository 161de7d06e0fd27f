#!/usr/bin/env bash
# Package: github.com/CycloneDX/cyclonedx-go v0.12.0 (Go 1.26), seen on 2026-11-29.
# Guess: `EncodeVersion` changes a document only as far as the version asked for lacks something;
#   type `cryptographic-asset` exists since 1.6, so 1.6 and 1.7 keep it.
# Seen: every cryptographic asset becomes `application`, also when a 1.7 document is encoded as 1.7.
#   `Encode` keeps the type. A policy that counts assets by type finds none.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module finding

go 1.23

require github.com/CycloneDX/cyclonedx-go v0.12.0
MOD
cat >main.go <<'GO'
package main

import (
	"bytes"
	"fmt"
	"regexp"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	bom := cdx.NewBOM()
	bom.Components = &[]cdx.Component{{
		BOMRef: "a", Name: "ML-KEM-768", Type: cdx.ComponentTypeCryptographicAsset,
		CryptoProperties: &cdx.CryptoProperties{AssetType: cdx.CryptoAssetTypeAlgorithm},
	}}
	kind := regexp.MustCompile(`"type":"([a-z-]+)"`)
	show := func(name string, encode func(cdx.BOMEncoder) error) {
		out := new(bytes.Buffer)
		if err := encode(cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON)); err != nil {
			fmt.Println(name, err)
			return
		}
		fmt.Println(name, kind.FindStringSubmatch(out.String())[1])
	}
	show("Encode", func(e cdx.BOMEncoder) error { return e.Encode(bom) })
	show("EncodeVersion 1.7", func(e cdx.BOMEncoder) error { return e.EncodeVersion(bom, cdx.SpecVersion1_7) })
	show("EncodeVersion 1.6", func(e cdx.BOMEncoder) error { return e.EncodeVersion(bom, cdx.SpecVersion1_6) })
}
GO
seen=$(go run .)
echo "$seen"
[ "$seen" = "Encode cryptographic-asset
EncodeVersion 1.7 application
EncodeVersion 1.6 application" ] || { echo "changed" >&2; exit 1; }
