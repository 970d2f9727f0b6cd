"use strict";
// The list by goal: the worst goal first, each with how many of its attempts succeeded, and squares of all attempts at one goal.
const MOST_SQUARES = 120; // attempts at one goal that have a square
const RESULTS = { // by rate: the words for yes and no, and whether a high rate is the worst
  attack_success: { yes: "broken", no: "held", worstFirst: (share) => -share },
  task_success: { yes: "solved", no: "not solved", worstFirst: (share) => share },
};

// The rate that goals are ordered by, and the column that names them, if any of its values has several rollouts.
function goalsOf({ columns }) {
  const known = (name) => columns[name]?.words.some((one) => one === "yes" || one === "no");
  const rate = Object.keys(RESULTS).find(known) ?? null;
  const goal = ["goal", "task"].find((name) => columns[name]?.words.some((one) => one !== null)) ?? null;
  const isRepeated = goal !== null && columns[goal].words.length < columns[goal].codes.length;
  return { rate, goal, isRepeated };
}

// How many of some rollouts succeeded, of how many that are judged, and how many are not.
function tallied(tally, rate, one) {
  const result = rate === null ? null : word(rate, one);
  tally.all += 1;
  tally.text ??= word("goal_text", one) ?? null;
  if (result === "yes" || result === "no") tally.judged += 1;
  if (result === "yes") tally.yes += 1;
  return tally;
}

const emptyTally = () => ({ yes: 0, judged: 0, all: 0, text: null });

function tallyText({ yes, judged, all }, rate) {
  const unknown = all - judged;
  if (rate === null || !judged) return counted(all, "rollout");
  const open = unknown ? `, ${unknown.toLocaleString("en")} not judged` : "";
  return `${yes.toLocaleString("en")} of ${judged.toLocaleString("en")} ${RESULTS[rate].yes}${open}`;
}

// Sorts rollouts by goal: the worst first, what is not judged last, and within a goal as in the log.
function byGoal(shown, tallies) {
  const { rate, goal } = state.goals, { codes } = state.columns[goal];
  const first = new Map();
  shown.forEach((one) => { if (!first.has(codes[one])) first.set(codes[one], one); });
  const rank = new Map([...first.keys()].map((code) => {
    const { yes, judged } = tallies.get(code);
    return [code, rate === null || !judged ? 2 : RESULTS[rate].worstFirst(yes / judged)];
  }));
  return shown.sort((a, b) => rank.get(codes[a]) - rank.get(codes[b]) || first.get(codes[a]) - first.get(codes[b]) || a - b);
}

// The head of a goal in the list: its words or its name, k of n, and a bar as long as their share.
function goalNode(code, tally) {
  const { rate, goal } = state.goals, share = tally.judged ? tally.yes / tally.judged : 0;
  const bar = element("progress", "");
  bar.max = 1;
  bar.value = share;
  const made = element("div", `goal${rate === "task_success" ? " of-tasks" : ""}`,
    element("b", "", element("bdi", "", tally.text ?? named(state.columns[goal].words[code]))), element("span", "", tallyText(tally, rate)), ...(tally.judged ? [bar] : []));
  made.setAttribute("aria-hidden", "true"); // the group says it
  return made;
}

// All attempts at the goal of a rollout as squares in the color of their verdict; a click opens one.
function squaresNode(one, open) {
  const { rate, goal } = state.goals;
  if (goal === null || word(goal, one) === null) return [];
  const { codes } = state.columns[goal], same = [];
  for (let other = 0; other < codes.length; other++) if (codes[other] === codes[one]) same.push(other);
  if (same.length < 2) return [];
  const tally = same.reduce((sum, other) => tallied(sum, rate, other), emptyTally());
  // Of very many, those around the one that is read.
  const start = Math.max(0, Math.min(same.indexOf(one) - MOST_SQUARES / 2, same.length - MOST_SQUARES));
  const squares = same.slice(start, start + MOST_SQUARES).map((other) => {
    const [kind, verdict] = rate === "task_success" ? [{ yes: "good", no: "bad" }[word(rate, other)] ?? "open", SOLVED[word(rate, other)] ?? "not judged"]
      : verdictOf(other) ?? ["open", "not judged"];
    const square = buttonNode("", () => open(other));
    square.className = `square ${kind}`;
    square.title = `${nameOf(other, one, verdict)}`;
    square.setAttribute("aria-label", square.title);
    if (other === one) square.setAttribute("aria-current", "true");
    return square;
  });
  const left = same.length - squares.length;
  const box = element("div", "squares", element("span", "soft", goal === "goal" ? "Same goal:" : "Same task:"), ...squares,
    element("span", "soft", `${tallyText(tally, rate)}${left ? `; ${left.toLocaleString("en")} more in the list` : ""}`));
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", `Attempts at the same ${goal}`);
  return [box];
}
