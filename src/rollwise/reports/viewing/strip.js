"use strict";
// The strip of a rollout: a cell for each turn, with its color and sign; a click goes to the turn.
const MOST_CELLS = 60; // more turns share cells
const WIDE_CELLS = 24; // of more, each has its sign alone
const STATES = { // the first that is true of a turn, or of any turn of a cell
  success: ["!", "attack succeeded", (row) => row.succeeded === true],
  error: ["×", "error", (row) => !isEmpty(row.error)],
  refused: ["–", "refused", (row) => row.refused === true],
  failed: ["·", "attack failed", (row) => row.succeeded === false],
};

const stateOf = (rows) => Object.keys(STATES).find((state) => rows.some(STATES[state][2])) ?? null;

function cellNode(view, from, to, go, narrow) {
  const rows = view.ordered.slice(from, to).map(([row]) => row), state = stateOf(rows);
  const number = String(rows[0].turn ?? from + 1);
  const name = rows.length > 1 ? `turns ${number} to ${rows.at(-1).turn ?? to}` : rows[0].turn === undefined ? "no prompt" : `turn ${number}`;
  const signs = Object.keys(SIGNS).filter((sign) => rows.some((row) => signsOf(row, view.about).includes(sign)));
  const cell = element("button", `cell ${state ?? "unjudged"} deep-${Math.min(view.ordered[from][1], 4)}`, element("span", "", ...(narrow ? [] : [number]), state ? ` ${STATES[state][0]}` : ""),
    element("em", "", signs.map((sign) => SIGNS[sign][0]).join("")));
  cell.type = "button";
  cell.title = [name, state ? STATES[state][1] : "not judged", ...signs.map((sign) => SIGNS[sign][1])].join(", ");
  cell.setAttribute("aria-label", `${number}: ${cell.title}`);
  const place = state === null ? 0 : rows.findIndex(STATES[state][2]);
  cell.addEventListener("click", () => go(from + place));
  return { cell, from, to, state, signs };
}

// The strip, the key of what is in it, and how to mark the turn that is read.
function stripOf(view, go) {
  const many = view.ordered.length, per = Math.ceil(many / MOST_CELLS);
  const narrow = Math.ceil(many / per) > WIDE_CELLS;
  const cells = Array.from({ length: Math.ceil(many / per) }, (_, cell) => cellNode(view, cell * per, Math.min((cell + 1) * per, many), go, narrow));
  const strip = element("div", "cells", ...cells.map(({ cell }) => cell));
  strip.setAttribute("role", "group");
  strip.setAttribute("aria-label", per > 1 ? `Turns, ${per} to a cell` : view.ordered.some(([, depth]) => depth) ? "Turns; deeper ones of the tree stand lower" : "Turns");
  const states = Object.keys(STATES).filter((state) => cells.some((one) => one.state === state));
  const words = states.map((state) => element("span", `key ${state}`, `${STATES[state][0]} ${STATES[state][1]}`));
  if (cells.some((one) => one.state === null)) words.push(element("span", "key unjudged", "not judged"));
  const signs = Object.keys(SIGNS).filter((sign) => cells.some((one) => one.signs.includes(sign)));
  const key = element("p", "keys", ...words, ...signs.map(flagNode));
  const mark = (place) => cells.forEach(({ cell, from, to }) => {
    if (place >= from && place < to) cell.setAttribute("aria-current", "true");
    else cell.removeAttribute("aria-current");
  });
  return { nodes: many > 1 ? [strip, key] : [], mark };
}
