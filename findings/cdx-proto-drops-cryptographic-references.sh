#!/usr/bin/env bash
# Package: @appthreat/cdx-proto 2.0.1 (Node 20), seen on 2026-11-30.
# Guess: a valid CycloneDX document goes through `parseBomJson`, `encodeBomBinary`,
#   `decodeBomBinary` and `encodeBomJson` and comes back the same: both forms are of one
#   specification, and the library translates names and enumerations between them.
# Seen: a protocol's cryptoRefArray and the platform armv8-a of 1.6 are refused as unknown. With
#   ignoreUnknownFields both are left out, so a protocol has no algorithms any more. The size of a
#   key comes back as the string "256", which the schema does not allow. Of 1.7, IKEv2 transforms
#   and related assets are refused with ignoreUnknownFields as well, so a CBOM of an IPsec link has
#   no binary form; the state of a certificate is left out.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  @appthreat/cdx-proto@2.0.1 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.mjs <<'JS'
import {
  decodeBomBinary, encodeBomBinary, encodeBomJson, parseBomJson,
} from "@appthreat/cdx-proto";

function thereAndBack(specVersion, cryptoProperties) {
  const component = { type: "cryptographic-asset", name: "asset", cryptoProperties };
  const document = { bomFormat: "CycloneDX", specVersion, version: 1, components: [component] };
  for (const ignoreUnknownFields of [false, true]) {
    let result;
    try {
      const binary = encodeBomBinary(parseBomJson(document, { ignoreUnknownFields }));
      const back = encodeBomJson(decodeBomBinary(specVersion, binary)).components[0];
      const { assetType, ...rest } = back.cryptoProperties;
      result = JSON.stringify(Object.values(rest)[0]);
    } catch (error) {
      result = "refused";
    }
    console.log(`  ${ignoreUnknownFields ? "ignore unknown" : "strict"}: ${result}`);
  }
}

const protocol = (properties) => ({
  assetType: "protocol", protocolProperties: { type: "ipsec", ...properties },
});
const algorithm = (properties) => ({ assetType: "algorithm", algorithmProperties: properties });
for (const [name, version, asset] of [
  ["cryptoRefArray", "1.6", protocol({ cryptoRefArray: ["ml-kem-768"] })],
  ["transforms", "1.6", protocol({ ikev2TransformTypes: { ke: ["ml-kem-768"] } })],
  ["armv8-a", "1.6", algorithm({ primitive: "kem", implementationPlatform: "armv8-a" })],
  ["size", "1.6", { assetType: "related-crypto-material",
    relatedCryptoMaterialProperties: { type: "secret-key", size: 256 } }],
  ["transforms", "1.7", protocol({ ikev2TransformTypes: { ke: [{ group: 36, algorithm: "a" }] } })],
  ["related assets", "1.7",
    protocol({ relatedCryptographicAssets: [{ type: "algorithm", ref: "a" }] })],
  ["certificate state", "1.7", { assetType: "certificate",
    certificateProperties: { certificateState: [{ state: "active" }] } }],
]) {
  console.log(name, version);
  thereAndBack(version, asset);
}
JS
seen=$(node run.mjs)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
cryptoRefArray 1.6
  strict: refused
  ignore unknown: {"type":"ipsec"}
transforms 1.6
  strict: {"type":"ipsec","ikev2TransformTypes":{"ke":["ml-kem-768"]}}
  ignore unknown: {"type":"ipsec","ikev2TransformTypes":{"ke":["ml-kem-768"]}}
armv8-a 1.6
  strict: refused
  ignore unknown: {"primitive":"kem"}
size 1.6
  strict: {"type":"secret-key","size":"256"}
  ignore unknown: {"type":"secret-key","size":"256"}
transforms 1.7
  strict: refused
  ignore unknown: refused
related assets 1.7
  strict: refused
  ignore unknown: refused
certificate state 1.7
  strict: refused
  ignore unknown: {"certificateState":[{}]}
SEEN
