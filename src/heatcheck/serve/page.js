import { ask, models, newest, paced, Refused } from "/asking.js";
import { asSentence, bars, heatRow, level, make, number, renew, scale, shades, strip } from "/drawing.js";
import { overTraining } from "/training.js";

const $ = (id) => document.getElementById(id);
const MATRIX_WORDS = 40; // more do not fit on a screen
const FIRST = ["gradient", "leave_one_out", "gradient_rollout", "rollout"]; // ticked at first, where they work

// ---- what is shown: everything that a link must hold -------------------------------------------------------
const BLANK = { model: "", text: "", pair: "", erased: [], by: null, byRow: false, epsilon: 0.05,
                kind: "own", weights: null, rest: 0, seed: 0, layer: null, head: null,
                probe: null, step: null };
let state = { ...BLANK };
let known = new Map();
let bounds;
let found = null; // the last answer to /api/look
let own = { weights: [], rest: 0 }; // of the layer and head whose bars are shown
let heads = null; // the last answer to /api/layers
let whole = null; // the answer for the text with every word, while some are erased
let typedByHand = false; // a text of the user's own, which another model reads too

const encode = (value) => btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(value))))
  .replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
const decode = (text) => JSON.parse(new TextDecoder().decode(
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0))));

function remember() {
  const kept = Object.fromEntries(Object.entries(state)
    .filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(BLANK[key])));
  if (kept.weights) kept.weights = kept.weights.map((one) => (one === null ? null : Number(one.toPrecision(6))));
  // After #, so that the text is never sent anywhere, not even to this server's log.
  history.replaceState(null, "", "#" + encode(kept));
}

function recall() {
  if (location.hash.length < 2) return false;
  try {
    state = { ...BLANK, ...decode(location.hash.slice(1)) };
  } catch {
    complain("this link is broken: copy it again, with everything after the #.");
    return false;
  }
  if (!known.has(state.model)) {
    complain(`this link needs the model “${state.model}”, which is not served here: start heatcheck serve with it.`);
    state = { ...BLANK };
    return false;
  }
  return true;
}

// ---- small things ------------------------------------------------------------------------------------------
const facts = () => known.get(state.model);
const asked = () => ({ model: state.model, text: state.text, erased: state.erased,
                       text_pair: facts().pair === "no" || !state.pair ? null : state.pair });
const words = () => found.words;
const isOwn = () => state.kind === "own";

function complain(sentence) {
  $("problem").textContent = asSentence(sentence);
  $("problem").hidden = false;
}

async function trying(work) {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    complain(error.message);
  }
}

// ---- the answer --------------------------------------------------------------------------------------------
function showAnswer(imposed) {
  // Beside what is shown now: the model's own weights, or the text with every word.
  const before = !imposed && whole ? whole.probabilities : found.probabilities;
  const now = imposed ? imposed.probabilities : found.probabilities;
  const changed = Boolean(imposed || whole);
  const order = before.map((_, at) => at);
  if (order.length > 6) order.sort((a, b) => Math.max(now[b], before[b]) - Math.max(now[a], before[a]));
  $("labels").replaceChildren(...order.slice(0, 6).map((at) => {
    const row = make("div", "label");
    const bar = make("div", "probability");
    const fill = make("div", "fill");
    fill.style.width = 100 * now[at] + "%";
    const mark = make("div", "its-own");
    mark.style.left = 100 * before[at] + "%";
    mark.hidden = !changed;
    bar.append(fill, mark);
    const value = make("b", "", number(now[at], 3));
    value.dataset.probability = now[at];
    row.append(make("span", "name", found.labels[at]), bar, value);
    row.append(make("span", "note", changed ? "was " + number(before[at], 3) : ""));
    return row;
  }));
  $("moved").textContent = imposed ? reading(imposed, before) : whole ? withoutWords(before, now) : "";
  const strange = found.unknown.filter((at) => !state.erased.includes(at)).map((at) => words()[at]);
  $("unknown").textContent = strange.length
    ? "The model does not know these words and cannot tell them apart: " + [...new Set(strange)].slice(0, 12).join(", ") + "." : "";
}

const largestAt = (values) => values.indexOf(Math.max(...values));

// How a probability moved, as the end of a sentence.
function goes(before, now) {
  const [from, to] = [number(before, 3), number(now, 3)];
  return from === to ? `stays at ${from}` : `goes from ${from} to ${to}`;
}

