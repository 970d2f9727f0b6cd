"use strict";
// The filter in words: what the list holds, as a title; where a count was followed, with its rate and interval.
const ASKED = { // by rate and its value: the title after "Why these 8 of 144", or after the number where it is no success
  attack_success: { one: "attempt", many: "attempts", yes: "succeeded", no: "held" },
  task_success: { one: "rollout", many: "rollouts", yes: "solved the task", no: "did not solve the task" },
};

const chosenWord = (name) => state.columns[name].words[state.chosen[name]];

// The row of a result whose rollouts are chosen, but for the verdict: the row of just these values, or the only one that has them.
function rowOfResult(rate, limits) {
  const agrees = ({ of }) => limits.every((name) => name in of && chosenWord(name) === of[name]);
  const rows = (state.index.rates ?? []).filter((row) => row.metric === rate && agrees(row));
  return rows.find(({ of }) => Object.keys(of).length === limits.length) ?? (rows.length === 1 ? rows[0] : null);
}

// The title and the line above it: `shown` is how many rollouts are listed, `tally` counts all that the other filters leave.
function titleOfFilter(shown, tally) {
  const chosen = wantedNow().map(([name]) => name), rate = Object.keys(ASKED).find((name) => chosen.includes(name)) ?? null;
  const limits = chosen.filter((name) => name !== rate);
  const valueOf = (name) => (state.chosen[name] < 0 ? "not on this page" : named(chosenWord(name)));
  const words = [...limits.map((name) => `${state.columns[name].label} ${valueOf(name)}`), ...(state.words ? [`says “${plain(state.words)}”`] : [])];
  const result = rate === null ? null : chosenWord(rate);
  if (rate === null || !["yes", "no"].includes(result)) {
    const unknown = rate === null || result === undefined ? "" : ` ${shown === 1 ? "has" : "have"} no verdict`;
    return { title: `${counted(shown, "rollout")}${unknown}`, words };
  }
  // The rollouts of a result may be more than those on this page.
  const row = state.words ? null : rowOfResult(rate, limits), { one, many } = ASKED[rate];
  const judged = row?.judged ?? tally.judged, yes = row?.yes ?? tally.yes, number = result === "yes" ? yes : judged - yes;
  const these = number === shown ? (shown === 1 ? "this " : "these ") : "";
  const title = `Why ${these}${number.toLocaleString("en")} of ${judged.toLocaleString("en")} ${judged === 1 ? one : many} ${ASKED[rate][result]}`;
  return { title: number ? title : `None of ${judged.toLocaleString("en")} ${judged === 1 ? one : many} ${ASKED[rate][result]}`,
    words: [...words, ...(row ? [`${row.words}: ${row.text}`] : [])] };
}

function writeTitle(tally) {
  const { title, words } = titleOfFilter(state.shown.length, tally);
  at("filter-title").textContent = title;
  at("filter-title").hidden = !wantedNow().length && !state.words; // the count says it
  at("filter-words").replaceChildren(...words.flatMap((part, place) => [...(place ? [" · "] : []), element("bdi", "", part)]));
  at("filter-words").hidden = !words.length;
}
