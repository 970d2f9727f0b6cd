"use strict";
// Light or dark: what the system prefers, until the reader chooses.
const themeButton = document.getElementById("theme");
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme ?? (prefersDark.matches ? "dark" : "light")) === "dark";
const nameTheme = () => { themeButton.textContent = isDark() ? "Light" : "Dark"; };

function switchTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  nameTheme();
}

themeButton.addEventListener("click", switchTheme);
prefersDark.addEventListener("change", nameTheme);
themeButton.hidden = false;
nameTheme();

// Paper shows what is folded.
const folded = [];
addEventListener("beforeprint", () => {
  folded.splice(0, folded.length, ...document.querySelectorAll("details:not([open])"));
  for (const one of folded) one.open = true;
});
addEventListener("afterprint", () => { for (const one of folded) one.open = false; });
