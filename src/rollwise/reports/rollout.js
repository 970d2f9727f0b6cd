"use strict";
// One rollout of a chunk -> what the reader sees of it.
const SAID = ["context", "prompt", "response", "tool_calls", "observation", "error"];
const TREE = ["node_id", "parent_id", "pruned", "target_call"];
const VERDICTS = { succeeded: ["attack succeeded", "attack failed", "bad", "good"], refused: ["refused", "not refused", "", ""] };
const SHORT = 80;

const shown = (value) => typeof value === "string" ? value
  : typeof value === "number" ? String(Number.isInteger(value) ? value : Number(value.toPrecision(9))) : JSON.stringify(value);
const isShort = (value) => typeof value !== "object" && shown(value).length <= SHORT && !/\n/.test(shown(value));
const rowOf = (columns, place) => Object.fromEntries(
  Object.entries(columns).map(([name, values]) => [name, values[place]]).filter(([, value]) => value !== null));

// Rows of a rollout in reading order with their depth; a tree from its roots down, branch after branch.
function inOrder(rows) {
  const at = new Map(rows.filter((row) => row.node_id !== undefined).map((row) => [row.node_id, row]));
  if (!at.size) return rows.map((row) => [row, 0]);
  const below = Map.groupBy ? Map.groupBy(rows, (row) => at.has(row.parent_id) ? row.parent_id : null) : null;
  if (!below) return rows.map((row) => [row, 0]);
  const order = [];
  const open = (below.get(null) ?? []).map((row) => [row, 0]).reverse();
  while (open.length) {
    const [row, depth] = open.pop();
    order.push([row, depth]);
    const inside = row.node_id === undefined ? [] : below.get(row.node_id) ?? [];
    open.push(...inside.map((one) => [one, depth + 1]).reverse());
  }
  return order.length === rows.length ? order : rows.map((row) => [row, 0]); // a circle is no tree
}

function chip(label, value, words) {
  return element("span", "", `${label} `, element("bdi", "", ...written(shown(value), words)));
}

function callBlock(call, words) {
  return block([call.name, call.arguments].filter((part) => part !== null).join(" "), words);
}

function turnNode(row, depth, names, words) {
  const title = row.turn === undefined ? "No prompt" : `Turn ${row.turn}`;
  const made = element("section", `turn indent-${Math.min(depth, 4)}${row.pruned ? " pruned" : ""}`);
  const heading = element("h4", "", title);
  heading.tabIndex = -1;
  for (const [name, [yes, no, where, otherwise]] of Object.entries(VERDICTS)) {
    if (row[name] !== undefined) heading.append(" · ", element("span", row[name] ? where : otherwise, row[name] ? yes : no));
  }
  made.append(heading);
  const node = TREE.filter((name) => row[name] !== undefined).map((name) =>
    name === "pruned" ? element("b", "", row.pruned ? "pruned" : "kept") : chip(names[name], row[name], words));
  if (node.length) made.append(element("div", "chips", ...node));
  const others = Object.keys(row).filter((name) => name !== "turn" && !(name in VERDICTS) && !TREE.includes(name) && !SAID.includes(name));
  const long = others.filter((name) => !isShort(row[name]));
  for (const name of [...SAID.filter((one) => row[one] !== undefined), ...long]) {
    const parts = name === "tool_calls" ? row[name].map((call) => callBlock(call, words)) : [block(shown(row[name]), words)];
    if (parts.length) made.append(element("div", `said ${SAID.includes(name) ? name : "other"}`, element("span", "", plain(names[name] ?? name)), ...parts));
  }
  const short = others.filter((name) => isShort(row[name])).map((name) => chip(plain(names[name] ?? name), row[name], words));
  if (short.length) made.append(element("div", "chips", ...short));
  return made;
}

// The facts of a rollout, folded: readers come for what was said.
function factsNode(facts, names, words) {
  const rows = Object.entries(facts).sort(([, a], [, b]) => isShort(b) - isShort(a)).flatMap(([name, value]) => [
    element("dt", "", plain(names[name] ?? name)), element("dd", "", ...written(shown(value), words))]);
  if (!rows.length) return [];
  const made = element("details", "", element("summary", "", `${rows.length / 2} facts of this rollout`), element("dl", "facts", ...rows));
  if (words && made.querySelector("mark")) made.open = true;
  return [made];
}

// A transcript, and the heading of its first success; `first` is a row number, or null where no turn is known to be one.
function transcript({ id, facts, rows, first, names, words }) {
  const ordered = inOrder(rows);
  const turns = ordered.map(([row, depth]) => turnNode(row, depth, names, words));
  const place = first === null ? -1 : ordered.findIndex(([row]) => row === rows[first]);
  return {
    nodes: [element("h3", "", element("bdi", "", ...written(id, words))), ...turns.slice(0, 1), ...factsNode(facts, names, words), ...turns.slice(1)],
    turns,
    success: place < 0 ? null : turns[place],
  };
}
