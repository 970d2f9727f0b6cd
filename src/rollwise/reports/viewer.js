"use strict";
// Finding a rollout and reading it: the list, the search, the keys, the address.
const ROW = 76; // pixels, as in the style sheet
const at = (id) => document.getElementById(id);
const state = { index: null, starts: [], chunkOf: [], shown: [], active: -1, open: -1, words: "", chosen: {}, hits: null, searching: 0, view: null, turn: -1 };

async function begin() {
  if (!at("viewer")) return;
  if (typeof DecompressionStream === "undefined") {
    at("transcripts").append(element("p", "note", "This browser is too old to unpack the transcripts; `rollwise show ID turns.parquet` prints one in a terminal."));
    return;
  }
  const index = await unpack("index");
  if (!index.ids) return;
  state.index = index;
  index.chunks.forEach((many, chunk) => { for (let one = 0; one < many; one++) state.chunkOf.push(chunk); });
  let start = 0, last = -1;
  index.rows.forEach((many, one) => {
    if (state.chunkOf[one] !== last) { start = 0; last = state.chunkOf[one]; }
    state.starts.push(start);
    start += many;
  });
  state.columns = Object.fromEntries(index.columns.map((column) => [column.name, column]));
  state.about = index.ids.map((id, one) => [id, ...index.columns.map((column) => column.words[column.codes[one]] ?? "")].join("\n").toLowerCase());
  at("filters").append(...index.columns.filter((column) => column.filter).map(filterNode));
  at("viewer").hidden = false;
  choose();
  performance.mark("list");
  follow();
}

const word = (column, one) => state.columns[column] ? state.columns[column].words[state.columns[column].codes[one]] : null;
const named = (value) => value === null ? "(none)" : plain(value);

function filterNode(column) {
  const select = element("select", "");
  select.dataset.column = column.name;
  select.setAttribute("aria-label", column.label);
  select.append(new Option(`${column.label}: any`, ""));
  column.words.forEach((one, code) => select.append(new Option(`${column.label}: ${named(one)}`, String(code))));
  select.addEventListener("change", () => {
    state.chosen[column.name] = select.value === "" ? undefined : Number(select.value);
    choose();
  });
  return select;
}

