"use strict";
// Reading rollouts: what is open, the keys, the address.
const at = (id) => document.getElementById(id);
const state = {
  index: null, starts: [], chunkOf: [], shown: [], active: -1, open: -1, words: "", chosen: {}, order: "log", hits: null, about: null,
  searching: 0, searched: 0, view: null, turn: -1, hit: -1, beside: null, jumped: -1, read: new Set(), lines: [], tops: [], apart: [], goals: null, placed: 0,
};

const isPhone = matchMedia("(max-width: 44rem)"); // as in the style sheet

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
  state.goals = goalsOf(state);
  if (state.goals.isRepeated) state.order = "goal";
  at("filters").append(...index.columns.filter((column) => column.filter).map(filterNode));
  at("order-place").append(orderNode());
  at("viewer").hidden = false;
  choose();
  performance.mark("list");
  if (location.hash.includes("=")) return follow();
  // Nothing was asked for: the first transcript that the page says to read is open, else the first of the list.
  const link = document.querySelector("#transcripts a[href^='#rollout=']");
  const one = Math.max(0, index.ids.indexOf(new URLSearchParams(link?.hash.slice(1)).get("rollout")));
  move(state.shown.indexOf(one));
  await show(one, undefined, null);
}

async function load(one) {
  const chunk = await unpack(`chunk-${state.chunkOf[one]}`);
  const first = state.chunkOf.indexOf(state.chunkOf[one]);
  const rows = Array.from({ length: state.index.rows[one] }, (_, row) => rowOf(chunk.turns, state.starts[one] + row));
  const { labels: names, own } = state.index;
  return prepared({ id: state.index.ids[one], facts: rowOf(chunk.facts, one - first), rows, first: state.index.first[one], names, own });
}