// What erasing did to the answer, as a sentence.
function withoutWords(before, now) {
  const label = largestAt(before);
  const gone = state.erased.map((at) => `“${words()[at]}”`);
  const named = gone.length > 4 ? `${gone.length} words` : gone.join(", ");
  const said = `Without ${named}, the probability of ${found.labels[label]} ${goes(before[label], now[label])}.`;
  return largestAt(now) === label ? said : `${said} The model now predicts ${found.labels[largestAt(now)]}.`;
}

function reading(imposed, before) {
  const flipped = largestAt(imposed.probabilities) !== largestAt(before);
  const size = `The heatmap changed by ${number(imposed.jsd_nats)} (JSD, at most 0.69), `
    + `the prediction by ${number(imposed.change, 3)} (at most 1)`;
  if (flipped) return size + ". The model now predicts another label: for this text, these weights matter.";
  if (imposed.change <= 0.05 && imposed.jsd_nats >= 0.2) return size + ". This is a very different heatmap with about the same prediction.";
  return size + ".";
}

// ---- bars --------------------------------------------------------------------------------------------------
const board = bars($("bars"), { moved: move, erased: erase });

function currentWeights() {
  return isOwn() || !state.weights ? [...own.weights, own.rest] : [...state.weights, state.rest];
}

function showBars() {
  // The model's own weights are marked while other weights are shown.
  const mark = isOwn() ? [] : [...own.weights, own.rest];
  board.show(currentWeights(), mark, {
    gone: new Set(state.erased), strange: new Set(found.unknown), fixed: Boolean(facts().movable),
  });
  $("whole").disabled = !state.erased.length;
  const kind = { own: "", given: "changed by hand", uniform: "uniform weights", permuted: `shuffle ${state.seed + 1}` }[state.kind];
  const at = state.layer === null ? "" : `layer ${state.layer + 1}, ${state.head === null ? "all heads" : "head " + (state.head + 1)}`;
  $("where").textContent = [at, kind].filter(Boolean).join(" · ");
}

function move(place, weight) {
  const weights = currentWeights();
  const others = 1 - weights[place];
  const sharers = weights.map((one, at) => at !== place && one !== null && (at < own.weights.length || own.rest > 0));
  const count = sharers.filter(Boolean).length;
  if (!count) return;
  const after = weights.map((one, at) => {
    if (at === place) return weight;
    if (!sharers[at]) return one;
    return others > 1e-9 ? one * (1 - weight) / others : (1 - weight) / count;
  });
  state.rest = after.pop() ?? 0;
  state.weights = after;
  state.kind = "given";
  showBars();
  imposeSoon();
}

const imposeSoon = paced(() => trying(impose));

async function impose() {
  remember();
  if (isOwn()) { showAnswer(null); return; }
  const request = { ...asked(), kind: state.kind, layer: state.layer, head: state.head, seed: state.seed };
  if (state.kind === "given") Object.assign(request, { weights: state.weights.map(share), rest: share(state.rest) });
  const about = () => JSON.stringify([asked(), state.kind, state.layer, state.head, state.seed]);
  const before = about();
  const imposed = await ask("impose", request);
  if (about() !== before) return; // the page has moved on, and asks again
  if (state.kind !== "given") {
    state.weights = imposed.weights;
    state.rest = imposed.rest;
    showBars();
  }
  showAnswer(imposed);
}

const share = (one) => (one === null ? null : Math.min(1, Math.max(0, one)));

function setKind(kind) {
  state.kind = kind;
  state.weights = null;
  showBars();
  imposeSoon();
}

function erase(place) {
  const gone = new Set(state.erased);
  if (gone.has(place)) gone.delete(place); else gone.add(place);
  state.erased = [...gone].sort((a, b) => a - b);
  if (state.kind === "given") Object.assign(state, { kind: "own", weights: null });
  refresh();
}

// ---- another heatmap with the same answer ------------------------------------------------------------------
const WAYS = {
  exact: "No other weights with this prediction differ more from the model’s own: this is the exact optimum.",
  bracket: "These are the most different weights that heatcheck found; none with this prediction can exceed the bound.",
  search: "These are the most different weights that a short search found, head by head. Others may differ more. The row shows the mean over heads.",
};
const adversarySoon = paced(() => trying(adversary));
let otherWeights = null;

