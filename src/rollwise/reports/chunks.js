"use strict";
// Compressed pieces of the page -> what they hold. A few are kept, since neighbors are read together.
const KEPT = 6;
const unpacked = new Map();

async function unpack(id) {
  if (!unpacked.has(id)) {
    unpacked.set(id, inflate(id));
    if (unpacked.size > KEPT + 1) unpacked.delete([...unpacked.keys()].find((one) => one !== "index"));
  }
  return unpacked.get(id);
}

async function inflate(id) {
  if (!document.getElementById(id)?.nextSibling && document.readyState === "loading") {
    await new Promise((go) => document.addEventListener("DOMContentLoaded", go, { once: true }));
  }
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}
