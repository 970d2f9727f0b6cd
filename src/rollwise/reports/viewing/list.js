"use strict";
// The list of rollouts: filters, order, and only the rows that can be seen.
const ROW = 76; // pixels, as in the style sheet
const ORDERS = {
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
  const known = { score: numbers.score, cost: numbers.cost ?? numbers.tokens };
  const select = element("select", "");
  select.id = "order";
  select.setAttribute("aria-label", "Order of the list");
  for (const [name, [text]] of Object.entries(ORDERS)) {
    if (name in known && !known[name]) continue;
    select.append(new Option(name === "score" ? `${scored} first` : name === "cost" && !numbers.cost ? "most tokens first" : text, name));
  }
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
  const about = words ? abouts() : [];
  state.shown = [];
  for (let one = 0; one < state.index.ids.length; one++) {
    if (wanted.every(([name, code]) => state.columns[name].codes[one] === code)
      && (!words || about[one].includes(words) || state.hits?.has(one))) state.shown.push(one);
  }
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
  at("sizer").style.height = `${state.shown.length * ROW}px`;
  if (state.active < 0) at("list").scrollTop = 0;
  paint();
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

function paint() {
  const top = Math.max(0, Math.floor(at("list").scrollTop / ROW) - 3);
  const many = Math.ceil(at("list").clientHeight / ROW) + 6;
  at("rows").style.transform = `translateY(${top * ROW}px)`;
  at("rows").replaceChildren(...state.shown.slice(top, top + many).map((one, place) => rowNode(one, top + place)));
  const active = state.active >= 0 ? `row-${state.active}` : "";
  at("list").setAttribute("aria-activedescendant", active && at(active) ? active : "");
}

function rowNode(one, place) {
  const told = [...state.index.by, "target", "attack", ...(word("goal", one) === null ? [] : ["task"])];
  const apart = told.filter((name, place) => told.indexOf(name) === place && state.columns[name]?.words.length > 1);
  const attempt = attemptOf(one), solved = SOLVED[word("task_success", one)];
  const about = [...apart.map((name) => word(name, one)).filter((value) => value !== null).map(plain), ...(attempt ? [attempt] : [])];
  const result = [...(solved ? [solved] : []), ...spentOf(one)].join(" · ");
  const row = element("div", "row", element("b", "", plain(titleOf(one))), element("small", "", about.join(" · ")),
    element("small", "", ...chipsOf(one), element("span", "", result)));
  row.id = `row-${place}`;
  row.setAttribute("role", "option");
  row.setAttribute("aria-selected", String(place === state.active));
  row.setAttribute("aria-setsize", String(state.shown.length));
  row.setAttribute("aria-posinset", String(place + 1));
  row.addEventListener("click", () => { move(place); show(one); });
  return row;
}

function move(place) {
  if (!state.shown.length) return;
  state.active = Math.min(Math.max(place, 0), state.shown.length - 1);
  const top = state.active * ROW, list = at("list");
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
  paint();
}

function clear() {
  stopSearch();
  Object.assign(state, { words: "", chosen: {}, hits: null });
  at("find").value = "";
  for (const select of at("filters").children) select.value = "";
  choose();
}
