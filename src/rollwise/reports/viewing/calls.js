"use strict";
// Calls of tools: the name, and a line for each argument. Values stand as the log has them: no number is rounded, no name lost.
const DEEPEST = 3; // levels of arguments that get lines of their own
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

// The members of a JSON object as names and JSON texts; null where the text is no object.
function members(text) {
  try {
    const value = JSON.parse(text);
    if (value === null || typeof value !== "object" || Array.isArray(value)) return null;
  } catch {
    return null;
  }
  const found = [];
  let depth = 0, name = null, from = -1;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const closes = token === "}" || token === "]";
    if (depth === 1 && from >= 0 && (token === "," || token === "}")) {
      found.push([JSON.parse(name), text.slice(from, index).trim()]);
      name = null;
      from = -1;
    } else if (depth === 1 && name === null && token[0] === "\"") name = token;
    else if (depth === 1 && token === ":" && from < 0) from = index + 1;
    if (token === "{" || token === "[") depth++;
    else if (closes) depth--;
  }
  return found;
}

const valueOf = (json) => json[0] === "\"" ? JSON.parse(json) : json;

// Names and values of an object as lines; `traced` says of a value whether it is in an injected text.
function argumentNodes(pairs, words, traced, depth) {
  const lines = pairs.flatMap(([name, json]) => {
    const inside = depth < DEEPEST ? members(json) : null;
    const value = valueOf(json);
    const from = !inside?.length && traced(value);
    const shownValue = inside?.length ? [argumentNodes(inside, words, traced, depth + 1)]
      : [element("span", from ? "traced" : "", ...shortened(value, words, 12, (part) => written(part, words))),
        ...(from ? [" ", element("span", "flag", "from the injected text")] : [])];
    return [element("dt", "", ...written(`${name}:`, words)), element("dd", "", ...shownValue)];
  });
  return element("dl", "arguments", ...lines);
}

const statusNodes = (status) => status === "failed" ? [" ", element("span", "flag", "× the call failed")] : status === "refused" ? [" ", flagNode("refused")] : [];

// A call, its status where the log says that it did not run as it should, and inside of it what came back.
function callNode(call, status, words, traced, below) {
  const pairs = call.arguments === null || reading.raw ? null : members(call.arguments);
  const head = [call.name, pairs ? null : call.arguments].filter((part) => part !== null).join(" ");
  const made = element("div", "text call", element("div", "call-name", ...written(pairs && !pairs.length ? `${head} ()` : head, words)));
  made.firstChild.append(...statusNodes(status));
  if (pairs?.length) made.append(argumentNodes(pairs, words, traced, 1));
  if (below.length) made.append(element("div", "result", ...below));
  return made;
}
