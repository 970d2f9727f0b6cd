"use strict";
// Searching what was said: as one types, piece after piece, and it can be stopped; then from hit to hit.
const PAUSE = 300; // milliseconds after the last letter

function type() {
  stopSearch();
  Object.assign(state, { words: at("find").value, hits: null });
  choose();
  if (state.words) state.typing = setTimeout(searchTexts, PAUSE);
}

async function searchTexts() {
  clearTimeout(state.typing);
  const words = state.words.toLowerCase(), mine = ++state.searching;
  if (!words) return;
  const said = (value) => typeof value === "string" ? value.toLowerCase().includes(words)
    : value !== null && typeof value === "object" && Object.values(value).some(said);
  state.hits = new Set();
  at("progress").value = 0;
  at("searched").textContent = "";
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
    at("searched").textContent = `searched ${done.toLocaleString("en")} of ${state.index.ids.length.toLocaleString("en")} rollouts, found it in ${state.hits.size.toLocaleString("en")}`;
    choose();
    await new Promise((go) => setTimeout(go));
    if (mine !== state.searching) return;
  }
  at("search").hidden = true;
  state.searched = mine;
  await noStranger();
  if (state.view && state.view.words !== state.words) await show(state.open);
}

function stopSearch() {
  clearTimeout(state.typing);
  state.searching++;
  at("search").hidden = true;
}

// The next or previous hit: in what is open, in its turns that are not rendered yet, then in the next rollout.
async function toHit(by) {
  if (!state.words || !state.view || state.beside !== null) return;
  const place = state.hit + by;
  if (by > 0) growToHit(place);
  if (markAt(place)) return atHit(place);
  const next = state.shown[state.active + by];
  if (next === undefined) return;
  move(state.active + by);
  await show(next);
  if (by < 0) {
    state.view.box.upTo(state.view.ordered.length - 1);
    atHit(at("rollout").querySelectorAll("mark").length - 1);
  }
}

const markAt = (place) => at("rollout").querySelectorAll("mark")[place];

// Renders turns until there are so many hits, or no turn is left that has one.
function growToHit(place) {
  const { ordered, box } = state.view;
  for (let turn = box.turns.length; !markAt(place) && turn < ordered.length; turn++) {
    if (rowFinds(ordered[turn][0], state.words)) box.upTo(turn);
  }
}

function atHit(place) {
  const marks = at("rollout").querySelectorAll("mark");
  for (const mark of marks) mark.classList.toggle("now", mark === marks[place]);
  if (!marks[place]) return;
  state.hit = place;
  const folding = marks[place].closest("details");
  if (folding) folding.open = true;
  const look = () => marks[place].scrollIntoView({ block: "center", behavior: "instant" });
  look();
  requestAnimationFrame(() => requestAnimationFrame(look)); // what was out of sight has its size only now
}
