"use strict";
// Figures that answer: a pointer, the focus and a finger show the numbers of a mark, a click opens its transcripts. Tables sort.
{
const made = (tag, name, text) => Object.assign(document.createElement(tag), { className: name, textContent: text });
const chosen = (to) => [...new URLSearchParams(to.slice(1).replaceAll("+", "%2B"))];
const NEAR = 12, FLAT = 30; // pixels: how near a pointer must be to a mark that is less high than FLAT
const tip = made("div", "", "");
tip.id = "tip";
tip.hidden = true;
document.querySelector("main").append(tip);

// ── marks and rows of the same group ──
function hold(figure, mark, x, y) {
  for (const one of figure.querySelectorAll(".mark")) one.classList.toggle("on", one.dataset.to === mark.dataset.to);
  figure.classList.add("answers");
  const all = [...figure.closest("section").querySelectorAll("figure")], next = all[all.indexOf(figure) + 1];
  const after = (one, other) => Boolean(one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING);
  const wanted = chosen(mark.dataset.to ?? "");
  const rows = [...figure.closest("section").querySelectorAll("tr[data-to]")].filter((row) => {
    const has = new Map(chosen(row.dataset.to));
    const same = mark.dataset.to !== undefined && wanted.every(([name, value]) => has.get(name) === value);
    const isOn = same && after(figure, row) && !(next && after(next, row));
    row.classList.toggle("on", isOn);
    return isOn;
  });
  const words = mark.getAttribute("aria-label");
  const more = rows.length === 1 ? [...rows[0].cells].filter((cell) => !cell.classList.contains("word") && !words.includes(cell.textContent))
    .map((cell) => `${cell.dataset.head}: ${cell.textContent}`) : [];
  tip.replaceChildren(made("b", "", words), ...more.map((line) => made("span", "", line)));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 4))}px`;
  tip.style.top = `${y + 14 + height < innerHeight ? y + 14 : Math.max(4, y - height - 14)}px`;
}

function release() {
  tip.hidden = true;
  for (const one of document.querySelectorAll("main .on")) one.classList.remove("on");
  for (const one of document.querySelectorAll("figure.answers")) one.classList.remove("answers");
}

function beside(mark) {
  const { right, top } = mark.getBoundingClientRect();
  hold(mark.closest("figure"), mark, right, top);
}

function under(svg, event) {
  const hit = document.elementsFromPoint(event.clientX, event.clientY).map((one) => one.closest(".mark")).find(Boolean);
  if (hit && svg.contains(hit)) return hit;
  const far = (mark) => {
    const { left, right, top, bottom, height } = mark.getBoundingClientRect();
    if (height > FLAT) return Infinity;
    return Math.hypot(Math.max(left - event.clientX, event.clientX - right, 0), Math.max(top - event.clientY, event.clientY - bottom, 0));
  };
  const [first] = [...svg.querySelectorAll(".mark")].map((mark) => [far(mark), mark]).sort((one, other) => one[0] - other[0]);
  return first && first[0] <= NEAR ? first[1] : null;
}

function open(mark) {
  const to = mark.dataset.to;
  if (to === undefined) return;
  release();
  const wanted = to === "#" ? "#transcripts" : to; // the only group: all transcripts
  if (location.hash === wanted) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = wanted;
}

function answer(figure, svg) {
  const marks = [...svg.querySelectorAll(".mark")], stops = [];
  for (const mark of marks) {
    const title = mark.querySelector("title"), words = title.textContent;
    const more = [...mark.querySelectorAll("text")].map((text) => text.textContent).filter((text) => !words.includes(text)); // such as "no interval"
    mark.setAttribute("aria-label", [words, ...more].join(", "));
    mark.setAttribute("role", mark.dataset.to === undefined ? "img" : "link");
    title.remove(); // it would be a second tooltip
    const isNew = !stops.some((one) => one.getAttribute("aria-label") === mark.getAttribute("aria-label"));
    if (isNew) stops.push(mark);
    else mark.setAttribute("aria-hidden", "true");
  }
  if (!marks.length) return;
  svg.setAttribute("role", "group"); // an image has no links inside
  const stop = (place) => stops.forEach((one, other) => { one.tabIndex = other === place ? 0 : -1; });
  stop(0);
  svg.addEventListener("pointermove", (event) => {
    const mark = under(svg, event);
    svg.classList.toggle("linked", mark?.dataset.to !== undefined);
    if (mark) hold(figure, mark, event.clientX, event.clientY);
    else release();
  });
  svg.addEventListener("pointerleave", release);
  svg.addEventListener("focusin", (event) => {
    stop(stops.indexOf(event.target));
    beside(event.target);
  });
  svg.addEventListener("focusout", release);
  let touched = null; // a finger shows the numbers first, and opens when it comes again
  svg.addEventListener("click", (event) => {
    const mark = under(svg, event), again = event.pointerType !== "touch" || touched === mark;
    touched = mark;
    if (mark && again) open(mark);
    else if (mark) hold(figure, mark, event.clientX, event.clientY);
  });
  svg.addEventListener("keydown", (event) => {
    const place = stops.indexOf(event.target), last = stops.length - 1;
    const to = { ArrowRight: place + 1, ArrowDown: place + 1, ArrowLeft: place - 1, ArrowUp: place - 1, Home: 0, End: last }[event.key];
    if (to !== undefined) stops[Math.min(Math.max(to, 0), last)].focus({ focusVisible: true });
    else if (event.key === "Enter") open(stops[place]);
    else if (event.key === "Escape") release();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

// ── what a reader can take along: made of what the page holds ──
function drawing(figure) {
  const copy = figure.querySelector("svg").cloneNode(true);
  for (const one of [copy, ...copy.querySelectorAll(".mark")]) {
    for (const name of ["class", "tabindex", "data-to", "aria-hidden", "role"]) one.removeAttribute(name);
  }
  return new XMLSerializer().serializeToString(copy);
}

async function picture(figure) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawing(figure))}`;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: 3 * image.width, height: 3 * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

