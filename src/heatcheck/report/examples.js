"use strict";
(() => {
  const named = (id) => document.getElementById(id);
  const make = (tag, className, text) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text; // never innerHTML: words are other people's
    return node;
  };
  const nameIn = (hash) => { try { return decodeURIComponent(hash.slice(1)); } catch { return hash.slice(1); } };

  // ---- texts ---------------------------------------------------------------------------------------------
  const list = named("texts");
  if (!list) return;
  const { explainers, names, weights, digits, unseen, rival, heat, examples } =
    JSON.parse(named("example-data").textContent);
  const [FIRST, STEP] = [4, 30]; // texts at first, and more at a time
  const LONG = 150; // words; the rest of a text is opened on request
  const wrong = (example) => example.g !== undefined && example.p !== undefined && example.g !== example.p;
  const number = (value) => String(value).replace("-", "\u2212");
  const heatName = names[explainers.indexOf(heat)] ?? heat;
  const address = (example) => "#text-" + encodeURIComponent(example.i);

  // Scores stand in the page as text: packed.py says how. A row is read when it is shown.
  const CODES = new Map([..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"].map((c, at) => [c, at]));
  const LOWEST = -15;
  const scoreOf = (code, size) => {
    if (code < 2) return code ? 0 : null;
    const [first, rest] = [10 ** (size - 1), Math.floor((code - 2) / 2)];
    const whole = first + rest % (9 * first);
    return Number((code % 2 ? "-" : "") + whole + "e" + (LOWEST + Math.floor(rest / (9 * first)) - size + 1));
  };
  const scoresOf = (example, at) => {
    const [text, size] = [example.s[at], digits[at]];
    if (typeof text === "string") {
      example.s[at] = Array.from({ length: text.length / size }, (_, place) =>
        scoreOf([...text.slice(place * size, (place + 1) * size)].reduce((sum, c) => 64 * sum + CODES.get(c), 0), size));
    }
    return example.s[at];
  };
  const textOf = (example) => example.text
    ??= [example.i, example.p ?? "", example.g ?? "", example.b ?? "", ...example.w].join(" ").toLowerCase();
  const short = (weight) => weight.toFixed(2).replace(/^0/, "");

  const difference = (example) => {
    const beside = [["floor", example.f], ["most", example.m]].filter(([, value]) => value !== undefined);
    return "JSD from attention " + example.j.toFixed(2)
      + (beside.length ? " (" + beside.map(([word, value]) => word + " " + value.toFixed(2)).join(", ") + ")" : "")
      + (example.c === undefined ? "" : "; the output moves by \u0394p " + example.c.toFixed(3));
  };

  // What the checks found of this text alone: of what, in few words, and what that means.
  const measures = (example) => {
    const found = [];
    if (rival && example.t !== undefined) {
      found.push(["\u03c4 of " + heatName + " with " + names[explainers.indexOf(rival)] + " " + number(example.t.toFixed(2)),
        "1: both rank the words alike; 0: no relation; \u22121: the reverse"]);
    }
    if (example.k !== undefined) {
      found.push([(100 * example.k).toFixed(0) + "% of shuffles keep the answer",
        "of random shuffles of the weights among the words"]);
    }
    if (example.d !== undefined) {
      found.push(["shuffling moves the output by " + example.d.toFixed(3), "the median of those shuffles"]);
    }
    const own = unseen && scoresOf(example, explainers.indexOf(heat));
    const elsewhere = own && own.length ? 1 - own.reduce((sum, score) => sum + (score ?? 0), 0) : 0;
    if (elsewhere > 0.005) {
      found.push([(100 * elsewhere).toFixed(0) + "% of the weight is on " + unseen, "they are not shown"]);
    }
    if (example.v !== undefined) {
      found.push(["JSD from other seeds " + example.v.toFixed(2), "0: the same heatmap; 0.69: no word in common"]);
    }
    return found;
  };

  const row = (who, ...beside) => {
    const node = make("div", "row");
    node.append(make("span", "who", who), make("div"));
    node.lastChild.append(...beside);
    return node;
  };

  const heatRow = (example, at, end) => {
    const scores = scoresOf(example, at);
    const name = names[at];
    const heat = make("p", "heat");
    const known = scores.map((score, place) => [place, score]).filter(([, score]) => score !== null);
    if (!known.length) {
      heat.append(make("i", "", "no scores for this text"));
      return row(name, heat);
    }
    const largest = Math.max(...known.map(([, score]) => Math.abs(score)));
    const top = known.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, 3);
    heat.setAttribute("role", "img");
    heat.setAttribute("aria-label",
      name + ", heaviest words: " + top.map(([place, score]) => example.w[place] + " " + number(score)).join(", "));
    const marked = new Set(example.r ?? []);
    const ofWeights = weights.includes(explainers[at]);
    const absolute = ofWeights && shades.value === "one";
    example.w.slice(0, end).forEach((word, place) => {
      const score = scores[place] ?? null;
      const size = score === null || !largest ? 0 : absolute ? Math.sqrt(Math.abs(score)) : Math.abs(score) / largest;
      const level = Math.min(10, Math.round(10 * size));
      const span = make("span", "w " + (ofWeights ? "h" : "g") + level, word);
      if (ofWeights && score !== null) span.dataset.n = short(score);
      if (score === null) span.classList.add("none");
      if (score < 0 && level > 0) span.classList.add("minus");
      if (marked.has(place)) span.classList.add("mark");
      span.title = name + " " + (score === null ? "gives this word no score" : number(score))
        + (marked.has(place) ? "; marked as the reason" : "");
      heat.append(span, " ");
    });
    const other = explainers[at] === "counterfactual" && example.j !== undefined;
    return row(name, heat, ...(other ? [make("p", "measures", difference(example))] : []));
  };

  const head = (example) => {
    const node = make("p", "head");
    if (example.p !== undefined) {
      node.append(make("span", "", "predicted "));
      node.lastChild.append(make("b", "", example.p));
    }
    const rest = [];
    if ((example.q ?? null) !== null) rest.push(example.q.toFixed(2));
    if (example.g !== undefined && example.p !== undefined && !wrong(example)) rest.push("as labelled");
    node.append(" " + rest.join(" \u00b7 "));
    if (wrong(example)) node.append(" ", make("span", "miss", "\u2715 misclassified: labelled " + example.g));
    return node;
  };

  // For those who hear the page: the words as they stand, and which of them people marked.
  const aloud = (example) => {
    const marked = (example.r ?? []).map((place) => example.w[place]);
    return make("p", "hidden",
      example.w.join(" ") + (marked.length ? " \u2014 marked as the reason: " + marked.join(", ") : ""));
  };

  const item = (example, ticked) => {
    const node = make("li", wrong(example) ? "text wrong" : "text");
    const opens = make("a", "id", example.i);
    opens.href = address(example);
    opens.title = "open this text with all its rows";
    opens.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // in another tab or window, by its address
      event.preventDefault();
      open(example);
    });
    node.append(head(example));
    node.lastChild.append(opens);
    const measured = measures(example).map(([what]) => what).join(" \u00b7 ");
    if (measured) node.append(make("p", "measures", measured));
    if (example.b) node.append(make("p", "pair", example.b));
    node.append(aloud(example));
    const rows = make("div", "rows");
    const fill = (end) => rows.replaceChildren(...ticked.map((at) => heatRow(example, at, end)));
    fill(LONG);
    node.append(rows);
    if (example.w.length > LONG) {
      const whole = make("button", "whole", "show all " + example.w.length + " words");
      whole.type = "button";
      whole.addEventListener("click", () => { fill(example.w.length); whole.remove(); });
      node.append(whole);
    }
    return node;
  };

  const most = (key) => (a, b) => (b[key] ?? -1) - (a[key] ?? -1);
  const orders = {
    j: most("j"), k: most("k"), d: most("d"), v: most("v"),
    given: () => 0,
    disagreement: (a, b) => (a.t ?? 2) - (b.t ?? 2),
    wrong: (a, b) => wrong(b) - wrong(a),
  };
  const [search, order, more, controls] = [named("search"), named("order"), named("more"), document.querySelector(".controls")];
  const shades = named("shades");
  const boxes = [...document.querySelectorAll("[name=explainer]")];
  let limit = FIRST;
  let found = examples;
  const items = (from, to) => {
    const ticked = boxes.filter((box) => box.checked).map((box) => explainers.indexOf(box.value));
    return found.slice(from, to).map((example) => item(example, ticked));
  };
  const count = () => {
    const shown = Math.min(limit, found.length);
    named("found").textContent = found.length
      ? shown + " of " + found.length + (search.value.trim() ? " matching texts" : " texts") : "No text matches.";
    more.hidden = shown === found.length;
    more.textContent = "show " + Math.min(STEP, found.length - shown) + " more";
  };
  const show = () => {
    const wanted = search.value.trim().toLowerCase();
    found = examples.filter((example) => !wanted || textOf(example).includes(wanted)).sort(orders[order.value]);
    list.replaceChildren(...items(0, limit));
    count();
  };
  const showMore = () => { // what is there stays as it is
    list.append(...items(limit, limit + STEP));
    limit += STEP;
    count();
  };
  const restart = () => { limit = FIRST; show(); };
  controls.hidden = false;
  controls.addEventListener("submit", (event) => event.preventDefault());
  search.addEventListener("input", restart);
  order.addEventListener("change", restart);
  boxes.forEach((box) => box.addEventListener("change", show));
  shades.addEventListener("change", show);
  more.addEventListener("click", showMore);
  show();

  // ---- one text, opened ----------------------------------------------------------------------------------
  const [dialog, previous, next] = [named("one"), named("previous"), named("next")];
  let opened = null;
  const open = (example) => {
    opened = example;
    const at = found.indexOf(example); // -1: opened by its address, and not among those searched for
    previous.disabled = at < 1;
    next.disabled = at < 0 || at === found.length - 1;
    named("one-place").textContent = at < 0 ? "" : at + 1 + " of " + found.length;
    named("one-title").textContent = example.i;
    const about = make("dl", "small");
    for (const [what, means] of measures(example)) {
      about.append(make("div"));
      about.lastChild.append(make("dt", "", what), make("dd", "", means));
    }
    const rows = explainers.map((_, place) => heatRow(example, place, example.w.length));
    if (example.r) {
      const marked = new Set(example.r);
      const people = make("p", "heat");
      people.setAttribute("aria-hidden", "true"); // said aloud with the words
      example.w.forEach((word, place) => people.append(make("span", marked.has(place) ? "w mark" : "w none", word), " "));
      rows.unshift(row("the reason, as marked", people));
    }
    named("one-text").replaceChildren(
      head(example), ...(example.b ? [make("p", "pair", example.b)] : []), aloud(example), ...rows, about);
    history.replaceState(null, "", address(example));
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    named("one-title").focus();
  };
  const step = (by) => {
    const to = found[found.indexOf(opened) + by];
    if (to && found.includes(opened)) open(to);
  };
  previous.addEventListener("click", () => step(-1));
  next.addEventListener("click", () => step(1));
  named("close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close()); // beside it
  dialog.addEventListener("close", () => {
    history.replaceState(null, "", "#examples");
    const at = found.indexOf(opened);
    while (at >= limit) showMore();
    list.children[at]?.querySelector(".id").focus();
  });
  const follow = () => {
    const name = nameIn(location.hash);
    const wanted = name.startsWith("text-") && examples.find((example) => "text-" + example.i === name);
    if (wanted) open(wanted);
  };
  window.addEventListener("hashchange", follow);
  follow();

  // j and k, or the arrows, from text to text; Enter on a name follows it, and Escape closes a dialog, by themselves.
  const STEPS = { j: 1, ArrowDown: 1, ArrowRight: 1, k: -1, ArrowUp: -1, ArrowLeft: -1 };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    const by = STEPS[event.key];
    const sideways = event.key === "ArrowLeft" || event.key === "ArrowRight";
    if (dialog.open) {
      if (by && (sideways || event.key === "j" || event.key === "k")) step(by); // up and down scroll a long text
    } else if (event.key === "/") {
      event.preventDefault();
      search.focus();
    } else if (by && !sideways) {
      const at = [...list.children].indexOf(document.activeElement.closest("#texts > li"));
      if (at < 0 && event.key !== "j" && event.key !== "k") return; // arrows scroll the page until a text is chosen
      event.preventDefault();
      if (at + by >= list.children.length && !more.hidden) showMore();
      list.children[Math.max(at + by, 0)]?.querySelector(".id").focus();
    }
  });
})();
