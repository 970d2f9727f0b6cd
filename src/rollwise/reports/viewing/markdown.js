"use strict";
// Markdown of a text from a log: bold, code, lists, tables and headings, as elements made here; never links, pictures or HTML.
const MARKED = /\*\*|`|^ {0,3}#{1,6} |^\s*(?:[-*+]|\d+[.)]) |^\s*\|.*\|\s*$/m;
const ITEM = /^(\s*)(?:[-*+]|(\d{1,9})[.)]) +(\S.*)$/;
const LINE = /^[\s|:-]*-[\s|:-]*$/; // between the head of a table and its rows

// Bold and code inside of a line; everything else is text.
function inline(text, words) {
  return text.split(/(\*\*(?=\S)[^*\n]*[^*\s]\*\*|`[^`\n]+`)/).flatMap((part, odd) => !(odd % 2) ? written(part, words)
    : [part[0] === "`" ? element("code", "", ...written(part.slice(1, -1), words)) : element("b", "", ...inline(part.slice(2, -2), words))]);
}

const cellsOf = (line) => line.trim().slice(1, -1).split("|").map((cell) => cell.trim());

// The lines of a table from a place on: a head, a line below it, rows; null where there is none.
function tableAt(lines, from, words) {
  const isRow = (line) => line !== undefined && /^\s*\|.*\|\s*$/.test(line);
  if (!isRow(lines[from]) || !isRow(lines[from + 1]) || !LINE.test(lines[from + 1])) return null;
  let to = from + 2;
  while (isRow(lines[to])) to++;
  const row = (line, tag) => element("tr", "", ...cellsOf(line).map((cell) => element(tag, "", ...inline(cell, words))));
  return [element("table", "md-table", element("tbody", "", row(lines[from], "th"), ...lines.slice(from + 2, to).map((line) => row(line, "td")))), to];
}

// The items of a list from a place on; an item that is indented stands further to the right.
function listAt(lines, from, words) {
  const first = ITEM.exec(lines[from]);
  if (!first) return null;
  const list = element(first[2] === undefined ? "ul" : "ol", "");
  if (first[2] !== undefined) list.start = Number(first[2]);
  let to = from;
  for (let item = first; item && (item[2] === undefined) === (first[2] === undefined); item = ITEM.exec(lines[++to] ?? "")) {
    list.append(element("li", `indent-${Math.min(Math.floor(item[1].length / 2), 4)}`, ...inline(item[3], words)));
  }
  return [list, to];
}

// A fence of three signs or more, to its end or the end of the text; null where there is none.
function fenceAt(lines, from, words) {
  const fence = /^\s*(`{3,}|~{3,})[^`]*$/.exec(lines[from]);
  if (!fence) return null;
  let to = from + 1;
  while (to < lines.length && lines[to].trim() !== fence[1]) to++;
  return [element("pre", "md-code", ...written(lines.slice(from + 1, to).join("\n"), words)), to + 1];
}

function markdown(text, words) {
  const lines = text.split("\n"), made = [];
  let open = []; // lines of a paragraph
  const close = () => {
    if (open.length) made.push(element("div", "md-text", ...inline(open.join("\n"), words)));
    open = [];
  };
  for (let place = 0; place < lines.length;) {
    const found = fenceAt(lines, place, words) ?? tableAt(lines, place, words) ?? listAt(lines, place, words);
    const heading = found ? null : /^ {0,3}#{1,6} +(.*?)[ #]*$/.exec(lines[place]);
    if (found || heading) close();
    if (found) made.push(found[0]);
    else if (heading) made.push(element("div", "md-head", ...inline(heading[1], words)));
    else open.push(lines[place]);
    place = found ? found[1] : place + 1;
  }
  close();
  return made;
}
