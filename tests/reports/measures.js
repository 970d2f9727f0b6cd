// What a page shows, and what is wrong with it.
const images = [...document.querySelectorAll("figure svg")];
const ids = [...document.querySelectorAll("[id]")].map(one => one.id);
return {
  overflow: document.scrollingElement.scrollWidth - window.innerWidth,
  sections: [...document.querySelectorAll("main > section")].map(one => one.id),
  shown: images.filter(one => one.checkVisibility()).length,
  unnamed: images.filter(one => !one.getAttribute("aria-label")?.trim()).length,
  unloaded: images.filter(one => one.checkVisibility() && one.getBoundingClientRect().width <= 50).length,
  twice: ids.filter((one, place) => ids.indexOf(one) !== place),
  unlabeled: [...document.querySelectorAll("button, input, select, a")].filter(
    one => !(one.textContent.trim() || one.getAttribute("aria-label"))).length,
  levels: [...document.querySelectorAll("h1, h2, h3, h4")].filter(one => one.checkVisibility()).map(one => Number(one.tagName[1])),
  unscrollable: [...document.querySelectorAll("main *")].filter(one => one.scrollWidth > one.clientWidth + 1
    && ["auto", "scroll"].includes(getComputedStyle(one).overflowX) && one.checkVisibility() && one.tabIndex < 0).map(one => one.className || one.id),
  language: document.documentElement.lang, ink: getComputedStyle(document.body).color, page: getComputedStyle(document.body).backgroundColor,
};
