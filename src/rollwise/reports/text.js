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

// Pieces of a text that end at a line or a word where there is one, and never inside of a character.
function pieces(text) {
  const made = [];
  for (let from = 0; from < text.length;) {
    let to = Math.min(from + LONG, text.length);
    if (to < text.length) {
      const end = Math.max(text.lastIndexOf("\n", to - 1), text.lastIndexOf(" ", to - 1)) + 1;
      if (end > from + LONG / 2) to = end;
      else if (/[\uD800-\uDBFF]/.test(text[to - 1])) to--;
    }
    made.push(text.slice(from, to));
    from = to;
  }
  return made;
}

// A block of text that shows its beginning, and all of it when asked; what is out of sight costs the browser nothing.
function block(text, words) {
  const whole = text.replaceAll("\r\n", "\n");
  const made = element("div", "text");
  made.dir = "auto";
  if (whole.length <= LONG) {
    made.append(...written(whole, words));
    return made;
  }
  const parts = pieces(whole);
  const more = element("button", "", `show all ${whole.length.toLocaleString("en")} characters`);
  more.type = "button";
  more.addEventListener("click", () => more.replaceWith(...parts.slice(1).map((part) => element("div", "piece", ...written(part, words)))));
  made.append(element("div", "piece", ...written(parts[0], words)), more);
  if (words && whole.toLowerCase().includes(words.toLowerCase(), parts[0].length - words.length)) more.click();
  return made;
}
