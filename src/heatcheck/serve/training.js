// How a heatmap developed: a slider over the recorded steps of a training.
import { ask, newest, Refused } from "/asking.js";
import { asSentence, make, number, shades, spoken, strip } from "/drawing.js";

const $ = (id) => document.getElementById(id);
const PACE = 450; // milliseconds per step while it plays
const HEIGHT = 44; // pixels of the largest bar of a row, over all steps
const WIDE = 200, HIGH = 50; // of a curve, in its own units
const MAP_WORDS = 60; // rows of the map that fit on a screen
const CURVES = {
  accuracy: ["accuracy", "majority class"],
  evenness: ["evenness of attention", "uniform weights"],
  agreement: ["texts whose most attended word is in the top 5% by relevance", "relevance shuffled"],
};
const BELOW = {
  relevance: (label) => `relevance, how much the word votes for the gold label “${label}” over the others`,
  influence: (label) => `influence, how much the word helps the gold label “${label}”`,
};
const high = (value, most) => Math.sqrt(Math.abs(value) / most) * HEIGHT;
const step = (value) => value.toLocaleString("en");
const p = (value) => number(Math.min(1, Math.max(0, value)));

function drawn(tag, facts) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(facts)) node.setAttribute(name, value);
  return node;
}

function written(said, x, y, anchor) {
  const node = drawn("text", { x, y, "text-anchor": anchor, class: "tick" });
  node.textContent = said;
  return node;
}

// A mean over the recorded texts: line, interval, baseline, and a mark at the current step.
function curve(one, steps, chosen) {
  const count = steps.length;
  const across = (at) => (count > 1 ? at / (count - 1) : 0.5) * WIDE;
  const points = (values) => values.map((value, at) => `${across(at)},${(1 - value) * HIGH}`);
  const picture = drawn("svg", { viewBox: `-12 -6 ${WIDE + 20} ${HIGH + 20}`, "aria-hidden": "true" });
  for (const [y, said] of [[0, "1"], [HIGH, "0"]]) {
    picture.append(drawn("line", { x1: 0, x2: WIDE, y1: y, y2: y, class: "end" }), written(said, -4, y + 3, "end"));
  }
  picture.append(written(`step ${step(steps[0])}`, 0, HIGH + 11, "start"));
  if (count > 1) picture.append(written(step(steps.at(-1)), WIDE, HIGH + 11, "end"));
  if (!one.low.includes(null)) {
    const around = [...points(one.high), ...points(one.low).reverse()].join(" ");
    picture.append(drawn("polygon", { points: around, class: "within" }));
  }
  const mark = drawn("line", { y1: -4, y2: HIGH + 4, class: "mark" });
  const dot = drawn("circle", { r: 4, class: "dot" });
  picture.append(drawn("polyline", { points: points(one.baseline).join(" "), class: "baseline" }),
    drawn("polyline", { points: points(one.values).join(" "), class: "line" }), mark, dot);
  picture.addEventListener("click", (event) => {
    const { left, width } = picture.getBoundingClientRect();
    const share = ((event.clientX - left) / width * (WIDE + 20) - 12) / WIDE;
    chosen(Math.min(count - 1, Math.max(0, Math.round(share * (count - 1)))));
  });
  const [title, beside] = CURVES[one.name];
  const node = make("figure", "curve");
  const value = make("b", "");
  const note = make("p", "note", "");
  const top = make("p", "");
  top.append(value, " " + title);
  node.append(top, picture, note);
  const show = (at) => {
    for (const end of ["x1", "x2"]) mark.setAttribute(end, across(at));
    dot.setAttribute("cx", across(at));
    dot.setAttribute("cy", (1 - one.values[at]) * HIGH);
    value.textContent = p(one.values[at]);
    const interval = one.low[at] === null ? "" : `${p(one.low[at])} to ${p(one.high[at])}, `;
    note.textContent = `${interval}${one.n} texts; dashed: ${beside}, ${p(one.baseline[at])}`;
  };
  return { node, show };
}

