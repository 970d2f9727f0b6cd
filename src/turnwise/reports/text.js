"use strict";
// Text from a log, as text: never parsed as HTML, and what cannot be seen (control, format and direction characters) as a mark.
const HIDDEN = "(?:(?![\\n\\t\\u200d])[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Co}\\p{Zl}\\p{Zp}])+";
const LONG = 20000; // characters shown at once

const escaped = (words) => words.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
const sought = (words) => new RegExp(words ? `(${escaped(words)})|${HIDDEN}` : `($.)|${HIDDEN}`, "giu");

function escapes(hidden) {
  return [...hidden].map((one) => {
    const code = one.codePointAt(0);
    const [letter, digits] = code < 256 ? ["\\x", 2] : code < 65536 ? ["\\u", 4] : ["\\U", 8];
    return letter + code.toString(16).padStart(digits, "0");
  }).join("");
}

function element(tag, name, ...inside) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.append(...inside);
  return made;
}

// Nodes of a text: plain text, marks for what is hidden, and what was searched for.
function written(text, words) {
  const nodes = [];
  let from = 0;
  for (const hit of text.matchAll(sought(words))) {
    if (hit.index > from) nodes.push(text.slice(from, hit.index));
    nodes.push(hit[1] === undefined ? element("span", "mark", escapes(hit[0])) : element("mark", "", hit[1]));
    from = hit.index + hit[0].length;
  }
  if (from < text.length) nodes.push(text.slice(from));
  return nodes;
}

const plain = (text) => String(text).replace(new RegExp(HIDDEN, "gu"), escapes);

// A block of text that shows its beginning, and all of it when asked.
function block(text, words) {
  const whole = text.replaceAll("\r\n", "\n");
  const made = element("div", "text");
  made.dir = "auto";
  made.append(...written(whole.slice(0, LONG), words));
  if (whole.length > LONG) {
    const more = element("button", "", `show all ${whole.length.toLocaleString("en")} characters`);
    more.type = "button";
    more.addEventListener("click", () => made.replaceChildren(...written(whole, words)));
    made.append("… ", more);
  }
  return made;
}