// The weights shown belong to an earlier text or model.
function forgetAdversary() {
  otherWeights = null;
  $("use").hidden = true;
  $("adversary-row").replaceChildren(make("p", "note", "…"));
  $("adversary-found").textContent = "";
  $("adversary-note").textContent = "heatcheck is looking for them.";
}

async function adversary() {
  remember();
  $("epsilon-value").textContent = number(state.epsilon, 3);
  const request = { ...asked(), epsilon: state.epsilon };
  const answer = await ask("adversary", request);
  if (JSON.stringify(asked()) !== JSON.stringify({ ...request, epsilon: undefined })) return; // another text by now
  otherWeights = answer;
  $("adversary-note").textContent = WAYS[answer.method];
  $("use").hidden = answer.method === "search" || Boolean(facts().movable);
  $("adversary-row").replaceChildren(
    heatRow("the model’s own", words(), found.weights, { rest: found.rest }),
    heatRow("different weights", words(), answer.weights, { rest: answer.rest }));
  const bound = answer.upper_nats !== null && answer.method === "bracket" ? `, at most ${number(answer.upper_nats)}` : "";
  $("adversary-found").textContent = `The heatmap differs by ${number(answer.jsd_nats)} nats${bound} (JSD; `
    + `at most ${number(answer.most_nats)} for any weights). The prediction changes by ${number(answer.change, 3)}. `
    + "This says little by itself: every model with a linear read-out has such weights.";
}

// ---- other methods ------------------------------------------------------------------------------------------------
const SPACED = (name) => name.replaceAll("_", " ");

function layRivals() {
  const offered = facts().explainers.filter((one) => one.name !== "counterfactual");
  if (state.by === null) {
    state.by = ["attention", ...FIRST.filter((name) => offered.some((one) => one.name === name && !one.why_not))].slice(0, 4);
  }
  const box = (one) => {
    const label = make("label", one.why_not ? "cannot" : "");
    const tick = make("input");
    tick.type = "checkbox";
    tick.value = one.name;
    tick.checked = state.by.includes(one.name);
    tick.disabled = Boolean(one.why_not);
    label.title = one.why_not || one.about;
    label.append(tick, " " + SPACED(one.name) + (one.slow ? " (slow)" : ""));
    return label;
  };
  $("by").replaceChildren(make("legend", "", "methods"),
    ...offered.filter((one) => !one.why_not).map(box));
}

const rivalsOnce = newest();

async function rivals() {
  remember();
  const by = facts().explainers.filter((one) => state.by.includes(one.name) && !one.why_not).map((one) => one.name);
  by.sort((a, b) => (b === "attention") - (a === "attention"));
  // One row and one request per method, so that a quick one does not wait for a slow one.
  const rows = by.map((name) => {
    const waiting = make("div", "row");
    waiting.append(make("span", "who", SPACED(name)), make("p", "heat note", "…"));
    return waiting;
  });
  $("rows").replaceChildren(...rows);
  await rivalsOnce((signal) => Promise.all(by.map(async (name, at) => {
    const answer = await ask("explain", { ...asked(), by: [name] }, signal);
    if (signal.aborted) return;
    const about = facts().explainers.find((one) => one.name === name).about;
    if (answer.missing[name]) rows[at].lastChild.textContent = answer.missing[name];
    else rows[at].replaceWith(heatRow(SPACED(name), words(), answer.scores[name],
      { title: about, rest: name === "attention" ? found.rest : null, byRow: state.byRow }));
  })));
}

// ---- layers and heads --------------------------------------------------------------------------------------
function layHeads() {
  const { layers, heads: count } = facts();
  $("heads").hidden = !layers;
  const fill = (id, many, all) => $(id).replaceChildren(...all.map(([value, text]) => new Option(text, value)),
    ...Array.from({ length: many }, (_, at) => new Option(String(at + 1), String(at))));
  fill("layer", layers, [["", "the heatmap: last layer, all heads"]]);
  fill("head", count, [["", "all (mean)"]]);
  $("layer").value = state.layer ?? "";
  $("head").value = state.head ?? "";
}

function rowOf(layer, head) {
  if (head !== null) return { weights: heads.rows[layer][head], rest: heads.rest[layer][head] };
  const mean = (values) => (values.includes(null) ? null : values.reduce((a, b) => a + b, 0) / values.length);
  return {
    weights: words().map((_, at) => mean(heads.rows[layer].map((one) => one[at]))),
    rest: mean(heads.rest[layer]),
  };
}

