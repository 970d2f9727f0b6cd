"use strict";
// Two attempts at one goal beside each other, aligned where an injected text arrives, with the first turn that differs named.
const MOST_OTHERS = 100; // attempts that are offered

// Other rollouts of the same goal (or task, where there is no goal): those with another verdict first, then those of the same target.
function others(one) {
  const column = ["goal", "task"].map((name) => state.columns[name]).find((each) => each && each.words[each.codes[one]] !== null);
  if (!column) return [];
  const verdict = verdictOf(one)?.[1], target = word("target", one), attack = word("attack", one);
  const far = (other) => (["broken", "held"].includes(verdictOf(other)?.[1]) && verdictOf(other)[1] !== verdict ? 0 : 4)
    + (word("target", other) === target ? 0 : 2) + (word("attack", other) === attack ? 0 : 1);
  const found = [];
  for (let other = 0; other < state.index.ids.length; other++) {
    if (other !== one && column.codes[other] === column.codes[one]) found.push([far(other), other]);
  }
  return found.sort((a, b) => a[0] - b[0] || a[1] - b[1]).slice(0, MOST_OTHERS).map(([, other]) => other);
}

// What tells an attempt from another one.
const apartOf = (one, beside) => [...new Set([...state.index.by, "target", "attack", "task"])]
  .filter((name) => word(name, one) !== word(name, beside)).map((name) => valueName(name, one)).filter((value) => value !== null);

const nameOf = (one, beside, verdict = verdictOf(one)?.[1]) => {
  const told = [...apartOf(one, beside), attemptOf(one), verdict].filter(Boolean);
  return told.join(" · ") || plain(state.index.ids[one]);
};

const arrivalIn = (view) => view.ordered.findIndex(([row]) => signsOf(row, view.about).includes("arrives"));

// Pairs of turns; a side without a turn there is -1. Aligned at the first injected text where both have one, else at the first turn.
function aligned(one, other) {
  const arrivals = [arrivalIn(one), arrivalIn(other)], at = arrivals.includes(-1) ? [0, 0] : arrivals;
  const before = Math.max(...at), after = Math.max(one.ordered.length - at[0], other.ordered.length - at[1]);
  const place = (view, from) => (from >= 0 && from < view.ordered.length ? from : -1);
  const pairs = Array.from({ length: before + after }, (_, step) => [place(one, step - before + at[0]), place(other, step - before + at[1])]);
  return { pairs, isAtInjection: !arrivals.includes(-1), before };
}

const callsOf = (row) => (row.tool_calls ?? []).map(({ name, arguments: given }) => [name, given].filter((part) => part !== null).join(" "));

// What is different in two turns, in words, each with what both sides have; null where nothing is.
function difference(rows, signs) {
  const told = {
    verdict: rows.map((row) => (stateOf([row]) ? STATES[stateOf([row])][1] : "not judged")),
    calls: rows.map((row) => callsOf(row).join("\n") || "no call"),
    signs: signs.map((names) => names.map((sign) => SIGNS[sign][1]).join(", ") || "no sign"),
  };
  const differing = Object.keys(told).filter((name) => told[name][0] !== told[name][1]);
  return differing.length ? differing.map((name) => told[name]) : null;
}

// The first pair that differs, from where both are aligned: in calls, verdict or signs; else in wording, which mostly differs.
function firstDiffering(one, other, { pairs, before, isAtInjection }) {
  const from = isAtInjection ? before : 0;
  for (let place = from; place < pairs.length; place++) {
    const [a, b] = pairs[place];
    if (a < 0 || b < 0) return { place, kind: "one of them has no such turn", sides: [a, b].map((turn) => [turn < 0 ? "no turn" : "a turn"]) };
    const rows = [one.ordered[a][0], other.ordered[b][0]];
    const told = difference(rows, [signsOf(rows[0], one.about), signsOf(rows[1], other.about)]);
    if (told) return { place, kind: "calls, verdict or signs", sides: [0, 1].map((side) => told.map((pair) => pair[side])) };
  }
  for (let place = from; place < pairs.length; place++) {
    const [a, b] = pairs[place].map((turn, side) => (side ? other : one).ordered[turn][0]);
    if (["prompt", "response"].some((name) => a[name] !== b[name])) return { place, kind: "wording alone", sides: [] };
  }
  return null;
}

