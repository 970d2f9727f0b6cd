"use strict";
// The list of rollouts: filters, order, and only the rows that can be seen.
const ROW = 76, LOW = 56, GOAL = 52; // pixels, as in the style sheet: a row, one below the head of its goal, and that head
const ORDERS = {
  goal: ["", null],
  log: ["order of the log", null],
  score: ["highest score first", (one) => -(number("score", one) ?? -Infinity)],
  turns: ["most turns first", (one) => -state.index.rows[one]],
  fewest: ["fewest turns first", (one) => state.index.rows[one]],
  cost: ["highest cost first", (one) => -(number("cost", one) ?? number("tokens", one) ?? -Infinity)],
};

function filterNode(column) {
  const select = element("select", "");
  select.dataset.column = column.name;
  select.setAttribute("aria-label", column.label);
  select.append(new Option(`${column.label}: any`, ""));
  column.words.forEach((one, code) => select.append(new Option(`${column.label}: ${named(one)}`, String(code))));
  select.addEventListener("change", () => {
    state.chosen[column.name] = select.value === "" ? undefined : Number(select.value);
    choose();
    noStranger();
  });
  return select;
}

// Orders that this log knows a value of.
function orderNode() {
  const { numbers, scored } = state.index;
  const known = { goal: state.goals.isRepeated || null, score: numbers.score, cost: numbers.cost ?? numbers.tokens };
  const select = element("select", "");
  select.id = "order";
  select.setAttribute("aria-label", "Order of the list");
  for (const [name, [text]] of Object.entries(ORDERS)) {
    if (name in known && !known[name]) continue;
    select.append(new Option(name === "goal" ? `by ${state.goals.goal}, worst first` : name === "score" ? `${scored} first` : name === "cost" && !numbers.cost ? "most tokens first" : text, name));
  }
  select.value = state.order;
  select.addEventListener("change", () => { state.order = select.value; choose(); });
  return select;
}

const wantedNow = () => Object.entries(state.chosen).filter(([, code]) => code !== undefined);

// What the list knows of a rollout, in one text: made when somebody searches first, so that a page of many opens soon.
function abouts() {
  const { ids, columns } = state.index;
  state.about ??= ids.map((id, one) => [id, ...columns.map((column) => column.words[column.codes[one]] ?? "")].join("\n").toLowerCase());
  return state.about;
}

function choose() {
  const wanted = wantedNow(), words = state.words.toLowerCase();
  const about = words ? abouts() : [], { rate, goal } = state.goals, asked = wanted.filter(([name]) => name in RESULTS);
  const others = wanted.filter(([name]) => !(name in RESULTS)), tally = emptyTally(), tallies = new Map();
  const isGrouped = state.order === "goal", codes = isGrouped ? state.columns[goal].codes : [];
  state.shown = [];
  for (let one = 0; one < state.index.ids.length; one++) {
    const matches = ([name, code]) => state.columns[name].codes[one] === code;
    if (!others.every(matches) || (words && !about[one].includes(words) && !state.hits?.has(one))) continue;
    // A goal has its k of n whatever verdict is chosen.
    tallied(tally, asked[0]?.[0] ?? rate, one);
    if (isGrouped) tallies.set(codes[one], tallied(tallies.get(codes[one]) ?? emptyTally(), rate, one));
    if (asked.every(matches)) state.shown.push(one);
  }
  if (isGrouped) byGoal(state.shown, tallies);
  const key = ORDERS[state.order][1];
  if (key) {
    const keys = new Map(state.shown.map((one) => [one, key(one)]));
    state.shown.sort((a, b) => keys.get(a) === keys.get(b) ? a - b : keys.get(a) - keys.get(b));
  }
  const all = state.index.ids.length.toLocaleString("en");
  at("count").textContent = `${state.shown.length.toLocaleString("en")} of ${all} rollouts`;
  const limits = wanted.length + (words ? 1 : 0);
  at("clear").hidden = !limits;
  at("clear").textContent = `Clear filters (${limits})`;
  state.active = state.shown.indexOf(state.open);
  arrange(isGrouped ? codes : null, tallies);
  writeTitle(tally);
  if (state.active < 0) at("list").scrollTop = 0;
  paint();
}

// Where each row is, and the head of each goal; and what is the same in all rows, which is said once above them.
function arrange(codes, tallies) {
  state.lines = [];
  let top = 0;
  state.shown.forEach((one, place) => {
    if (codes && (!place || codes[one] !== codes[state.shown[place - 1]])) {
      state.lines.push({ top, goal: codes[one], tally: tallies.get(codes[one]) });
      top += GOAL;
    }
    state.lines.push({ top, place });
    top += codes ? LOW : ROW;
  });
  state.tops = state.lines.filter((line) => line.place !== undefined).map((line) => line.top);
  at("sizer").style.height = `${top}px`;
  const columns = [...new Set([...state.index.by, "target", "attack", ...(state.goals.goal === "goal" ? ["task"] : [])])].filter((name) => state.columns[name]);
  const varies = (name, first) => state.shown.some((one) => state.columns[name].codes[one] !== state.columns[name].codes[first(one)]);
  const varying = columns.filter((name) => varies(name, () => state.shown[0])), firsts = new Map();
  // Below the head of a goal, what all its attempts share says nothing; where that is all, it stays.
  for (const one of codes ? [...state.shown].reverse() : []) firsts.set(codes[one], one);
  const within = codes ? varying.filter((name) => varies(name, (one) => firsts.get(codes[one]))) : varying;
  state.apart = within.length ? within : varying;
  const same = state.shown.length > 1 ? columns.filter((name) => !varying.includes(name) && word(name, state.shown[0]) !== null && state.chosen[name] === undefined) : [];
  at("common").replaceChildren(...same.flatMap((name, place) => [place ? " · " : "all: ", `${state.columns[name].label} `, element("bdi", "", named(word(name, state.shown[0])))]));
  at("common").hidden = !same.length;
  tellRead();
}