function showGlance() {
  const colours = shades();
  const many = facts().heads;
  const top = make("tr");
  top.append(make("th", "", "layer"), ...Array.from({ length: many }, (_, at) => make("th", "", String(at + 1))));
  const rows = heads.rows.map((layer, l) => {
    const row = make("tr");
    row.append(make("th", "", String(l + 1)));
    layer.forEach((weights, h) => {
      const chosen = state.layer === l && (state.head === h || state.head === null);
      const cell = make("button", chosen ? "chosen" : "");
      cell.type = "button";
      const best = weights.reduce((most, one, at) => ((one ?? 0) > (weights[most] ?? 0) ? at : most), 0);
      const label = `layer ${l + 1}, head ${h + 1}: most on “${words()[best]}” ${number(weights[best] ?? 0)}`
        + `, on special tokens ${number(heads.rest[l][h])}`;
      cell.title = label;
      cell.setAttribute("aria-label", label);
      cell.setAttribute("aria-pressed", String(chosen));
      const canvas = make("canvas");
      strip(canvas, [...weights, heads.rest[l][h]], colours);
      cell.append(canvas);
      cell.addEventListener("click", () => choose(l, h));
      const holder = make("td");
      holder.append(cell);
      row.append(holder);
    });
    return row;
  });
  $("glance").style.setProperty("--heads", many);
  renew($("glance"), top, ...rows);
}

function choose(layer, head) {
  Object.assign(state, { layer, head: layer === null ? null : head, kind: "own", weights: null });
  $("layer").value = layer ?? "";
  $("head").value = state.head ?? "";
  showHead();
  imposeSoon();
}

function showHead() {
  own = state.layer === null ? { weights: found.weights, rest: found.rest } : rowOf(state.layer, state.head);
  showBars();
  if (!heads) return;
  showGlance();
  trying(matrix);
}

const matrixOnce = newest();

async function matrix() {
  const layer = state.layer ?? facts().layers - 1;
  const kept = words().map((_, at) => at).filter((at) => words()[at] && !state.erased.includes(at));
  const who = `Layer ${layer + 1}, ${state.head === null ? "mean over heads" : "head " + (state.head + 1)}`;
  if (kept.length > MATRIX_WORDS) {
    for (const id of ["matrix", "flat-note", "mean-note"]) $(id).replaceChildren();
    $("matrix-note").textContent = `This table shows at most ${MATRIX_WORDS} words; this text has ${kept.length}.`;
    return;
  }
  const answer = await matrixOnce((signal) => ask("head", { ...asked(), layer, head: state.head }, signal));
  if (!answer) return;
  flattened(answer, who);
  $("matrix-note").textContent = who + ". A row shows the weights from one word to all others, and to special tokens. A stronger shade is a larger weight, on the scale of the page.";
  const table = make("table", "matrix");
  const top = make("tr");
  top.append(make("td"));
  const special = answer.rest.some((one) => one > 0) ? ["special tokens"] : [];
  [...kept.map((at) => words()[at]), ...special].forEach((word) => {
    const cell = make("th", "across");
    cell.append(make("span", "", word));
    top.append(cell);
  });
  table.append(top, ...kept.map((from) => {
    const row = make("tr");
    row.append(make("th", "", words()[from]));
    const to = [...kept.map((at) => [words()[at], answer.matrix[from][at]]), ...special.map((name) => [name, answer.rest[from]])];
    to.forEach(([word, weight]) => {
      const cell = make("td", "h" + level(weight));
      cell.title = `${words()[from]} → ${word}: ${weight === null ? "none" : number(weight, 3)}`;
      row.append(cell);
    });
    return row;
  }));
  $("matrix").replaceChildren(table);
}

// What equal weights in every row of the head do to the answer now, and where the head looks on average.
function flattened(answer, who) {
  const label = found.probabilities.indexOf(Math.max(...found.probabilities));
  const all = state.head === null ? "all heads of this layer" : "this head";
  $("flat-note").textContent = `With equal weights in every row of ${all}, the probability of `
    + `${found.labels[label]} ${goes(found.probabilities[label], answer.flat[label])}.`;
  const names = { "-2": "two before", "-1": "the token before", 0: "the token itself", 1: "the token after", 2: "two after" };
  const each = ["-2", "-1", "0", "1", "2"].filter((offset) => answer.offsets[offset] !== null)
    .map((offset) => `${names[offset]} ${number(answer.offsets[offset])}`);
  $("mean-note").textContent = `${who}, mean weight over all tokens of this text: the first token ${number(answer.first)}; `
    + `${each.join(", ")}.`;
}