function buttonNode(text, act, key) {
  const made = element("button", "", text, ...(key ? [" ", element("kbd", "", key)] : []));
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

async function show(one, turn, address) {
  state.open = one;
  const view = await load(one);
  if (state.open !== one) return; // the reader has gone on
  const { words } = state, broken = word("attack_success", one) === "yes";
  view.box = turnsBox(view, words);
  view.strip = stripOf(view, goTo);
  Object.assign(state, { view: Object.assign(view, { words }), turn: -1, hit: -1 });
  state.beside = null;
  state.read.add(one);
  paint();
  tellRead();
  const isAlone = !others(one).length;
  at("to-compare").disabled = isAlone;
  const steps = [
    ...(isAlone ? [] : [buttonNode("Compare", () => compare(), "c")]),
    ...(view.success >= 0 ? [buttonNode("First success", KEYS.s, "s")] : broken ? [element("span", "soft", "broken; no verdict says at which turn")] : []),
    buttonNode(reading.raw ? "Markdown" : "Raw text", KEYS.r, "r"),
  ];
  at("rollout").replaceChildren(...headNodes(one, view, words), ...factsNode(view.facts, view.names, words), ...squaresNode(one, openRollout), element("div", "steps", ...steps),
    ...view.strip.nodes, view.box.box);
  at("rollout").scrollTop = 0;
  view.strip.mark(0);
  if (address !== null) settle(address ?? `#rollout=${encodeURIComponent(view.id)}`);
  if (turn) goTo(turn - 1);
  else if (words) {
    growToHit(0);
    atHit(0);
  }
}

// Browsers count changes of the address, and a key held down makes many; a frame without an address of its own has none.
function settle(address) {
  clearTimeout(state.settling);
  state.settling = setTimeout(() => {
    try {
      history.replaceState(null, "", address);
    } catch {
      clearTimeout(state.settling);
    }
  }, 300);
}

// Opens a rollout from beside the list, which follows if it has it.
function openRollout(one) {
  const place = state.shown.indexOf(one);
  if (place >= 0) move(place);
  return show(one);
}

// On a phone the list and what is read are two views, with a bar below the second.
function turnTo(view) {
  const isChange = at("viewer").classList.contains("reading") !== (view === "reading");
  at("viewer").classList.toggle("reading", view === "reading");
  if (isChange && isPhone.matches) at("viewer").scrollIntoView({ behavior: "instant" });
  at("to-list").textContent = `List · ${state.active < 0 ? "–" : state.active + 1} of ${state.shown.length.toLocaleString("en")}`;
  if (view === "list") paint(); // it had no height
}

function goTo(place) {
  if (!state.view || state.beside !== null || place < 0) return;
  const turn = state.view.box.upTo(Math.min(place, state.view.ordered.length - 1));
  if (!turn) return;
  state.turn = Math.min(place, state.view.ordered.length - 1);
  state.view.strip.mark(state.turn);
  const heading = turn.querySelector("h4");
  at("rollout").scrollTop += heading.getBoundingClientRect().top - at("rollout").getBoundingClientRect().top - 8 - stuck();
  state.jumped = at("rollout").scrollTop;
  heading.focus({ preventScroll: true });
}

// The height of the strip where it stays on top.
function stuck() {
  const strip = at("rollout").querySelector(".cells");
  return strip && isPhone.matches ? strip.offsetHeight : 0;
}

// The strip marks the turn that is read, the last one that has begun; after a jump, the turn that was jumped to.
function read() {
  if (!state.view || state.beside !== null || at("rollout").scrollTop === state.jumped) return;
  const line = at("rollout").getBoundingClientRect().top + 60 + stuck();
  const place = state.view.box.turns.findLastIndex((turn) => turn.getBoundingClientRect().top <= line);
  state.view.strip.mark(Math.max(place, 0));
}

// ── the address: #rollout=ID, or columns and what they must be ──
async function follow() {
  const asked = new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B"));
  if (!location.hash.includes("=") || !state.index) return;
  const one = asked.has("rollout") ? state.index.ids.indexOf(asked.get("rollout")) : -1;
  if (one >= 0) {
    turnTo("reading");
    if (!state.shown.includes(one)) clear();
    move(state.shown.indexOf(one));
    const isOpen = state.open === one && state.beside === null && state.view?.id === asked.get("rollout");
    if (!isOpen) await show(one, Number(asked.get("turn")));
    else if (asked.has("turn")) goTo(Number(asked.get("turn")) - 1); // the transcript to read first is open from the start
  } else if (asked.has("rollout")) {
    at("rollout").replaceChildren(element("p", "note", "No rollout on this page has this ID: ", element("bdi", "", plain(asked.get("rollout")))));
  } else {
    clear();
    for (const [name, value] of asked) {
      const code = state.columns[name]?.words.findIndex((one) => named(one) === value || one === value) ?? -1;
      if (state.columns[name]) state.chosen[name] = code; // of a value that no rollout on this page has, none is shown
      const select = [...at("filters").children].find((one) => one.dataset.column === name);
      if (select && code >= 0) select.value = String(code);
    }
    choose();
    turnTo("list");
    state.open = -1; // the first one that was asked for is opened: what was read before may be none of them
    await noStranger(location.hash);
  }
  at("viewer").scrollIntoView({ behavior: "instant" });
}

// ── keys ──
const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  n: () => goTo(state.turn + 1),
  p: () => goTo(Math.max(state.turn - 1, 0)),
  s: () => goTo(state.view?.success ?? -1),
  r: async () => {
    const { turn } = state;
    reading.raw = !reading.raw;
    if (state.beside !== null) await compare(state.beside);
    else if (state.view) await show(state.open, turn + 1);
  },
  c: () => (state.beside === null ? compare() : closeCompare()),
  x: () => toHit(1),
  X: () => toHit(-1),
  t: switchTheme,
  "/": () => { at("viewer").scrollIntoView({ behavior: "instant" }); at("find").focus(); },
  "?": () => at("help").showModal(),
  Escape: () => { stopSearch(); turnTo("list"); at("list").focus(); },
};
const IN_LIST = {
  ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity,
};

function step(by) {
  move(state.active + by);
  if (state.shown.length) show(state.shown[state.active]).then(() => turnTo("reading"));
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
  at("rollout").addEventListener("scroll", read, { passive: true });
  // Where the list gets another size, or a first one in a frame of a notebook, what is open is in sight, unless the reader scrolled.
  new ResizeObserver(() => (state.active >= 0 && at("list").scrollTop === state.placed ? move(state.active) : paint())).observe(at("list"));
  addEventListener("hashchange", follow);
  at("keys").addEventListener("click", KEYS["?"]);
  at("close").addEventListener("click", () => at("help").close());
  at("stop").addEventListener("click", stopSearch);
  at("clear").addEventListener("click", () => { clear(); move(state.active); });
  at("to-list").addEventListener("click", () => { turnTo("list"); move(state.active); });
  at("to-compare").addEventListener("click", () => KEYS.c());
  at("previous").addEventListener("click", () => step(-1));
  at("next").addEventListener("click", () => step(1));
  at("find").addEventListener("input", type);
  at("tools").addEventListener("submit", (event) => { event.preventDefault(); searchTexts(); });
}
begin();
