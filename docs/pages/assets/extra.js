// What a page needs that its theme does not do: code that scrolls can be reached by the keyboard, regions have names of their own,
// and a page that was opened from a folder says that its search needs a server.
function mend() {
  for (const block of document.querySelectorAll(".md-typeset pre > code, .md-typeset p:has(> .plot), .md-typeset .table > div, .md-typeset__scrollwrap")) {
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
  }
  document.querySelectorAll(".md-code__nav").forEach((region, number) => region.setAttribute("aria-label", `Code ${number + 1}`));
  if (location.protocol !== "file:") return;
  for (const button of document.querySelectorAll(".md-search__button")) {
    button.textContent = "Search needs a server";
    button.title = "Start one with: poe docs, or: python -m http.server";
    button.disabled = true;
  }
}
addEventListener("load", mend);
addEventListener("resize", mend);