// ---- over training -----------------------------------------------------------------------------------------
const scrubbed = overTraining({ moved: (probe, step) => Object.assign(state, { probe, step }), settled: remember });
const openTraining = () => scrubbed.open(facts(), state.probe, state.step);

// ---- the audit ---------------------------------------------------------------------------------------------
const SAID = 2; // sentences of a kind that are shown at once, as in the report

function sayings(kind, title, said) {
  const box = make("div", kind);
  const top = make("dt", "", title);
  const all = said.map((words) => make("dd", "", `“${words}”`));
  box.append(top, ...all);
  const rest = all.slice(SAID);
  if (rest.length) {
    const more = make("button");
    more.type = "button";
    const fold = (folded) => {
      rest.forEach((one) => { one.hidden = folded; });
      more.textContent = folded ? `${rest.length} more` : "fewer";
      more.setAttribute("aria-expanded", String(!folded));
    };
    more.addEventListener("click", () => fold(!rest[0].hidden));
    fold(true);
    top.append(more);
  }
  return box;
}

function layAudit() {
  const audit = facts().audit;
  if (!audit) {
    const none = make("p", "note", "No audit of this model was found here. Run: ");
    none.append(make("code", "", "heatcheck audit MODEL"));
    $("audit").replaceChildren(none);
    return;
  }
  const source = make("p", "source");
  source.append(make("span", "", "Can this model’s attention heatmaps be read as explanations?"),
    make("span", "", `From the audit of ${audit.date}, ${audit.n.toLocaleString("en")} example${audit.n === 1 ? "" : "s"} of ${audit.task}.`));
  const said = make("dl", "sayings");
  said.append(sayings("may", "You may say", audit.may_say), sayings("not", "Do not say", audit.do_not_say));
  $("audit").replaceChildren(source, make("h2", "", audit.answer));
  if (audit.next) $("audit").append(make("p", "next", audit.next));
  $("audit").append(said);
  if (audit.instead) {
    const instead = make("p", "instead", audit.instead + " For new texts: ");
    instead.append(make("code", "", audit.command));
    $("audit").append(instead);
  }
}

// ---- a text, read ------------------------------------------------------------------------------------------
const lookOnce = newest();

async function refresh() {
  remember();
  $("problem").hidden = true;
  if (!state.text.trim()) { $("found").hidden = true; return; }
  const waits = facts().pair === "needed" && !state.pair.trim();
  if (waits) { $("found").hidden = true; complain("this model reads two texts: type the second one too."); return; }
  await trying(async () => {
    const deep = facts().layers > 0;
    let answers;
    try {
      answers = await lookOnce((signal) => Promise.all(
        [ask("look", asked(), signal), deep ? ask("layers", asked(), signal) : null,
          state.erased.length ? ask("look", { ...asked(), erased: [] }, signal) : null]));
    } catch (error) {
      $("found").hidden = true;
      throw error;
    }
    if (!answers) return;
    [found, heads, whole] = answers;
    $("found").hidden = false;
    if (state.weights && state.weights.length !== words().length) Object.assign(state, { kind: "own", weights: null });
    board.lay(words(), deep ? "special tokens" : "");
    showAnswer(null);
    showHead();
    if (facts().movable) $("how").textContent = "These weights cannot be changed: " + facts().movable;
    for (const id of ["own", "uniform", "permuted"]) $(id).disabled = Boolean(facts().movable);
    $("adversary").hidden = Boolean(facts().movable);
    imposeSoon();
    forgetAdversary();
    if (!facts().movable) adversarySoon();
    trying(rivals);
  });
}

const take = (texts) => Object.assign(state, texts, { erased: [], kind: "own", weights: null });

// A text that the model may be asked at first: one with several words, if it has samples at all.
function sampleOf(model) {
  const sample = model.samples.find((one) => one.text.split(" ").length > 7) ?? model.samples[0];
  return sample ? { text: sample.text, pair: sample.text_pair ?? "" } : null;
}

let typing;
function typed() {
  clearTimeout(typing);
  typing = setTimeout(() => {
    if ($("text").value === state.text && $("pair").value === state.pair) return; // nothing changed since the page opened
    take({ text: $("text").value, pair: $("pair").value });
    refresh();
  }, 250);
}

