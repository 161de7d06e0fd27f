"use strict";
// What the admin port says, asked for every two seconds. Texts of peers' certificates are shown as text, never as markup.

const PAUSE = 2000;
const PATIENCE = 8000;
const DAY = 86400000;

const at = (id) => document.getElementById(id);

function element(name, text, kind) {
  const made = document.createElement(name);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function bytes(count) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (count >= 1000 && unit + 1 < units.length) {
    count /= 1000;
    unit += 1;
  }
  return `${unit ? count.toFixed(count < 10 ? 1 : 0) : count} ${units[unit]}`;
}

/** Connections that differ in nothing the table shows are one row. */
function rows(connections) {
  const found = new Map();
  for (const one of connections) {
    const admitted = typeof one.verdict === "string" ? one.verdict : Object.entries(one.verdict)[0].join(": ");
    const parts = [one.peer, one.interface, one.direction, one.group, one.resumed ? "resumed" : (one.peer_signature ?? "none"), admitted];
    const key = JSON.stringify(parts);
    const row = found.get(key) ?? { parts, connections: 0, requests: 0, received: 0, sent: 0 };
    row.connections += 1;
    row.requests += one.requests;
    row.received += one.bytes_received;
    row.sent += one.bytes_sent;
    found.set(key, row);
  }
  return [...found.values()];
}

/** Peers without a connection are named where all connections are known. */
function peers(connections, configured, all_known) {
  const all = rows(connections);
  for (const { node, interface: of } of configured) {
    if (all_known && !all.some((row) => row.parts[0] === node && row.parts[1] === of)) {
      all.push({ parts: [node, of, "–", "–", "–", "no connection now"], connections: 0, requests: 0, received: 0, sent: 0 });
    }
  }
  all.sort((one, other) => one.parts.join("\n").localeCompare(other.parts.join("\n")));
  const lines = all.map((row) => {
    const [peer, of, direction, group, signature, admitted] = row.parts;
    const line = document.createElement("tr");
    line.append(element("td", peer), element("td", of), element("td", direction), element("td", String(row.connections), "number"));
    line.append(element("td", group), element("td", signature));
    line.append(element("td", admitted, { accepted: "good", "no connection now": "none" }[admitted] ?? "care"));
    line.append(element("td", String(row.requests), "number"));
    line.append(element("td", bytes(row.received), "number"), element("td", bytes(row.sent), "number"));
    return line;
  });
  at("peers").replaceChildren(...lines);
}

function facts(config) {
  const pairs = [["function", config.function], ["address", config.address]];
  for (const { subject, not_after: end } of (config.certificates ?? []).filter((one) => one.in_use)) {
    const days = Math.floor((Date.parse(end) - Date.now()) / DAY);
    pairs.push(["certificate", subject], ["ends", `${end} (${days} days)`, days < 7 ? "bad" : days < 30 ? "care" : ""]);
  }
  if (config.needs_restart && config.needs_restart.length) {
    pairs.push(["waits for a restart", config.needs_restart.join(", "), "care"]);
  }
  const lines = pairs.filter(([, value]) => value).flatMap(([name, value, kind]) => [element("dt", name), element("dd", String(value), kind)]);
  at("facts").replaceChildren(...lines);
}

async function look() {
  try {
    // Where nothing answers at all, what is shown must not look as if it were so now.
    const signal = AbortSignal.timeout(PATIENCE);
    const [ready, connections, config] = await Promise.all(["/ready", "/connections", "/config"].map((path) => fetch(path, { cache: "no-store", signal })));
    const [word, open, effect] = [await ready.text(), await connections.json(), await config.json()];
    at("node").textContent = open.node;
    document.title = `${open.node} – Bartizan sidecar`;
    at("ready").textContent = word.trim();
    at("ready").className = `word ${ready.ok ? "good" : "bad"}`;
    facts(effect);
    peers(open.connections, effect.peers ?? [], !open.next);
    at("note").textContent = `${open.next ? `the first ${open.connections.length} of ` : ""}${open.open} connections, ${new Date().toLocaleTimeString()}`;
  } catch (error) {
    at("ready").textContent = "no answer";
    at("ready").className = "word bad";
  }
  setTimeout(look, PAUSE);
}

look();
