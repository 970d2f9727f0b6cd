// Text whose contrast with its ground is below WCAG AA, and how many texts there are.
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
const rgba = color => {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].map((one, place) => place < 3 ? one : one / 255);
};
const luminance = rgb => rgb.slice(0, 3).map(one => one / 255).map(
  one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4).reduce((sum, one, place) => sum + one * [0.2126, 0.7152, 0.0722][place], 0);
const ground = node => {
  for (let one = node; one; one = one.parentElement) {
    const color = rgba(getComputedStyle(one).backgroundColor);
    if (color[3] === 1) return color;
  }
  return rgba(getComputedStyle(document.documentElement).colorScheme.includes("dark") ? "#000" : "#fff");
};
const faint = [];
let many = 0;
for (const node of document.querySelectorAll("body *")) {
  const own = [...node.childNodes].some(one => one.nodeType === 3 && one.data.trim());
  if (!own || !node.checkVisibility() || node.closest("script, noscript, :disabled")) continue;
  many++;
  const style = getComputedStyle(node), [light, dark] = [luminance(rgba(style.color)), luminance(ground(node))].sort((a, b) => b - a);
  const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
  if ((light + 0.05) / (dark + 0.05) < (large ? 3 : 4.5)) faint.push([node.tagName, node.className, node.textContent.slice(0, 30), (light + 0.05) / (dark + 0.05)]);
}
return {faint, many};
