"use strict";
// A turn as messages of the system, the user, the assistant and tools. Long ones are folded, but never over what is searched for.
const SAID = ["context", "prompt", "reasoning", "thought", "thoughts", "response", "tool_calls", "tool_results", "observation", "error"];
const THOUGHTS = ["reasoning", "thought", "thoughts"];
const TREE = ["node_id", "parent_id", "pruned", "target_call"];
const VERDICTS = { succeeded: ["attack succeeded", "attack failed", "bad", "good"], refused: ["refused", "not refused", "", ""] };
const LINES = { context: 3, prompt: 30, tool: 12, thought: 12, other: 12 };
const WIDE = 110; // letters of a line, about
const SHORT = 80;
const NOTHING = { texts: [], traced: () => false };
const reading = { raw: false };

const shown = (value) => typeof value === "string" ? value
  : typeof value === "number" ? String(Number.isInteger(value) ? value : Number(value.toPrecision(9))) : JSON.stringify(value);
const isShort = (value) => typeof value !== "object" && shown(value).length <= SHORT && !/\n/.test(shown(value));
const isEmpty = (value) => value === undefined || (typeof value === "string" && /^[ \t\r\n]*$/.test(value)) || (Array.isArray(value) && !value.length);
const counted = (many, word) => `${many.toLocaleString("en")} ${word}${many === 1 ? "" : "s"}`;

// Where a text has filled so many lines, of some width; -1 where it has hardly more.
function endOf(text, lines) {
  let from = 0, left = lines;
  while (left > 0) {
    const next = text.indexOf("\n", from), end = next < 0 ? text.length : next;
    const needed = Math.max(1, Math.ceil((end - from) / WIDE));
    if (needed > left) {
      from += left * WIDE;
      const space = text.lastIndexOf(" ", from) + 1;
      if (space > from - WIDE) from = space;
      else if (/[\uD800-\uDBFF]/.test(text[from - 1])) from--;
      break;
    }
    left -= needed;
    from = end + 1;
  }
  const rest = text.slice(from);
  return !rest.trim() || (!rest.trim().includes("\n") && rest.length <= WIDE) ? -1 : from;
}

const finds = (text, words) => words !== "" && new RegExp(escaped(words), "iu").test(text);

// The beginning of a text, and a button for the rest; all of it where the rest has a hit.
function shortened(text, words, lines, paint) {
  const end = endOf(text, lines);
  if (end < 0 || finds(text.slice(Math.max(0, end - words.length)), words)) return paint(text);
  const rest = text.slice(end), more = rest.split("\n").length;
  const button = element("button", "more", more > 1 ? `show ${counted(more, "more line")}` : `show ${counted(rest.length, "more letter")}`);
  button.type = "button";
  const box = element("div", "fold", ...paint(text.slice(0, end)), button);
  button.addEventListener("click", () => box.replaceChildren(...paint(text)));
  return [box];
}

// Text as the log has it; a long one in pieces.
const verbatim = (text, words) => text.length <= LONG ? written(text, words) : [...block(text, words).childNodes];

// Markdown, unless the reader wants it raw or a hit would be cut in two by its signs.
function prose(text, words) {
  if (reading.raw || text.length > LONG || !MARKED.test(text)) return verbatim(text, words);
  const nodes = markdown(text, words);
  const marks = element("div", "", ...nodes).querySelectorAll("mark").length;
  return words && marks < [...text.matchAll(new RegExp(escaped(words), "giu"))].length ? verbatim(text, words) : nodes;
}

// What came back: injected texts are never folded away, what stands around them is.
function returned(text, words, lines, injected, paint) {
  const spans = spansOf(text, injected), nodes = [];
  let from = 0;
  for (const [start, end] of spans) {
    if (text.slice(from, start).trim()) nodes.push(...shortened(text.slice(from, start), words, 4, paint));
    nodes.push(element("div", "injected", flagNode("arrives"), element("div", "", ...verbatim(text.slice(start, end), words))));
    from = end;
  }
  const rest = spans.length && !reading.raw ? text.slice(from).replace(/^\s*\n/, "") : text.slice(from);
  if (!spans.length || rest.trim()) nodes.push(...shortened(rest, words, lines, paint));
  return nodes;
}

function textNode(...nodes) {
  const made = element("div", "text", ...nodes);
  made.dir = "auto";
  return made;
}

