#!/usr/bin/env bash
# Package: net-snmp 3.29.2 (npm, Node 20), seen on 2026-11-30.
# Guess: an agent that loads a module of SMIv2 and is asked to add the defaults of scalars serves
#   each with its syntax: BITS are octets whose first bit is bit 0 (RFC 2578 7.1.4 and RFC 3417 8),
#   '001B21FFFE000001'H is eight octets and '21'H is 33 (RFC 2578 7.9).
# Seen: decimal numbers and labels of enumerations are added; a default in hexadecimal or binary or
#   of BITS is given to JSON.parse, and the SyntaxError leaves registerProvider. BITS are INTEGERs:
#   the octets that RFC 2578 asks for are refused, and a number is served with the wrong tag.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts net-snmp@3.29.2 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >GM-MIB.mib <<'MIB'
GM-MIB DEFINITIONS ::= BEGIN
IMPORTS
    MODULE-IDENTITY, OBJECT-TYPE, Integer32, Unsigned32, enterprises FROM SNMPv2-SMI;
gm MODULE-IDENTITY
    LAST-UPDATED "202611300000Z" ORGANIZATION "Example" CONTACT-INFO "Example"
    DESCRIPTION "A grandmaster." ::= { enterprises 32473 1 }
gmDomain OBJECT-TYPE SYNTAX Unsigned32 (0..127) MAX-ACCESS read-write STATUS current
    DESCRIPTION "Domain." DEFVAL { 24 } ::= { gm 1 }
gmIdentity OBJECT-TYPE SYNTAX OCTET STRING (SIZE (8)) MAX-ACCESS read-write STATUS current
    DESCRIPTION "Clock identity." DEFVAL { '001B21FFFE000001'H } ::= { gm 2 }
gmMask OBJECT-TYPE SYNTAX OCTET STRING (SIZE (2)) MAX-ACCESS read-write STATUS current
    DESCRIPTION "Ports." DEFVAL { '0000000011110000'B } ::= { gm 3 }
gmState OBJECT-TYPE SYNTAX INTEGER { locked(1), holdover(7) } MAX-ACCESS read-write STATUS current
    DESCRIPTION "State." DEFVAL { holdover } ::= { gm 4 }
gmFlags OBJECT-TYPE SYNTAX BITS { leap61(0), utcValid(2), frequencyTraceable(9) }
    MAX-ACCESS read-write STATUS current
    DESCRIPTION "Flags." DEFVAL { { utcValid, frequencyTraceable } } ::= { gm 5 }
gmAccuracy OBJECT-TYPE SYNTAX Unsigned32 MAX-ACCESS read-write STATUS current
    DESCRIPTION "Accuracy." DEFVAL { '21'H } ::= { gm 6 }
END
MIB
cat >run.js <<'JS'
const snmp = require("net-snmp");

const store = snmp.createModuleStore();
store.loadFromFile("GM-MIB.mib");
const providers = store.getProvidersForModule("GM-MIB");
const agent = snmp.createAgent({
  port: 0, address: "127.0.0.1", disableAuthorization: true,
  mibOptions: { addScalarDefaultsOnRegistration: true },
}, () => {});
for (const provider of providers) {
  try {
    agent.registerProvider(provider);
  } catch (error) {
    console.log(provider.name, "default", provider.defVal, error.name);
  }
}
const flags = [["octets", Buffer.from("2040", "hex")], ["number", 0x2040]];
for (const [name, value] of flags) {
  try {
    agent.getMib().setScalarValue("gmFlags", value);
    console.log("gmFlags set as", name);
  } catch (error) {
    console.log("gmFlags refused as", name);
  }
}
const [socket] = Object.values(agent.listener.sockets);
socket.once("listening", async function () {
  const session = snmp.createSession("127.0.0.1", "public", {
    port: this.address().port, version: snmp.Version2c,
  });
  for (const { name, oid } of providers) {
    await new Promise((done) => session.get([`${oid}.0`], (_, [varbind]) => {
      console.log(name, snmp.ObjectType[varbind.type], varbind.value);
      done();
    }));
  }
  session.close();
  agent.close();
});
JS
seen=$(timeout 60 node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
gmIdentity default '001B21FFFE000001'H SyntaxError
gmMask default '0000000011110000'B SyntaxError
gmFlags default { utcValid,frequencyTraceable } SyntaxError
gmAccuracy default '21'H SyntaxError
gmFlags refused as octets
gmFlags set as number
gmDomain Gauge 24
gmIdentity NoSuchInstance null
gmMask NoSuchInstance null
gmState Integer 7
gmFlags Integer 8256
gmAccuracy NoSuchInstance null
SEEN
