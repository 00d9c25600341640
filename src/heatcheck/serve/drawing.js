// Words shaded by scores, and bars that can be dragged.

// With a capital letter, unless it begins with a file path.
export const asSentence = (text) => (/^\S*\//.test(text) ? text : text.slice(0, 1).toUpperCase() + text.slice(1));

export function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text; // never innerHTML: words are other people's
  return node;
}

export const number = (value, digits = 2) => value.toFixed(digits).replace("-", "\u2212");

export function level(score, largest) {
  return score === null || !largest ? 0 : Math.round(10 * Math.abs(score) / largest);
}

const largestOf = (scores) => Math.max(0, ...scores.filter((score) => score !== null).map(Math.abs));

export function heatRow(name, words, scores, title = "") {
  const row = make("div", "row");
  const who = make("span", "who", name);
  who.title = title;
  const heat = make("p", "heat");
  const largest = largestOf(scores);
  const top = scores.map((score, place) => [score, words[place]]).filter(([score]) => score !== null)
    .sort((a, b) => Math.abs(b[0]) - Math.abs(a[0])).slice(0, 3);
  heat.setAttribute("role", "img");
  heat.setAttribute("aria-label",
    name + ", heaviest words: " + top.map(([score, word]) => word + " " + number(score, 3)).join(", "));
  words.forEach((word, place) => {
    if (!word) return;
    const score = scores[place];
    const span = make("span", "w h" + level(score, largest), word);
    if (score === null) span.classList.add("none");
    if (score < 0 && level(score, largest) > 0) span.classList.add("minus");
    span.title = score === null ? "no score" : number(score, 3);
    heat.append(span, " ");
  });
  row.append(who, heat);
  return row;
}

const HEIGHT = 70; // pixels of a weight of 1
const high = (weight) => Math.sqrt(Math.max(weight, 0)) * HEIGHT;
const weightAt = (pixels) => Math.min(1, Math.max(0, pixels / HEIGHT)) ** 2;
const STEPS = { ArrowUp: 0.02, ArrowRight: 0.02, ArrowDown: -0.02, ArrowLeft: -0.02, PageUp: 0.1, PageDown: -0.1 };

// One column per word. `moved(place, weight)` is called while a bar is dragged, `erased(place)` on a click.
export function bars(place, { moved, erased }) {
  let columns = [];

  function column(word, at, fixed) {
    const node = make("div", "column");
    const bar = make("div", "pull");
    const own = make("div", "its-own");
    const fill = make("div", "fill");
    const value = make("span", "value");
    bar.append(own, fill, value);
    bar.tabIndex = 0;
    bar.setAttribute("role", "slider");
    bar.setAttribute("aria-label", "weight of " + word);
    bar.setAttribute("aria-valuemin", "0");
    bar.setAttribute("aria-valuemax", "1");
    const follow = (event) => moved(at, weightAt(bar.getBoundingClientRect().bottom - event.clientY));
    bar.addEventListener("pointerdown", (event) => {
      if (bar.getAttribute("aria-disabled") === "true") return;
      bar.setPointerCapture(event.pointerId);
      bar.focus();
      event.preventDefault();
      follow(event);
    });
    bar.addEventListener("pointermove", (event) => {
      if (bar.hasPointerCapture(event.pointerId)) follow(event);
    });
    bar.addEventListener("keydown", (event) => {
      if (bar.getAttribute("aria-disabled") === "true") return;
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
    return { node, bar, own, fill, value, label, word, fixed };
  }

  return {
    // Words, and the name for special tokens ("" for none); called when the text changes.
    lay(words, rest) {
      columns = words.map((word, at) => (word ? column(word, at, false) : null));
      columns.push(rest ? column(rest, words.length, true) : null);
      place.replaceChildren(...columns.filter(Boolean).map((one) => one.node));
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

// The weights as a strip with one stripe per word.
export function strip(canvas, scores, colours) {
  const known = scores.map((score) => score ?? 0);
  const largest = largestOf(known);
  canvas.width = Math.max(known.length, 1);
  canvas.height = 1;
  const pen = canvas.getContext("2d");
  known.forEach((score, at) => {
    pen.fillStyle = colours[level(score, largest)];
    pen.fillRect(at, 0, 1, 1);
  });
}

export function shades() {
  const style = getComputedStyle(document.documentElement);
  return Array.from({ length: 11 }, (_, at) => style.getPropertyValue("--h" + at).trim());
}
