#!/usr/bin/env bash
# Packages: go-jose 4.1.9, lestrrat-go/jwx 3.4.0, MicahParks/jwkset 0.11.4 (Go 1.26), node-jose 2.2.0
#   (Node 20), with jose 6.2.17 (npm) as the reader that does it; seen on 2026-11-30.
# Guess: a key of a type that a reader does not know is passed over and the others of the set are
#   used: "implementations SHOULD ignore JWKs within a JWK Set that use kty values that are not
#   understood by them" (RFC 7517, 5). So an ML-DSA key (kty AKP) next to the old one harms no reader.
# Seen: the whole set is refused, whichever key a token names: not one token of the NRF is accepted any
#   more once its key set has the new key. jose finds the old key. go-jose has filled in the keys it
#   knows, beside its error.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
npm install --silent --no-audit --no-fund --ignore-scripts node-jose@2.2.0 jose@6.2.17 \
  >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.mjs <<'JS'
import { writeFileSync } from "node:fs";
import nodeJose from "node-jose";
import { createLocalJWKSet, exportJWK, generateKeyPair } from "jose";

const { publicKey } = await generateKeyPair("ES256", { extractable: true });
const old = { ...(await exportJWK(publicKey)), kid: "old", alg: "ES256" };
const added = { kty: "AKP", alg: "ML-DSA-44", kid: "new", pub: "A".repeat(1750) };
writeFileSync("one.json", JSON.stringify({ keys: [old] }));
writeFileSync("two.json", JSON.stringify({ keys: [old, added] }));
for (const [title, keys] of [["one key", [old]], ["two keys", [old, added]]]) {
  const found = await createLocalJWKSet({ keys })({ alg: "ES256", kid: "old" });
  console.log(`${title}, jose: ${found.type} key is found`);
  await nodeJose.JWK.asKeyStore({ keys }).then(
    (store) => console.log(`${title}, node-jose: ${store.get("old").kid} key is found`),
    (error) => console.log(`${title}, node-jose: ${error.message}`));
}
JS
cat >go.mod <<'MOD'
module finding

go 1.26

require (
	github.com/MicahParks/jwkset v0.11.4
	github.com/go-jose/go-jose/v4 v4.1.9
	github.com/lestrrat-go/jwx/v3 v3.4.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/MicahParks/jwkset"
	"github.com/go-jose/go-jose/v4"
	"github.com/lestrrat-go/jwx/v3/jwk"
)

func main() {
	for _, name := range []string{"one", "two"} {
		octets, err := os.ReadFile(name + ".json")
		if err != nil {
			panic(err)
		}
		var keys jose.JSONWebKeySet
		err = json.Unmarshal(octets, &keys)
		fmt.Println(name+", go-jose:", len(keys.Keys), err)
		_, err = jwk.Parse(octets)
		fmt.Println(name+", jwx:", err)
		var set jwkset.JWKSMarshal
		if err := json.Unmarshal(octets, &set); err != nil {
			panic(err)
		}
		list, err := set.JWKSlice()
		fmt.Println(name+", jwkset:", len(list), err)
	}
}
GO
seen=$(node run.mjs 2>errors && go run . 2>>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
one key, jose: public key is found
one key, node-jose: old key is found
two keys, jose: public key is found
two keys, node-jose: unsupported key type
one, go-jose: 1 <nil>
one, jwx: <nil>
one, jwkset: 1 <nil>
two, go-jose: 2 go-jose/go-jose: unsupported key type, format, curve, or RSA modulus size
two, jwx: jwk.Parse: failed to unmarshal JWK set: failed to decode key #1 in "keys": jwk.ParseKey: invalid key type from JSON (AKP)
two, jwkset: 0 failed to unmarshal JWK: unsupported key: AKP (kty)
SEEN