function layModel() {
  $("model").value = state.model;
  $("text").value = state.text;
  $("pair").value = state.pair;
  $("pair-label").hidden = facts().pair === "no";
  const prompt = Object.entries(facts().asked);
  $("prompt").hidden = !prompt.length;
  $("prompt").replaceChildren(...prompt.map(([name, value]) => {
    const row = make("div", "");
    row.append(make("dt", "", name), make("dd", "", value));
    return row;
  }));
  const samples = facts().samples;
  $("sample-label").hidden = !samples.length;
  $("sample").replaceChildren(new Option("choose …", ""), ...samples.map((one, at) =>
    new Option((one.label ? `[${one.label}] ` : "") + one.text.slice(0, 70), String(at))));
  $("epsilon").value = Math.log10(state.epsilon);
  $("by-row").checked = state.byRow;
  layAudit();
  layRivals();
  layHeads();
}

async function start() {
  const offered = await models();
  bounds = offered.bounds;
  known = new Map(offered.models.map((one) => [one.name, one]));
  $("text").title = `at most ${bounds.words} words`;
  $("model").replaceChildren(...offered.models.map((one) => new Option(one.name, one.name)));
  const restored = typedByHand = recall();
  if (!restored) {
    state.model = offered.models[0].name;
    state.text = $("text").value; // the user may have typed already
    if (!state.text) Object.assign(state, sampleOf(offered.models[0]));
  }
  scale($("scale"));
  layModel();
  const problem = $("problem").hidden ? "" : $("problem").textContent;
  $("share").hidden = false;
  await Promise.all([refresh(), openTraining()]);
  if (problem) complain(problem);
  document.body.dataset.ready = "yes";
}

$("asking").addEventListener("submit", (event) => event.preventDefault());
for (const id of ["text", "pair"]) {
  $(id).addEventListener("input", () => { typedByHand = true; typed(); });
}
// A text of the user's own stays; a sample of the last model gives way to one of this model.
$("model").addEventListener("change", () => {
  const model = known.get($("model").value);
  const texts = (typedByHand ? null : sampleOf(model)) ?? { text: state.text, pair: state.pair };
  state = { ...BLANK, ...texts, byRow: state.byRow, model: model.name };
  whole = null;
  layModel();
  openTraining();
  refresh();
});
$("sample").addEventListener("change", () => {
  const chosen = facts().samples[Number($("sample").value)];
  if ($("sample").value === "") return;
  $("text").value = chosen.text;
  $("pair").value = chosen.text_pair ?? "";
  typedByHand = false;
  typed();
});
$("own").addEventListener("click", () => setKind("own"));
$("uniform").addEventListener("click", () => setKind("uniform"));
$("permuted").addEventListener("click", () => {
  state.seed = state.kind === "permuted" ? (state.seed + 1) % 2 ** 31 : 0;
  setKind("permuted");
});
$("whole").addEventListener("click", () => { state.erased = []; refresh(); });
$("epsilon").addEventListener("input", () => {
  state.epsilon = Number((10 ** Number($("epsilon").value)).toPrecision(3));
  adversarySoon();
});
$("use").addEventListener("click", () => {
  Object.assign(state, { kind: "given", weights: otherWeights.weights, rest: otherWeights.rest, layer: null, head: null });
  if (heads) showHead(); else showBars();
  imposeSoon();
});
$("by").addEventListener("change", () => {
  state.by = [...$("by").querySelectorAll("input:checked")].map((tick) => tick.value);
  trying(rivals);
});
$("by-row").addEventListener("change", () => {
  state.byRow = $("by-row").checked;
  trying(rivals);
});
for (const id of ["layer", "head"]) {
  $(id).addEventListener("change", () => {
    const layer = $("layer").value === "" ? null : Number($("layer").value);
    const head = $("head").value === "" ? null : Number($("head").value);
    choose(id === "head" && layer === null && head !== null ? facts().layers - 1 : layer, head);
  });
}
$("copy").addEventListener("click", async () => {
  remember();
  try {
    await navigator.clipboard.writeText(location.href);
    $("copied").textContent = "copied";
  } catch {
    $("copied").textContent = location.href;
  }
});
window.addEventListener("hashchange", () => { if (recall()) { layModel(); refresh(); openTraining(); } });
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (heads) showGlance(); });
start();
