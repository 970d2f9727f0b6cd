"use strict";
// Labeling by hand: one rollout after another, kept in this browser for each person, saved as JSON lines.
const at = (id) => document.getElementById(id);
const VALUES = { yes: 1, no: 0, unsure: null };
const work = { index: null, name: "", place: 0, labels: {} };

const keyOf = (name) => `rollwise-labels-${work.index.page}-${name}`;

// A browser may keep nothing (private windows, settings): labels then live as long as the tab.
function kept(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
}

function keep(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

async function begin() {
  work.index = await unpack("index");
  const last = kept(keyOf(""));
  at("name").value = typeof last === "string" ? last : "";
  at("unkept").hidden = keep(keyOf(""), at("name").value);
  stop();
}

function start(event) {
  event.preventDefault();
  work.name = at("name").value.trim();
  if (!work.name) return;
  keep(keyOf(""), work.name);
  const labels = kept(keyOf(`of ${work.name}`));
  work.labels = labels !== null && typeof labels === "object" ? labels : {};
  at("who").textContent = plain(work.name);
  at("begin").hidden = true;
  at("work").hidden = false;
  show(Math.max(0, open(0)));
}

function stop() {
  at("work").hidden = true;
  at("begin").hidden = false;
  at("name").focus();
  at("name").select();
}

// The next rollout without a label, from a place on and around; -1 where each has one.
function open(from) {
  const many = work.index.ids.length;
  for (let step = 0; step < many; step++) {
    const place = (from + step) % many;
    if (!work.labels[work.index.ids[place]]?.label) return place;
  }
  return -1;
}

async function show(place) {
  work.place = place;
  const { facts, rows } = await unpack(`chunk-${place}`);
  if (work.place !== place) return; // the reader has gone on
  const about = Object.entries(facts).map(([name, text]) => element("div", "said", element("span", "", name), block(text)));
  const turns = withoutReturns(rows.map((row) => [row, 0])).map(([row, depth, after]) => turnNode(row, depth, { tool_calls: "tool calls" }, "", { after }));
  at("rollout").replaceChildren(element("h2", "", `Rollout ${place + 1}`), ...about, ...turns);
  tell();
  scrollTo({ top: 0, behavior: "instant" });
  at("rollout").focus({ preventScroll: true });
}

function tell() {
  const { label, note } = work.labels[work.index.ids[work.place]] ?? {};
  const many = work.index.ids.length, done = work.index.ids.filter((id) => work.labels[id]?.label).length;
  at("place").textContent = `Rollout ${work.place + 1} of ${many} · ${done} labeled`;
  at("back").disabled = work.place === 0;
  at("on").disabled = work.place === many - 1;
  at("open").disabled = done === many;
  at("save").disabled = done === 0;
  at("note").value = note ?? "";
  for (const button of at("answer").querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.label === label));
}

function note() {
  const id = work.index.ids[work.place];
  work.labels[id] = { ...work.labels[id], note: at("note").value };
  keep(keyOf(`of ${work.name}`), work.labels);
}

function answer(label) {
  const id = work.index.ids[work.place];
  work.labels[id] = { ...work.labels[id], label, at: new Date().toISOString() };
  keep(keyOf(`of ${work.name}`), work.labels);
  tell();
  if (work.place < work.index.ids.length - 1) show(work.place + 1);
}

function lines() {
  return work.index.ids.map((id, place) => [id, work.labels[id], place]).filter(([, made]) => made?.label).map(([id, made, place]) => JSON.stringify({
    rollout_id: id, judge: work.name, value: VALUES[made.label], label: made.label, reasoning: made.note || null,
    metric: work.index.metric, probability: work.index.probabilities[place], labeled_at: made.at,
  })).join("\n") + "\n";
}

function save() {
  const link = element("a", "");
  link.href = URL.createObjectURL(new Blob([lines()], { type: "application/jsonl" }));
  link.download = `labels-${work.name.replace(/[^\p{L}\p{N}_-]+/gu, "-")}.jsonl`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const KEYS = {
  y: () => answer("yes"),
  n: () => answer("no"),
  u: () => answer("unsure"),
  w: () => at("note").focus(),
  ArrowLeft: () => work.place > 0 && show(work.place - 1),
  ArrowRight: () => work.place < work.index.ids.length - 1 && show(work.place + 1),
  t: switchTheme,
};

document.addEventListener("keydown", (event) => {
  if (at("work").hidden || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === at("note")) {
    if (event.key === "Enter" || event.key === "Escape") at("rollout").focus();
    return;
  }
  if (!(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key]();
});
at("begin").addEventListener("submit", start);
at("answer").addEventListener("click", (event) => { const label = event.target.closest("button")?.dataset.label; if (label) answer(label); });
at("note").addEventListener("input", note);
at("back").addEventListener("click", KEYS.ArrowLeft);
at("on").addEventListener("click", KEYS.ArrowRight);
at("open").addEventListener("click", () => show(open(work.place)));
at("other").addEventListener("click", stop);
at("save").addEventListener("click", save);
begin();
