"use strict";
// Results of tools where they are read: inside of their calls, and not a second time in the prompt or the observation after them.

// The places of results in a text, each between lines of its own and none inside of another; the longest are looked for first.
function placesOf(results, text) {
  const places = [];
  for (const result of [...results].sort((a, b) => b.length - a.length)) {
    for (let from = text.indexOf(result); from >= 0; from = text.indexOf(result, from + 1)) {
      const to = from + result.length;
      const isApart = (from === 0 || text[from - 1] === "\n") && (to === text.length || text[to] === "\n");
      if (!isApart || places.some(([start, end]) => from < end && start < to)) continue;
      places.push([from, to]);
      break;
    }
  }
  return places.sort((a, b) => a[0] - b[0]);
}

// What a text holds besides some results; undefined where that is nothing.
function besides(results, text) {
  if (typeof text !== "string") return text;
  const parts = [];
  let from = 0;
  for (const [start, end] of [...placesOf(results, text), [text.length, text.length]]) {
    parts.push(text.slice(from, start).replace(/^\n+|\n+$/g, ""));
    from = end;
  }
  const rest = parts.filter((part) => part.trim()).join("\n\n");
  return rest === "" ? undefined : rest;
}

const resultsOf = (row) => row?.tool_results ?? [];
const textsOf = (row) => resultsOf(row).map((one) => one?.result).filter((text) => typeof text === "string" && text !== "");
const isAnswered = (row) => resultsOf(row).length > 0 && resultsOf(row).every((one) => typeof one?.result === "string");

// Rows in reading order without results that stand in a call: `after` says that what is left may be what tools returned.
function withoutReturns(ordered) {
  const byNode = new Map(ordered.filter(([row]) => row.node_id !== undefined).map(([row]) => [row.node_id, row]));
  return ordered.map(([row, depth], place) => {
    const above = row.parent_id !== undefined ? byNode.get(row.parent_id) : ordered[place - 1]?.[0];
    const made = { ...row };
    for (const [name, texts] of [["prompt", textsOf(above)], ["observation", textsOf(row)]]) {
      if (!texts.length || row[name] === undefined) continue;
      const rest = besides(texts, row[name]);
      if (rest === undefined) delete made[name];
      else made[name] = rest;
    }
    const after = above !== undefined && !isEmpty(above.tool_calls) && !(isAnswered(above) && made.prompt !== row.prompt);
    return [made, depth, after];
  });
}
