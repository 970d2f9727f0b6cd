"use strict";
// The head of a rollout: what was wanted, of whom, by what, and what became of it.
const LONGEST = 300; // letters of a goal in the head; the facts have all of it
const BROKEN = { yes: ["bad", "broken"], no: ["good", "held"] };
const SOLVED = { yes: "task solved", no: "task not solved" };

const word = (column, one) => state.columns[column] ? state.columns[column].words[state.columns[column].codes[one]] : null;
// A value as the name of a rollout: numbers, such as steps of training, with what they are of.
const valueName = (column, one) => word(column, one) === null ? null : state.columns[column].number ? `${state.columns[column].label} ${word(column, one)}` : plain(word(column, one));
const number = (name, one) => state.index.numbers[name]?.[one] ?? null;
const named = (value) => value === null ? "(none)" : plain(value);
const amount = (value) => value >= 1e6 ? `${(value / 1e6).toFixed(1)}M` : value >= 10000 ? `${(value / 1000).toFixed(1)}k` : Number(value.toPrecision(3)).toLocaleString("en");
const titleOf = (one) => word("goal_text", one) ?? word("goal", one) ?? word("task", one) ?? state.index.ids[one];

// What became of an attack, as a class and a word; null where there was none.
function verdictOf(one) {
  const known = BROKEN[word("attack_success", one)];
  if (known) return known;
  if (word("ending", one) === "error") return ["wrong", "ended in error"];
  return state.columns.attack_success && word("attack", one) !== "none" ? ["open", "not judged"] : null;
}

function attemptOf(one) {
  const attempt = number("attempt", one), of = number("attempts", one);
  if (attempt === null || (attempt === 1 && of === 1)) return null;
  return of === null ? `attempt ${attempt}` : `attempt ${attempt} of ${of}`;
}

// Verdict and ending as chips, each with its word.
function chipsOf(one) {
  const verdict = verdictOf(one), ending = word("ending", one);
  const wrong = ending === "error" && verdict?.[1] !== "ended in error" ? [["wrong", "ended in error"]] : [];
  return [...(verdict ? [verdict] : []), ...wrong].map(([name, text]) => element("span", `chip ${name}`, text));
}

function spentOf(one) {
  const score = number("score", one), tokens = number("tokens", one), cost = number("cost", one);
  return [
    counted(state.index.rows[one], state.index.trees[one] ? "node" : "turn"),
    ...(score === null ? [] : [`${state.index.scored} ${Number(score.toPrecision(3))}`]),
    ...(tokens === null ? [] : [`${amount(tokens)} tokens`]),
    ...(cost === null ? [] : [`US$ ${Number(cost.toPrecision(2))}`]),
  ];
}

// Copies a text; where the browser does not allow it, the text is selected, so that the reader can.
async function copied(text, node, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  } catch {
    getSelection().selectAllChildren(node);
    button.textContent = "selected";
  }
}

function idNode(id, words) {
  const text = element("bdi", "rollout-id", ...written(id, words)), copy = element("button", "more", "copy"), link = element("a", "", "link");
  copy.type = "button";
  copy.setAttribute("aria-label", "copy the id");
  copy.addEventListener("click", () => copied(id, text, copy));
  link.href = `#rollout=${encodeURIComponent(id)}`;
  link.setAttribute("aria-label", "link to this rollout");
  return element("p", "soft id", text, " ", copy, " ", link);
}

// The goal in words where the log has them beside its id, else goal, task or id.
const headingOf = (view) => shown(view.facts.goal_text ?? view.facts.goal ?? view.facts.task ?? view.id);

function headNodes(one, view, words) {
  const text = headingOf(view);
  const heading = element("h3", "", element("bdi", "", ...written(text.length > LONGEST ? `${[...text.slice(0, LONGEST)].slice(0, -1).join("")}…` : text, words)));
  const facts = [...(view.facts.goal_text === undefined ? [] : ["goal"]), "target", "attack", ...(view.facts.goal === undefined ? [] : ["task"])].filter((name) => view.facts[name] !== undefined)
    .map((name) => chip(name, view.facts[name], words));
  const solved = SOLVED[word("task_success", one)], ending = word("ending", one), attempt = attemptOf(one);
  const plainly = [...(attempt ? [attempt] : []), ...(solved ? [solved] : []), ...spentOf(one),
    ...(ending !== null && ending !== "error" ? [`ending: ${labelOf(ending)}`] : [])];
  return [
    heading,
    element("div", "chips about", ...chipsOf(one), ...facts, ...plainly.map((part) => element("span", "", part))),
    ...(isEmpty(view.facts.judge_reason) ? [] : [reasonNode(view.facts.judge_reason, words)]),
    idNode(view.id, words),
  ];
}

const labelOf = (ending) => plain(ending).replaceAll("_", " ");
