"use strict";
// One rollout of a chunk -> its turns in reading order, its facts, and what the reader sees of them, slice after slice.
const SLICE = 50; // turns rendered at once

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

// Own columns of the log that have one value in all turns: they are told once. Of a single turn, the long ones stay where they are.
function constants(rows, own) {
  const known = own.filter((name) => rows[0]?.[name] !== undefined && !SAID.includes(name));
  return known.filter((name) => rows.every((row) => shown(row[name] ?? "") === shown(rows[0][name])) && (rows.length > 1 || isShort(rows[0][name])));
}

// The facts of a rollout, folded: readers come for what was said.
function factsNode({ judge_reason: reason, ...facts }, names, words) {
  const others = Object.entries(facts).filter(([, value]) => isEmpty(reason) || value !== reason);
  const rows = others.sort(([, a], [, b]) => isShort(b) - isShort(a)).flatMap(([name, value]) => [
    element("dt", "", plain(names[name] ?? name)), Object.assign(element("dd", "", ...written(shown(value), words)), isShort(value) ? {} : { tabIndex: 0 })]);
  if (!rows.length) return [];
  const made = element("details", "", element("summary", "", counted(rows.length / 2, "fact") + " of this rollout"), element("dl", "facts", ...rows));
  if (words && made.querySelector("mark")) made.open = true;
  return [made];
}

// A rollout made ready to be read: `own` names the columns of this log alone, `first` is the row of its first success.
function prepared({ id, facts, rows, first, names, own }) {
  const logged = inOrder(rows);
  const alone = constants(rows, own);
  const told = { ...facts, ...Object.fromEntries(alone.map((name) => [name, rows[0][name]])) };
  return {
    id, names, ordered: withoutReturns(logged), facts: told, hidden: new Set(alone), about: injection(facts, logged),
    success: first === null ? -1 : logged.findIndex(([row]) => row === rows[first]),
  };
}

function turnAt(view, place, words) {
  const [row, depth, after] = view.ordered[place];
  return turnNode(row, depth, view.names, words, { after, about: view.about, facts: view.hidden });
}

// The turns of a rollout in a box: a slice at first, the next when its end is near or a later turn is asked for.
function turnsBox(view, words) {
  const more = element("button", "", ""), box = element("div", "turns", more), turns = [];
  more.type = "button";
  const near = new IntersectionObserver((seen) => {
    if (seen.some((one) => one.isIntersecting)) grow(turns.length + SLICE);
  }, { root: document.getElementById("rollout"), rootMargin: "600px" });
  const grow = (to) => {
    const from = turns.length;
    while (turns.length < Math.min(to, view.ordered.length)) turns.push(turnAt(view, turns.length, words));
    more.before(...turns.slice(from)); // what is there stays where it is, with its focus
    const left = view.ordered.length - turns.length;
    more.textContent = `show ${counted(Math.min(left, SLICE), "more turn")} of ${left.toLocaleString("en")}`;
    more.hidden = !left;
    near.disconnect();
    if (left) near.observe(more);
  };
  more.addEventListener("click", () => grow(turns.length + SLICE));
  grow(SLICE);
  return { box, turns, upTo: (place) => { if (place >= turns.length) grow(Math.ceil((place + 1) / SLICE) * SLICE); return turns[place]; } };
}

const rowFinds = (row, words) => Object.values(row).some((value) => finds(typeof value === "object" ? leaves(value).join("\n") : shown(value), words));