function message(kind, role, ...parts) {
  return element("div", `said ${kind}${role === "tool" ? " tool" : ""}`, element("span", "role", role), element("div", "parts", ...parts));
}

// The messages of a turn. `after` says that the turn before called tools: what came since is what they returned.
function messageNodes(row, words, { after = false, about = NOTHING } = {}) {
  const made = [];
  const tell = (name, role, lines, paint) => {
    if (isEmpty(row[name])) return;
    const text = shown(row[name]).replaceAll("\r\n", "\n");
    made.push(message(name, role, textNode(...returned(text, words, lines, about.texts, (part) => paint(part, words)))));
  };
  tell("context", "system", LINES.context, verbatim);
  tell("prompt", after ? "tool" : "user", after ? LINES.tool : LINES.prompt, after ? verbatim : prose);
  for (const name of THOUGHTS) tell(name, "thought", LINES.thought, prose);
  if (!isEmpty(row.response)) {
    made.push(message("response", "assistant", textNode(...prose(shown(row.response).replaceAll("\r\n", "\n"), words))));
  } else if (row.response !== undefined && isEmpty(row.tool_calls)) {
    made.push(message("response", "assistant", element("span", "soft", "The answer is empty."), textNode(row.response)));
  }
  const calls = row.tool_calls ?? [];
  // Where the log says nothing of results, an observation is that of a single call; of two calls nobody knows whose it is.
  const attached = calls.length === 1 && row.tool_results === undefined && !isEmpty(row.observation);
  if (calls.length) {
    const results = attached ? [{ result: shown(row.observation), status: null }] : resultsOf(row);
    made.push(message("tool_calls", counted(calls.length, "call"), ...calls.map((call, place) => {
      const { result, status } = results[place] ?? {};
      const isTold = status === "refused" && results.findIndex((one) => one?.result === result) < place; // one refusal of several calls
      const below = isEmpty(result ?? undefined) || isTold ? []
        : [textNode(...returned(result.replaceAll("\r\n", "\n"), words, LINES.tool, about.texts, (part) => verbatim(part, words)))];
      return callNode(call, status, words, about.traced, below);
    })));
  }
  if (!attached) tell("observation", calls.length ? "tool" : "observation", LINES.tool, verbatim);
  tell("error", "error", LINES.tool, verbatim);
  return made;
}

const reasonNode = (reason, words) => message("reason", "judge", textNode(...shortened(shown(reason), words, LINES.thought, (part) => verbatim(part, words))));

function chip(label, value, words) {
  return element("span", "", `${label} `, element("bdi", "", ...written(shown(value), words)));
}

// `more`: what is known of the rollout (`after`, `about`), and columns that stand in its facts.
function turnNode(row, depth, names, words, more = {}) {
  const made = element("section", `turn indent-${Math.min(depth, 4)}${row.pruned ? " pruned" : ""}`);
  const heading = element("h4", "", row.turn === undefined ? "No prompt" : `Turn ${row.turn}`);
  heading.tabIndex = -1;
  for (const [name, [yes, no, where, otherwise]] of Object.entries(VERDICTS)) {
    if (row[name] !== undefined) heading.append(" · ", element("span", row[name] ? where : otherwise, row[name] ? yes : no));
  }
  for (const sign of more.about ? signsOf(row, more.about) : []) heading.append(" · ", flagNode(sign));
  made.append(heading);
  const node = TREE.filter((name) => row[name] !== undefined).map((name) =>
    name === "pruned" ? element("b", "", row.pruned ? "pruned" : "kept") : chip(names[name], row[name], words));
  if (node.length) made.append(element("div", "chips", ...node));
  if (!isEmpty(row.judge_reason) && !more.facts?.has("judge_reason")) made.append(reasonNode(row.judge_reason, words));
  made.append(...messageNodes(row, words, more));
  const others = Object.keys(row).filter((name) => name !== "turn" && !(name in VERDICTS) && !TREE.includes(name) && !SAID.includes(name)
    && name !== "judge_reason" && !more.facts?.has(name) && !isEmpty(row[name]));
  for (const name of others.filter((one) => !isShort(row[one]))) {
    made.append(message("other", plain(names[name] ?? name), textNode(...shortened(shown(row[name]), words, LINES.other, (part) => verbatim(part, words)))));
  }
  const short = others.filter((name) => isShort(row[name])).map((name) => chip(plain(names[name] ?? name), row[name], words));
  if (short.length) made.append(element("div", "chips", ...short));
  return made;
}
