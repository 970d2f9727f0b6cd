"use strict";
// Signs of an injected text: where it arrives, where a value of it goes to a tool, where a call was refused. A sign is a mark, never a verdict.
const TAGGED = /<INFORMATION>[\s\S]*?<\/INFORMATION>/g; // how AgentDojo's attack marks its text
const FEWEST = 8; // letters of a value: shorter ones are in many texts
const SIGNS = {
  arrives: ["▼", "injected text arrives"],
  uses: ["◆", "a value of the injected text goes to a tool"],
  refused: ["◇", "the call was refused"],
};

function leaves(value) {
  if (typeof value === "string") return [value];
  return value !== null && typeof value === "object" ? Object.values(value).flatMap(leaves) : [];
}

// What the log names as injected: the texts of its column `injections`, and texts inside of the attack's own tag.
function injectedIn(facts, rows) {
  const named = [facts, ...rows].flatMap((row) => {
    try {
      return row.injections === undefined ? [] : leaves(typeof row.injections === "string" ? JSON.parse(row.injections) : row.injections);
    } catch {
      return [];
    }
  });
  const tagged = rows.flatMap((row) => [row.prompt, row.observation]).flatMap((text) => typeof text === "string" ? text.match(TAGGED) ?? [] : []);
  return [...new Set([...named, ...tagged].map((text) => text.trim()))].filter((text) => text.length >= FEWEST);
}

// Where injected texts stand in a text, without overlap; spaces may have been changed on the way (YAML, wrapped lines).
function spansOf(text, injected) {
  const found = [];
  for (const one of injected) {
    const spaced = new RegExp(one.split(/\s+/).map(escaped).join("\\s+"), "g");
    for (const hit of text.matchAll(spaced)) found.push([hit.index, hit.index + hit[0].length]);
  }
  found.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  return found.filter(([from], place) => !found.slice(0, place).some((other) => other[1] > from));
}

// What is known of a rollout's injected texts, computed once.
function injection(facts, ordered) {
  const rows = ordered.map(([row]) => row);
  const texts = injectedIn(facts, rows);
  const first = rows[0]?.prompt ?? "";
  const own = texts.length ? spansOf(first, texts).reduceRight((text, [from, to]) => text.slice(0, from) + text.slice(to), first) : first;
  const all = texts.join("\n");
  return { texts, traced: (value) => value.length >= FEWEST && all.includes(value) && !own.includes(value) };
}

const isRefused = (row, place) => resultsOf(row)[place]?.status === "refused";

// The signs of a turn, by name.
function signsOf(row, { texts, traced }) {
  const calls = row.tool_calls ?? [];
  const refused = calls.some((_, place) => isRefused(row, place)) ? ["refused"] : [];
  if (!texts.length) return refused;
  const arrives = [row.prompt, row.observation, ...textsOf(row)].some((text) => text !== undefined && spansOf(text, texts).length);
  const values = calls.filter((_, place) => !isRefused(row, place)).flatMap((call) => {
    try {
      return leaves(JSON.parse(call.arguments));
    } catch {
      return [];
    }
  });
  return [...(arrives ? ["arrives"] : []), ...(values.some(traced) ? ["uses"] : []), ...refused];
}

const flagNode = (sign) => element("span", "flag", `${SIGNS[sign][0]} ${SIGNS[sign][1]}`);