function save(name, file) {
  const link = Object.assign(document.createElement("a"), { download: name, href: URL.createObjectURL(file) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

async function copy(figure, said) {
  const shown = figure.querySelector("pre") ?? made("pre", "copy", figure.dataset.call);
  shown.tabIndex = 0;
  figure.append(shown);
  try {
    await navigator.clipboard.writeText(figure.dataset.call);
    said.textContent = "Copied; turns is turns.parquet in the folder of this report.";
  } catch {
    getSelection().selectAllChildren(shown);
    said.textContent = "This browser does not let the page copy; the call is selected.";
  }
}

function buttons(figure) {
  const said = made("span", "", ""), { name, csv, call } = figure.dataset;
  said.setAttribute("role", "status");
  const actions = [
    ["SVG", () => save(`${name}.svg`, new Blob([drawing(figure)], { type: "image/svg+xml" }))],
    ["PNG", async () => save(`${name}.png`, await picture(figure))],
    ...(csv ? [["CSV", () => save(`${name}.csv`, new Blob(["\ufeff", csv], { type: "text/csv;charset=utf-8" }))]] : []),
    ...(call ? [["Copy the call", () => copy(figure, said)]] : []),
  ];
  const bar = made("p", "take", "");
  bar.append(...actions.map(([words, act]) => {
    const button = made("button", "", words);
    button.type = "button";
    button.setAttribute("aria-label", `${words}: ${figure.querySelector("svg").getAttribute("aria-label")}`);
    button.addEventListener("click", act);
    return button;
  }), said);
  figure.append(bar);
}

// ── tables ──
function value(cell) {
  const text = cell.textContent.replaceAll(",", "").replaceAll("\u2212", "-").trim();
  const found = /^[–-]( |$)/.test(text) ? null : text.match(/-?\d+(\.\d+)?(e[+-]?\d+)?/i);
  return found ? Number(found[0]) : null;
}

function sortable(table) {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  if (rows.length < 2) return;
  heads.forEach((head, place) => {
    const button = made("button", "", head.textContent), isWord = head.classList.contains("word");
    button.type = "button";
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      // One direction, the other, and then the order of the report again.
      const [first, second] = isWord ? ["ascending", "descending"] : ["descending", "ascending"];
      const now = { [first]: second, [second]: null }[head.getAttribute("aria-sort")];
      const order = now === undefined ? first : now;
      for (const one of heads) one.removeAttribute("aria-sort");
      if (order) head.setAttribute("aria-sort", order);
      const way = order === "ascending" ? 1 : -1;
      const key = new Map(rows.map((row) => [row, isWord ? row.cells[place].textContent : value(row.cells[place])]));
      const compare = (one, other) => {
        const [a, b] = [key.get(one), key.get(other)];
        if (a === null || b === null) return (a === null) - (b === null); // what is unknown comes last
        return way * (isWord ? a.localeCompare(b, "en", { numeric: true }) : a - b);
      };
      body.append(...(order ? rows.toSorted(compare) : rows));
    });
  });
}

for (const figure of document.querySelectorAll("figure")) {
  for (const svg of figure.querySelectorAll("svg")) answer(figure, svg);
  buttons(figure);
}
document.querySelectorAll("main table").forEach(sortable);
addEventListener("scroll", () => {
  const focused = document.activeElement?.matches(".mark") && !tip.hidden; // its place has changed
  if (focused) beside(document.activeElement);
  else release();
}, { passive: true });
}