// ── the list: only the rows that can be seen exist ──
function choose() {
  const wanted = Object.entries(state.chosen).filter(([, code]) => code !== undefined);
  const words = state.words.toLowerCase();
  state.shown = [];
  for (let one = 0; one < state.about.length; one++) {
    if (wanted.every(([name, code]) => state.columns[name].codes[one] === code)
      && (!words || state.about[one].includes(words) || state.hits?.has(one))) state.shown.push(one);
  }
  const all = state.about.length.toLocaleString("en");
  at("count").textContent = `${state.shown.length.toLocaleString("en")} of ${all} rollouts`;
  state.active = state.shown.indexOf(state.open);
  at("sizer").style.height = `${state.shown.length * ROW}px`;
  if (state.active < 0) at("list").scrollTop = 0;
  paint();
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
  const title = word("goal", one) ?? word("task", one) ?? state.index.ids[one];
  const rows = state.index.rows[one];
  const verdict = { yes: ["bad", "broken"], no: ["good", "held"] }[word("attack_success", one)];
  const solved = { yes: "solved", no: "not solved" }[word("task_success", one)];
  const told = [...state.index.by, "target", "attack", ...(word("goal", one) === null ? [] : ["task"])];
  const apart = told.filter((name, place) => told.indexOf(name) === place && state.columns[name]?.words.length > 1);
  const about = apart.map((name) => word(name, one)).filter((value) => value !== null).map(plain);
  const result = element("small", "", ...(verdict ? [element("span", verdict[0], verdict[1]), " · "] : []),
    [...(solved ? [solved] : []), `${rows} ${state.index.trees[one] ? "node" : "turn"}${rows === 1 ? "" : "s"}`].join(" · "));
  const row = element("div", "row", element("b", "", plain(title)), element("small", "", about.join(" · ")), result);
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

// ── one rollout ──
async function load(one) {
  const chunk = await unpack(`chunk-${state.chunkOf[one]}`);
  const first = state.chunkOf.indexOf(state.chunkOf[one]);
  const rows = Array.from({ length: state.index.rows[one] }, (_, row) => rowOf(chunk.turns, state.starts[one] + row));
  return { id: state.index.ids[one], facts: rowOf(chunk.facts, one - first), rows };
}

async function show(one, turn, address) {
  state.open = one;
  const loaded = await load(one);
  if (state.open !== one) return; // the reader has gone on
  const view = transcript({ ...loaded, first: state.index.first[one], names: state.index.labels, words: state.words });
  state.view = view;
  state.turn = -1;
  const broken = word("attack_success", one) === "yes";
  const success = view.success ? element("button", "", "First success (s)")
    : broken ? element("span", "soft", "broken; no verdict says at which turn") : "";
  if (view.success) {
    success.type = "button";
    success.addEventListener("click", () => goTo(view.success));
  }
  const link = element("a", "", "link to this rollout");
  link.href = `#rollout=${encodeURIComponent(loaded.id)}`;
  view.nodes.splice(1, 0, element("div", "steps", success, link));
  at("rollout").replaceChildren(...view.nodes);
  at("rollout").scrollTop = 0;
  clearTimeout(state.settling); // browsers count changes of the address, and a key held down makes many
  state.settling = setTimeout(() => history.replaceState(null, "", address ?? link.href), 300);
  const hit = state.words && at("rollout").querySelector("mark");
  if (turn) goTo(view.turns[turn - 1]);
  else if (hit) hit.scrollIntoView({ block: "center", behavior: "instant" });
}

function goTo(turn) {
  if (!turn) return;
  state.turn = state.view.turns.indexOf(turn);
  const heading = turn.querySelector("h4");
  at("rollout").scrollTop += heading.getBoundingClientRect().top - at("rollout").getBoundingClientRect().top - 8;
  heading.focus({ preventScroll: true });
}

// ── searching what was said: piece after piece, and it can be stopped ──
async function searchTexts() {
  const words = state.words.toLowerCase(), mine = ++state.searching;
  if (!words) return;
  const said = (value) => typeof value === "string" ? value.toLowerCase().includes(words)
    : value !== null && typeof value === "object" && Object.values(value).some(said);
  state.hits = new Set();
  at("search").hidden = false;
  let done = 0;
  for (let chunk = 0; chunk < state.index.chunks.length; chunk++) {
    const { facts, turns } = await inflate(`chunk-${chunk}`);
    if (mine !== state.searching) return;
    for (let place = 0; place < state.index.chunks[chunk]; place++, done++) {
      const rows = [state.starts[done], state.starts[done] + state.index.rows[done]];
      if (Object.values(facts).some((column) => said(column[place]))
        || Object.values(turns).some((column) => column.slice(...rows).some(said))) state.hits.add(done);
    }
    at("progress").value = (chunk + 1) / state.index.chunks.length;
    at("searched").textContent = `searched ${done.toLocaleString("en")} rollouts, found it in ${state.hits.size.toLocaleString("en")}`;
    choose();
    await new Promise((go) => setTimeout(go));
  }
}

function stopSearch() {
  state.searching++;
  at("search").hidden = true;
}

// ── the address: #rollout=ID, or columns and what they must be ──
async function follow() {
  const asked = new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B"));
  if (!location.hash.includes("=") || !state.index) return;
  const one = asked.has("rollout") ? state.index.ids.indexOf(asked.get("rollout")) : -1;
  if (one >= 0) {
    if (!state.shown.includes(one)) clear();
    move(state.shown.indexOf(one));
    if (state.open !== one) await show(one, Number(asked.get("turn")));
  } else if (asked.has("rollout")) {
    at("rollout").replaceChildren(element("p", "note", "No rollout on this page has this ID: ", element("bdi", "", plain(asked.get("rollout")))));
  } else {
    clear();
    for (const [name, value] of asked) {
      const code = state.columns[name]?.words.findIndex((one) => named(one) === value || one === value) ?? -1;
      if (code >= 0) state.chosen[name] = code;
      const select = [...at("filters").children].find((one) => one.dataset.column === name);
      if (select && code >= 0) select.value = String(code);
    }
    choose();
    // The first one that was asked for is opened: what was read before is none of them.
    if (state.shown.length) {
      move(0);
      await show(state.shown[0], undefined, location.hash);
    }
  }
  at("viewer").scrollIntoView({ behavior: "instant" });
}

function clear() {
  stopSearch();
  Object.assign(state, { words: "", chosen: {}, hits: null });
  at("find").value = "";
  for (const select of at("filters").children) select.value = "";
  choose();
}

// ── keys ──
const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  n: () => state.view && goTo(state.view.turns[Math.min(state.turn + 1, state.view.turns.length - 1)]),
  p: () => state.view && goTo(state.view.turns[Math.max(state.turn - 1, 0)]),
  s: () => goTo(state.view?.success),
  t: switchTheme,
  "/": () => { at("viewer").scrollIntoView({ behavior: "instant" }); at("find").focus(); },
  "?": () => at("help").showModal(),
  Escape: () => { stopSearch(); at("list").focus(); },
};
const IN_LIST = {
  ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity,
};

function step(by) {
  move(state.active + by);
  if (state.shown.length) show(state.shown[state.active]);
}

document.addEventListener("keydown", (event) => {
  if (!state.index || event.ctrlKey || event.metaKey || event.altKey || at("help").open) return;
  const typing = event.target.matches("input, select, textarea");
  if (event.target === at("list") && event.key in IN_LIST) move(state.active + IN_LIST[event.key]);
  else if (event.target === at("list") && event.key === "Enter" && state.active >= 0) show(state.shown[state.active]).then(() => at("rollout").focus());
  else if (event.key in KEYS && (!typing || event.key === "Escape")) KEYS[event.key]();
  else return;
  event.preventDefault();
});

if (at("viewer")) {
  at("list").addEventListener("scroll", paint, { passive: true });
  addEventListener("resize", paint);
  addEventListener("hashchange", follow);
  at("keys").addEventListener("click", KEYS["?"]);
  at("close").addEventListener("click", () => at("help").close());
  at("stop").addEventListener("click", stopSearch);
  at("find").addEventListener("input", () => { stopSearch(); Object.assign(state, { words: at("find").value, hits: null }); choose(); });
  at("tools").addEventListener("submit", (event) => { event.preventDefault(); searchTexts(); });
}
begin();
