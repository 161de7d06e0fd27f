#!/usr/bin/env bash
# Package: radius 1.1.4 (Node 20), seen on 2026-11-30.
# Guess: attributes of a tunnel have a tag that groups them (RFC 2868, 3). An attribute that occurs
#   twice becomes a list of two; with tags, a list of two pairs of tag and value.
# Seen: the second pair is put into the first: tag and value of the first and the second pair are
#   three members of one list. A third is the fourth member. Two attributes with one tag each cannot
#   be told from one that is odd, and code that takes a pair sees the first tunnel alone.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts radius@1.1.4 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const radius = require("radius");

const secret = "lab secret";
for (const tags of [[1], [1, 2], [1, 2, 3]]) {
  const attributes = [["Class", Buffer.from("a")], ["Class", Buffer.from("b")]];
  for (const tag of tags) {
    attributes.push(["Tunnel-Type", tag, "VLAN"]);
    attributes.push(["Tunnel-Private-Group-Id", tag, String(100 + tag)]);
  }
  const packet = radius.encode({ code: "Access-Request", secret, attributes });
  const read = radius.decode({ packet, secret }).attributes;
  console.log(tags.length, "of each:");
  console.log("  Class:", read.Class.map(String));
  console.log("  Tunnel-Type:", JSON.stringify(read["Tunnel-Type"]));
  console.log("  Tunnel-Private-Group-Id:", JSON.stringify(read["Tunnel-Private-Group-Id"]));
}
JS
seen=$(node run.js 2>/dev/null)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
1 of each:
  Class: [ 'a', 'b' ]
  Tunnel-Type: [1,"VLAN"]
  Tunnel-Private-Group-Id: [1,"101"]
2 of each:
  Class: [ 'a', 'b' ]
  Tunnel-Type: [1,"VLAN",[2,"VLAN"]]
  Tunnel-Private-Group-Id: [1,"101",[2,"102"]]
3 of each:
  Class: [ 'a', 'b' ]
  Tunnel-Type: [1,"VLAN",[2,"VLAN"],[3,"VLAN"]]
  Tunnel-Private-Group-Id: [1,"101",[2,"102"],[3,"103"]]
SEEN