// How many of those in the list were read, which lose weight in it.
function tellRead() {
  const many = state.shown.filter((one) => state.read.has(one)).length;
  at("read-count").textContent = many ? `${many.toLocaleString("en")} read` : "";
}

// After a choice, what is open is one of what was chosen: the first of them, unless the reader has another of them open.
async function noStranger(address) {
  if (state.shown.includes(state.open)) return;
  if (state.shown.length) {
    move(0);
    await show(state.shown[0], undefined, address);
  } else {
    state.open = -1;
    state.view = null;
    at("rollout").replaceChildren(element("p", "soft", "No rollout is like this. Clear a filter or search for another word."));
  }
}

// The first line that ends below a height.
function lineAt(height) {
  let low = 0, high = state.lines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((state.lines[middle + 1]?.top ?? Infinity) > height) high = middle;
    else low = middle + 1;
  }
  return low;
}

function paint() {
  const { scrollTop, clientHeight } = at("list"), from = Math.max(0, lineAt(scrollTop) - 3);
  const lines = state.lines.slice(from, lineAt(scrollTop + clientHeight) + 4), nodes = [];
  let group = null;
  for (const { goal, tally, place } of lines) {
    if (goal !== undefined || (group === null && state.order === "goal")) {
      group = groupNode(goal ?? state.columns[state.goals.goal].codes[state.shown[place]], goal === undefined ? null : tally);
      nodes.push(group);
    }
    if (place !== undefined) (group ?? { append: (row) => nodes.push(row) }).append(rowNode(state.shown[place], place));
  }
  at("rows").style.transform = `translateY(${state.lines[from]?.top ?? 0}px)`;
  at("rows").replaceChildren(...nodes);
  const active = state.active >= 0 ? `row-${state.active}` : "";
  at("list").setAttribute("aria-activedescendant", active && at(active) ? active : "");
}

// The rows of a goal that can be seen, below its head if that can be seen too.
function groupNode(code, tally) {
  const made = element("div", "rows-of-goal", ...(tally ? [goalNode(code, tally)] : []));
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", [named(state.columns[state.goals.goal].words[code]), ...(tally ? [tallyText(tally, state.goals.rate)] : [])].join(", "));
  return made;
}

function rowNode(one, place) {
  const attempt = attemptOf(one), solved = SOLVED[word("task_success", one)], isGrouped = state.order === "goal";
  const names = [...state.apart.map((name) => valueName(name, one)).filter((value) => value !== null), ...(attempt ? [attempt] : [])];
  // Long names give way to each other, so that the last one can be read too.
  const about = names.map((name, place) => element("span", attempt && place === names.length - 1 ? "attempt" : name.length < 6 ? "few" : "", place ? ` · ${name}` : name));
  // What does not fit goes as one piece, not in the middle of a number.
  const result = [...(solved ? [solved] : []), ...spentOf(one)].map((piece, place) => element("span", "", place ? ` · ${piece}` : piece));
  const told = isGrouped ? [element("b", "", ...(about.length ? about : [plain(state.index.ids[one])]))] : [element("b", "", plain(titleOf(one))), element("small", "names", ...about)];
  const row = element("div", `row${state.read.has(one) ? " read" : ""}`, ...told, element("small", "became", ...chipsOf(one), ...result));
  row.id = `row-${place}`;
  row.setAttribute("role", "option");
  row.setAttribute("aria-selected", String(place === state.active));
  row.setAttribute("aria-setsize", String(state.shown.length));
  row.setAttribute("aria-posinset", String(place + 1));
  row.addEventListener("click", () => { move(place); turnTo("reading"); show(one); });
  return row;
}

function move(place) {
  if (!state.shown.length) return;
  state.active = Math.min(Math.max(place, 0), state.shown.length - 1);
  const list = at("list"), line = state.tops[state.active], end = line + (state.order === "goal" ? LOW : ROW);
  const top = state.order === "goal" && (state.active === 0 || state.tops[state.active - 1] < line - LOW) ? line - GOAL : line;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (line > list.scrollTop + list.clientHeight + GOAL) list.scrollTop = top; // far below: with what follows it
  else if (end > list.scrollTop + list.clientHeight) list.scrollTop = end - list.clientHeight;
  state.placed = list.scrollTop;
  paint();
}

function clear() {
  stopSearch();
  Object.assign(state, { words: "", chosen: {}, hits: null });
  at("find").value = "";
  for (const select of at("filters").children) select.value = "";
  choose();
}