// Attention by word and step: one row per word, one stripe per step, and a mark at the current step.
function wordMap(place, words, attention, steps, chosen) {
  place.hidden = !attention;
  if (!attention) return () => {};
  const kept = words.map((word, at) => at).filter((at) => words[at]).slice(0, MAP_WORDS);
  const colours = shades();
  const mark = make("div", "now");
  const strips = make("div", "strips");
  strips.append(mark, ...kept.map((at) => {
    const canvas = make("canvas");
    strip(canvas, steps.map((_, when) => attention[when][at]), colours);
    return canvas;
  }));
  strips.addEventListener("click", (event) => {
    const { left, width } = strips.getBoundingClientRect();
    chosen(Math.min(steps.length - 1, Math.max(0, Math.floor((event.clientX - left) / width * steps.length))));
  });
  const names = make("div", "names");
  names.append(...kept.map((at) => make("span", "", words[at])));
  const axis = make("p", "axis note");
  axis.append(make("span", "", `step ${step(steps[0])}`), make("span", "", step(steps.at(-1))));
  const cut = words.filter(Boolean).length - kept.length;
  place.replaceChildren(make("p", "", "Attention of each word over training" + (cut ? `, first ${kept.length} words` : "")), names, strips, axis);
  return (at) => {
    mark.style.left = 100 * at / steps.length + "%";
    mark.style.width = 100 / steps.length + "%";
  };
}

// One column per word: its attention above, its relevance or influence below.
function column(word, uniform) {
  const node = make("div", "column");
  const [above, below] = ["above", "below"].map((side) => make("div", side));
  const [weight, vote] = [make("div", "fill"), make("div", "fill")];
  const even = make("div", "even");
  even.style.bottom = uniform + "px";
  above.append(weight, even);
  below.append(vote);
  node.append(above, make("span", "word", word), below);
  return { node, weight, vote };
}

const largest = (rows = []) => rows.flat().reduce((most, value) => Math.max(most, Math.abs(value ?? 0)), 1e-12);
const heaviest = (words, values) => words.map((word, at) => [values[at] ?? 0, word])
  .sort((a, b) => Math.abs(b[0]) - Math.abs(a[0])).slice(0, 3)
  .map(([value, word]) => `${word} ${number(value, 3)}`).join(", ");

