// How heads form: a slider over the training of a run, four curves, and the map of its best head.
import { ask, Refused } from "/asking.js";
import { asSentence, make, number, shades } from "/drawing.js";

const $ = (id) => document.getElementById(id);
const PACE = 300; // milliseconds per step while it plays
const WIDE = 200, HIGH = 60; // of a curve, in its own units
const step = (value) => value.toLocaleString("en");

function drawn(tag, facts) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(facts)) node.setAttribute(name, value);
  return node;
}

// One number over all looks, on a scale of its own, with a mark at the current step.
function curve(one, steps) {
  const least = Math.min(0, ...one.values);
  const most = Math.max(one.name === "prefix_matching" || one.name === "previous_token" ? 1 : 0, ...one.values);
  const across = (at) => steps[at] / steps.at(-1) * WIDE;
  const up = (value) => (1 - (value - least) / (most - least || 1)) * HIGH;
  const picture = drawn("svg", { viewBox: `-5 -4 ${WIDE + 10} ${HIGH + 8}`, "aria-hidden": "true" });
  const mark = drawn("line", { y1: -4, y2: HIGH + 4, class: "mark" });
  const dot = drawn("circle", { r: 4, class: "dot" });
  picture.append(drawn("line", { x1: 0, x2: WIDE, y1: up(0), y2: up(0), class: "end" }),
    drawn("polyline", { points: one.values.map((value, at) => `${across(at)},${up(value)}`).join(" "), class: "line" }),
    mark, dot);
  const node = make("figure", "curve");
  const value = make("b", "");
  const top = make("p", "");
  top.append(value, " " + one.title);
  node.append(top, picture);
  node.dataset.name = one.name;
  const show = (at) => {
    for (const end of ["x1", "x2"]) mark.setAttribute(end, across(at));
    dot.setAttribute("cx", across(at));
    dot.setAttribute("cy", up(one.values[at]));
    value.textContent = number(one.values[at]);
  };
  return { node, show };
}

// A row per query, a column per key; outlined where the key stands behind an earlier copy of the query.
function square(words) {
  const table = make("table", "");
  const head = make("tr", "");
  head.append(make("td", "later"), ...words.map((word) => make("th", "", word)));
  table.append(head);
  const cells = words.map((word, query) => {
    const row = make("tr", "");
    row.append(make("th", "", word));
    const of = words.map((_, key) => {
      const copy = key > 0 && key <= query && words[key - 1] === word && key - 1 < query;
      return make("td", key > query ? "later" : copy ? "copy" : "");
    });
    row.append(...of);
    table.append(row);
    return of;
  });
  return { table, cells };
}

let run = null; // the last answer
let at = 0; // place among the steps whose map is kept
let curves = [];
let cells = [];
let playing = null;
const colours = shades();

function complain(sentence) {
  $("problem").textContent = asSentence(sentence);
  $("problem").hidden = !sentence;
}

function show() {
  const now = run.played[at];
  const told = `step ${step(now)} of ${step(run.steps.at(-1))}`;
  $("step").value = at;
  $("step").setAttribute("aria-valuetext", told);
  $("step-value").textContent = told;
  curves.forEach((of) => of.show(run.steps.indexOf(now)));
  const rows = run.maps[at];
  cells.forEach((row, query) => row.forEach((cell, key) => {
    if (key > query) return;
    cell.style.background = colours[Math.round(10 * rows[query][key])];
    cell.title = `${run.words[query]} looks at ${run.words[key]}: ${number(rows[query][key])}`;
  }));
  const outlined = cells.map((row, query) => row.map((cell, key) => (cell.className === "copy" ? rows[query][key] : 0))
    .reduce((sum, value) => sum + value, 0)).filter((_, query) => cells[query].some((cell) => cell.className === "copy"));
  const mean = outlined.reduce((sum, value) => sum + value, 0) / outlined.length;
  $("map").dataset.followed = mean.toFixed(3);
  $("map").setAttribute("aria-label", `${told}: the second copy has ${number(mean)} of its weight on what followed in the first`);
  $("map-note").textContent = `Head ${run.head} (layer.head), the one with most prefix matching at the end. Each row is a word that looks, `
    + `each column a word that is looked at. The text stands twice. In the second copy, ${number(mean)} of the weight is in the `
    + "outlined cells, where an induction head looks: at what followed the same word before. "
    + "The curve of prefix matching is scored on longer texts, so the two numbers may differ.";
}

function pause() {
  clearInterval(playing);
  playing = null;
  $("play").textContent = "play";
}

function play() {
  if (playing !== null) { pause(); return; }
  if (at === run.played.length - 1) { at = 0; show(); }
  $("play").textContent = "pause";
  playing = setInterval(() => {
    at += 1;
    show();
    if (at === run.played.length - 1) pause();
  }, PACE);
}

async function choose(id) {
  pause();
  complain("");
  try {
    run = await ask("head-run", { run: id });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    complain(error.message);
    return;
  }
  const rose = run.window
    ? `Most of the rise of its prefix matching is between step ${step(run.window[0])} and step ${step(run.window[1])}.`
    : "Its prefix matching does not end at .2 or above.";
  $("verdict").textContent = `This run ${run.met ? "shows a" : "does not show a"} phase change by the criterion. ${rose}`;
  curves = run.curves.map((one) => curve(one, run.steps));
  $("curves").replaceChildren(...curves.map((of) => of.node));
  const map = square(run.words);
  cells = map.cells;
  $("map").replaceChildren(map.table);
  $("step").max = run.played.length - 1;
  at = run.played.length - 1;
  show();
}

$("run").addEventListener("change", () => choose($("run").value));
$("step").addEventListener("input", () => { pause(); at = Number($("step").value); show(); });
$("play").addEventListener("click", play);

const response = await fetch("/api/head-runs");
const { runs } = await response.json();
$("run").replaceChildren(...runs.map(({ id }) => new Option(id.replaceAll("_", " "), id)));
await choose(runs[0].id);
document.body.dataset.ready = "";