function sideHead(one, beside, view) {
  const about = [attemptOf(one), ...apartOf(one, beside)].filter(Boolean).join(" · ");
  return element("div", "side-head", ...chipsOf(one), " ", element("bdi", "", about), element("small", "soft", spentOf(one).join(" · ")), element("small", "soft", element("bdi", "", plain(view.id))));
}

const turnName = (view, place) => (place < 0 ? "none" : String(view.ordered[place][0].turn ?? place + 1));

function differenceNode(one, other, rollouts, found, pair) {
  if (!found) return element("div", "differ", element("b", "", "No turn differs."));
  const names = [turnName(one, pair[0]), turnName(other, pair[1])];
  const where = names[0] === names[1] ? names[0] : names.join(" and ");
  const alike = verdictOf(rollouts[0])?.[1] === verdictOf(rollouts[1])?.[1];
  const attempt = (side) => (alike ? [element("bdi", "soft", nameOf(rollouts[side], rollouts[1 - side], "")), " "] : []);
  const sides = found.sides.map((lines, side) => element("div", "", ...chipsOf(rollouts[side]), " ", ...attempt(side), ...lines.flatMap((line, place) => [
    ...(place ? [" · "] : []), ...written(line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line, "")])));
  return element("div", "differ", element("b", "", `First differing turn: ${where}`), ` (${found.kind})`, ...sides);
}

// Opens another attempt beside the one that is read: `other` is its place in the index.
async function compare(other) {
  const one = state.open, offered = one >= 0 ? others(one) : [];
  if (!offered.length) return;
  const chosen = other ?? offered[0], view = await load(chosen);
  if (state.open !== one) return; // the reader has gone on
  // What was broken stands on the left, what held on the right.
  const both = [[one, state.view], [chosen, view]];
  if (verdictOf(one)?.[1] === "held" && verdictOf(chosen)?.[1] === "broken") both.reverse();
  const [left, right] = both.map(([, each]) => each), rollouts = both.map(([each]) => each);
  const alignment = aligned(left, right), found = firstDiffering(left, right, alignment);
  state.beside = chosen;
  const select = element("select", "");
  select.setAttribute("aria-label", "The other attempt");
  select.append(...offered.map((each) => new Option(nameOf(each, one), String(each))));
  select.value = String(chosen);
  select.addEventListener("change", () => compare(Number(select.value)));
  const box = besideBox(left, right, alignment.pairs, found?.place ?? -1);
  const title = headingOf(state.view);
  at("rollout").replaceChildren(
    element("h3", "", "Two attempts: ", element("bdi", "", ...written(title.length > LONGEST ? `${title.slice(0, LONGEST)}…` : title, ""))),
    element("div", "steps", buttonNode("Close", closeCompare, "c"), element("span", "soft", "beside"), select,
      ...(found ? [buttonNode("First differing turn", () => box.goTo(found.place))] : []), buttonNode(reading.raw ? "Markdown" : "Raw text", KEYS.r, "r")),
    element("p", "soft", alignment.isAtInjection ? "Aligned where the injected text arrives." : "Aligned at the first turn."),
    differenceNode(left, right, rollouts, found, found ? alignment.pairs[found.place] : null),
    element("div", "duo heads", ...both.map(([each, its], side) => sideHead(each, rollouts[1 - side], its))),
    box.node,
  );
  at("rollout").scrollTop = 0;
}

// The pairs of turns, a slice at first.
function besideBox(left, right, pairs, first) {
  const more = element("button", "", ""), node = element("div", "turns", more), rows = [];
  more.type = "button";
  const side = (view, place) => (place < 0 ? element("p", "soft", "no turn") : turnAt(view, place, state.words));
  const grow = (to) => {
    while (rows.length < Math.min(to, pairs.length)) {
      const place = rows.length, [a, b] = pairs[place];
      rows.push(element("div", `duo${place === first ? " first" : ""}`, side(left, a), side(right, b)));
      more.before(rows[place]);
    }
    more.hidden = rows.length === pairs.length;
    more.textContent = `show ${counted(Math.min(SLICE, pairs.length - rows.length), "more turn")}`;
  };
  more.addEventListener("click", () => grow(rows.length + SLICE));
  grow(SLICE);
  return { node, goTo: (place) => { grow(place + 1); rows[place].scrollIntoView({ block: "start", behavior: "instant" }); } };
}

function closeCompare() {
  state.beside = null;
  return show(state.open);
}