// `moved(probe, step)` is called at every move, `settled()` at its end.
export function overTraining({ moved, settled }) {
  let model = "";
  let all = null; // the last answer to /api/training
  let one = null; // the last answer to /api/observed
  let at = 0; // place of the step that is shown
  let below; // shown below the words: the first of BELOW that was recorded
  let scale = { above: 1, below: 1 };
  let columns = [];
  let curves = [];
  let markMap = () => {};
  let playing = null;
  const once = newest();

  function complain(sentence) {
    $("training-problem").textContent = asSentence(sentence);
    $("training-problem").hidden = !sentence;
  }

  // The newest answer; undefined if it failed or is out of date.
  async function answered(what, request) {
    try {
      return await once((signal) => ask(what, request, signal));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      complain(error.message);
      return undefined;
    }
  }

  function pause() {
    clearInterval(playing);
    playing = null;
    $("play").textContent = "play";
  }

  function go(place) {
    at = place;
    show();
    moved($("probe").value, all.steps[at]);
  }

  function play() {
    if (playing !== null) { pause(); settled(); return; }
    if (at === all.steps.length - 1) go(0);
    $("play").textContent = "pause";
    playing = setInterval(() => {
      if (at < all.steps.length - 1) go(at + 1);
      if (at === all.steps.length - 1) { pause(); settled(); }
    }, PACE);
  }

  function show() {
    const told = `step ${step(all.steps[at])} of ${step(all.steps.at(-1))}`;
    $("step").value = at;
    $("step").setAttribute("aria-valuetext", told);
    $("step-value").textContent = told;
    curves.forEach((of) => of.show(at));
    markMap(at);
    if (!one) return; // nothing to show of this text, or not yet
    const [weights, votes] = ["attention", below].map((name) => one.of_words[name]?.[at]);
    columns.forEach((of, place) => {
      const [weight, vote] = [weights?.[place] ?? 0, votes?.[place] ?? 0];
      of.weight.style.height = high(weight, scale.above) + "px";
      of.vote.style.height = high(vote, scale.below) / 2 + "px";
      of.vote.classList.toggle("against", vote < 0);
      Object.assign(of.node.dataset, { attention: weight, below: vote });
      of.node.title = [weights && `attention ${number(weight, 3)}`, votes && `${below} ${number(vote, 3)}`]
        .filter(Boolean).join(", ");
    });
    $("training-said").textContent = `At this step the model predicts “${one.said[at]}”, which is ${one.said[at] === one.label ? "right" : "wrong"}. `
      + `The gold label “${one.label}” has probability ${p(one.right[at])}.`;
    $("training-bars").setAttribute("aria-label", [told,
      weights && "attention, largest: " + heaviest(one.words, weights),
      votes && `${below}, largest: ` + heaviest(one.words, votes)].filter(Boolean).join("; "));
  }

  function lay() {
    const { attention } = one.of_words;
    below = Object.keys(BELOW).find((name) => name in one.of_words);
    scale = { above: largest(attention), below: largest(one.of_words[below]) };
    columns = one.words.map((word, place) => column(word, high(one.uniform[place] ?? 0, scale.above)));
    $("training-bars").replaceChildren(...columns.filter((_, place) => one.words[place]).map((of) => of.node));
    $("training-key").textContent = [
      attention && "Above each word: its attention (dashed: uniform weights).",
      below && `Below: ${BELOW[below](one.label)}; a bar pointing down speaks against it.`,
      "Heights are square roots, on the same scale at all steps.",
      one.text_pair && `Second text: ${one.text_pair}`].filter(Boolean).join(" ");
    markMap = wordMap($("training-map"), one.words, attention, all.steps, (place) => { pause(); go(place); settled(); });
    $("training-bars").classList.toggle("no-above", !attention);
    $("training-bars").classList.toggle("no-below", !below);
  }

  async function choose(id) {
    one = null;
    for (const part of ["said", "bars", "key", "map"]) $("training-" + part).replaceChildren();
    $("training-map").hidden = true;
    markMap = () => {};
    one = await answered("observed", { model, id }) ?? null;
    if (one) lay();
    show();
  }

  $("play").addEventListener("click", play);
  $("step").addEventListener("input", () => { pause(); go(Number($("step").value)); });
  $("step").addEventListener("change", settled);
  $("probe").addEventListener("change", () => {
    complain("");
    moved($("probe").value, all.steps[at]);
    settled();
    choose($("probe").value);
  });

  return {
    // A model's training, at a text and a step of it; of another model than before, or from a link.
    async open(facts, probe, wanted) {
      pause();
      complain("");
      model = facts.name;
      $("training").hidden = false;
      $("training-shown").hidden = true;
      spoken($("training-note"), asSentence(facts.training));
      if (facts.training) { await once(async () => null); return; }
      const found = await answered("training", { model });
      if (!found) return;
      all = found;
      const many = (shown, of, what) => `${step(shown)}${of > shown ? ` of ${step(of)}` : ""} ${what}`;
      $("training-note").textContent = "heatcheck recorded this model "
        + `${many(all.steps.length, all.recorded, "times")} during training, on ${many(all.texts.length, all.observed, "texts")}. `
        + "Move the slider or press play. The saved model may come from a step before the last.";
      $("probe").replaceChildren(...all.texts.map(({ id, opening, label }) => new Option(`[${label}] ${opening || id}`, id)));
      $("step").max = all.steps.length - 1;
      curves = all.curves.map((of) => curve(of, all.steps, (place) => { pause(); go(place); settled(); }));
      $("training-curves").replaceChildren(...curves.map((of) => of.node));
      at = all.steps.includes(wanted) ? all.steps.indexOf(wanted) : all.steps.length - 1;
      const known = all.texts.some(({ id }) => id === probe);
      $("probe").value = known ? probe : all.texts[0].id;
      $("training-shown").hidden = false;
      await choose($("probe").value);
      if (probe !== null && !known) complain("this link is about a text that was not recorded in this training: choose another.");
    },
  };
}
