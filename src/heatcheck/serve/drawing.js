// Words shaded by scores, and bars that can be dragged.

// With a capital letter, unless it begins with a file path or with heatcheck's own name.
export const asSentence = (text) => (/^(\S*\/|heatcheck\b)/.test(text) ? text : text.slice(0, 1).toUpperCase() + text.slice(1));

export function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text; // never innerHTML: words are other people's
  return node;
}

// What stands between backticks as code.
export function spoken(node, text) {
  node.replaceChildren(...text.split("`").map((part, at) => (at % 2 ? make("code", "", part) : part)));
}

export const number = (value, digits = 2) => value.toFixed(digits).replace("-", "\u2212");

// One scale for all heatmaps of the page: the shade of a share of all weight, 0 to 1. Square roots, as the bars are.
export const level = (share) => (share === null ? 0 : Math.round(10 * Math.sqrt(Math.min(1, Math.abs(share)))));

// What each score is of the whole, so that methods of any unit stand on the same scale.
function shares(scores, rest, byRow) {
  const sizes = scores.map((score) => Math.abs(score ?? 0));
  // By row, the largest is as dark as can be.
  const whole = byRow ? Math.max(...sizes) : sizes.reduce((sum, size) => sum + size, rest ?? 0);
  return sizes.map((size) => (whole ? size / whole : 0));
}

// The shades and the shares that they stand for.
export function scale(place) {
  place.replaceChildren("share: ", ...[0.01, 0.04, 0.1, 0.25, 0.5, 1].flatMap((share) => {
    const shade = make("span", "w h" + level(share), share < 1 ? String(share).slice(1) : "1");
    return [shade, " "];
  }));
}

// Words shaded by scores: weights in blue, scores of other methods in grey, as in a report. `rest` is the weight on tokens
// that are no words; null for methods that score words alone.
export function heatRow(name, words, scores, { title = "", rest = null, byRow = false } = {}) {
  const row = make("div", "row");
  const who = make("span", "who", name);
  who.title = title;
  const heat = make("p", "heat");
  const of = shares(scores, rest, byRow);
  const hue = rest === null ? "g" : "h";
  const top = scores.map((score, place) => [score, words[place]]).filter(([score]) => score !== null)
    .sort((a, b) => Math.abs(b[0]) - Math.abs(a[0])).slice(0, 3);
  heat.setAttribute("role", "img");
  const special = rest ? `${percent(rest)} on special tokens` : "";
  heat.setAttribute("aria-label",
    name + ", heaviest words: " + [...top.map(([score, word]) => word + " " + number(score, 3)), special].filter(Boolean).join(", "));
  words.forEach((word, place) => {
    if (!word) return;
    const score = scores[place];
    const span = make("span", "w " + hue + level(of[place]), word);
    if (score === null) span.classList.add("none");
    if (score < 0 && level(of[place]) > 0) span.classList.add("minus");
    span.title = score === null ? "no score" : number(score, 3);
    heat.append(span, " ");
  });
  if (special) heat.append(make("span", "special", special));
  row.append(who, heat);
  return row;
}

const percent = (share) => (share < 0.005 ? "under 1%" : Math.round(100 * share) + "%");

const HEIGHT = 70; // pixels of a weight of 1
const high = (weight) => Math.sqrt(Math.max(weight, 0)) * HEIGHT;
const weightAt = (pixels) => Math.min(1, Math.max(0, pixels / HEIGHT)) ** 2;
const KNOB = 26; // pixels that a finger can hold
const STEPS = { ArrowUp: 0.02, ArrowRight: 0.02, ArrowDown: -0.02, ArrowLeft: -0.02, PageUp: 0.1, PageDown: -0.1 };

// Replace what is in a place; a keyboard that stood on one of its buttons stands on the same one again.
export function renew(place, ...nodes) {
  const stops = () => [...place.querySelectorAll("button, [tabindex]")];
  const at = stops().indexOf(document.activeElement);
  place.replaceChildren(...nodes);
  if (at >= 0) stops()[at]?.focus({ preventScroll: true });
}

// One column per word. `moved(place, weight)` is called while a bar is dragged, `erased(place)` on a click.
export function bars(place, { moved, erased }) {
  let columns = [];

  function column(word, at, fixed) {
    const node = make("div", "column");
    const bar = make("div", "pull");
    const own = make("div", "its-own");
    const fill = make("div", "fill");
    const value = make("span", "value");
    const knob = make("div", "knob"); // where a finger can drag; elsewhere on the bar it scrolls the page
    bar.append(own, fill, value, knob);
    bar.tabIndex = 0;
    bar.setAttribute("role", "slider");
    bar.setAttribute("aria-label", "weight of " + word);
    bar.setAttribute("aria-valuemin", "0");
    bar.setAttribute("aria-valuemax", "1");
    const follow = (event) => moved(at, weightAt(bar.getBoundingClientRect().bottom - event.clientY));
    let held = null; // the pointer that drags; a browser captures a finger for every element that it touches
    const stuck = () => bar.getAttribute("aria-disabled") === "true";
    bar.addEventListener("pointerdown", (event) => {
      if (stuck() || (event.pointerType === "touch" && event.target !== knob)) return;
      bar.setPointerCapture(event.pointerId);
      held = event.pointerId;
      bar.focus({ preventScroll: true });
      event.preventDefault();
      if (event.target !== knob) follow(event);
    });
    bar.addEventListener("pointermove", (event) => {
      if (event.pointerId === held) follow(event);
    });
    for (const end of ["pointerup", "pointercancel"]) bar.addEventListener(end, () => { held = null; });
    // A tap: the finger went up where it came down, and scrolled nothing.
    bar.addEventListener("click", (event) => {
      if (!stuck() && event.pointerType === "touch" && event.target !== knob) follow(event);
    });
    bar.addEventListener("keydown", (event) => {
      if (stuck()) return;
      const now = Number(bar.getAttribute("aria-valuenow"));
      const to = event.key === "Home" ? 0 : event.key === "End" ? 1 : event.key in STEPS ? now + STEPS[event.key] : null;
      if (to === null) return;
      event.preventDefault();
      moved(at, Math.min(1, Math.max(0, to)));
    });
    const label = make(fixed ? "span" : "button", "word", word);
    if (!fixed) {
      label.type = "button";
      label.addEventListener("click", () => erased(at));
    }
    node.append(bar, label);
    return { node, bar, own, fill, value, knob, label, word, fixed };
  }

  return {
    // Words, and the name for special tokens ("" for none); called when the text changes.
    lay(words, rest) {
      columns = words.map((word, at) => (word ? column(word, at, false) : null));
      columns.push(rest ? column(rest, words.length, true) : null);
      renew(place, ...columns.filter(Boolean).map((one) => one.node));
    },
    // Weights now and the model's own, each with the rest last; null where a word has none.
    show(weights, own, { gone, strange, fixed }) {
      columns.forEach((one, at) => {
        if (!one) return;
        const weight = weights[at];
        const none = weight === null || weight === undefined;
        one.bar.setAttribute("aria-disabled", String(none || fixed));
        one.bar.setAttribute("aria-valuenow", none ? "0" : weight.toFixed(4));
        one.bar.setAttribute("aria-valuetext", none ? "none" : weight.toFixed(3));
        one.fill.style.height = (none ? 0 : high(weight)) + "px";
        one.value.style.bottom = (none ? 0 : Math.max(high(weight), high(own[at] ?? 0)) + 3) + "px";
        one.knob.style.bottom = (none ? 0 : high(weight)) - KNOB / 2 + "px";
        one.knob.hidden = none || fixed;
        one.own.style.bottom = high(own[at] ?? 0) + "px";
        one.own.hidden = own[at] === null || own[at] === undefined;
        // With dozens of words, only visible weights get a number; the rest is in the tooltip.
        one.bar.title = none ? "" : weight.toFixed(4);
        one.value.textContent = none || weight < 0.01 ? "" : weight < 0.995 ? weight.toFixed(2).slice(1) : "1";
        one.node.classList.toggle("gone", gone.has(at));
        if (!one.fixed) {
          one.label.setAttribute("aria-pressed", String(gone.has(at)));
          one.label.classList.toggle("strange", strange.has(at));
          one.label.title = (gone.has(at) ? "erased; click to restore" : "click to erase")
            + (strange.has(at) ? ". The model does not know this word" : "");
        }
      });
    },
  };
}

// Shares as a strip with one stripe each.
export function strip(canvas, scores, colours) {
  canvas.width = Math.max(scores.length, 1);
  canvas.height = 1;
  const pen = canvas.getContext("2d");
  scores.forEach((score, at) => {
    pen.fillStyle = colours[level(score)];
    pen.fillRect(at, 0, 1, 1);
  });
}

export function shades() {
  const style = getComputedStyle(document.documentElement);
  return Array.from({ length: 11 }, (_, at) => style.getPropertyValue("--h" + at).trim());
}
