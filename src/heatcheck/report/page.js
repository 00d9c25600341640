"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const make = (tag, className, text) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text; // never innerHTML: words are other people's
    return node;
  };

  // ---- figures -------------------------------------------------------------------------------------------
  const specs = read("figure-specs");
  const night = window.matchMedia("(prefers-color-scheme: dark)");
  const drawFigures = (dark) => {
    const ink = dark ? "#e6e9ee" : "#1b1f26";
    const faint = dark ? "#3a404a" : "#dfe3e8";
    const config = {
      background: null,
      font: "system-ui, sans-serif",
      axis: { labelColor: ink, titleColor: ink, gridColor: faint, domainColor: faint, tickColor: faint,
              labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" },
      legend: { labelColor: ink, titleColor: ink, labelFontSize: 12, symbolStrokeWidth: 2.5, symbolSize: 220 },
      header: { labelColor: ink, titleColor: ink, labelFontSize: 13, labelFontWeight: "bold" },
      rule: { color: ink },
      text: { color: ink },
      title: { color: ink, anchor: "start", fontSize: 12, fontWeight: "normal" },
      view: { stroke: null },
    };
    for (const place of document.querySelectorAll("[data-figure]")) {
      window.vegaEmbed(place, specs[place.dataset.figure], { mode: "vega-lite", renderer: "svg", actions: false, config })
        .catch((error) => { place.textContent = "This figure could not be drawn: " + error.message; });
    }
  };
  if (window.vegaEmbed) {
    drawFigures(night.matches);
    night.addEventListener("change", () => drawFigures(night.matches));
    // Paper is white whatever the screen was; drawing takes a moment, so browsers that wait for nothing keep the old ink.
    window.addEventListener("beforeprint", () => night.matches && drawFigures(false));
    window.addEventListener("afterprint", () => night.matches && drawFigures(true));
  }
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));

  // ---- examples ------------------------------------------------------------------------------------------
  const list = document.getElementById("texts");
  if (!list) return;
  const { explainers, names, rival, examples } = read("example-data");
  const STEP = 30;
  const LONG = 150; // words; the rest of a text is opened on request
  const wrong = (example) => example.g !== undefined && example.g !== example.p;
  const number = (value) => String(value).replace("-", "\u2212");
  examples.forEach((example) => {
    example.text = [example.i, example.p, example.g ?? "", example.b ?? "", ...example.w].join(" ").toLowerCase();
  });

  const difference = (example) => {
    const beside = [["floor", example.f], ["most", example.m]].filter(([, value]) => value !== undefined);
    return "JSD from attention " + example.j.toFixed(2)
      + (beside.length ? " (" + beside.map(([word, value]) => word + " " + value.toFixed(2)).join(", ") + ")" : "")
      + (example.c === undefined ? "" : "; the output moves by " + example.c.toFixed(3));
  };

  // What the checks found of this text alone, in one line.
  const measures = (example) => {
    const parts = [];
    if (rival && example.t !== undefined) {
      parts.push("\u03c4 of attention with " + names[explainers.indexOf(rival)] + " " + number(example.t.toFixed(2)));
    }
    if (example.k !== undefined) parts.push((100 * example.k).toFixed(0) + "% of shuffles keep the answer");
    if (example.d !== undefined) parts.push("shuffling moves the output by " + example.d.toFixed(3));
    if (example.v !== undefined) parts.push("JSD from other seeds " + example.v.toFixed(2));
    return parts.join(" \u00b7 ");
  };

  const heatRow = (example, at, end) => {
    const scores = example.s[at];
    const name = names[at];
    const row = make("div", "row");
    row.append(make("span", "who", name));
    const heat = make("p", "heat");
    const beside = make("div");
    beside.append(heat);
    row.append(beside);
    const known = scores.map((score, place) => [place, score]).filter(([, score]) => score !== null);
    if (!known.length) {
      heat.append(make("i", "", "no scores for this text"));
      return row;
    }
    const largest = Math.max(...known.map(([, score]) => Math.abs(score)));
    const top = known.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, 3);
    heat.setAttribute("role", "img");
    heat.setAttribute("aria-label",
      name + ", heaviest words: " + top.map(([place, score]) => example.w[place] + " " + number(score)).join(", "));
    const marked = new Set(example.r ?? []);
    example.w.slice(0, end).forEach((word, place) => {
      const score = scores[place] ?? null;
      const level = score === null || !largest ? 0 : Math.round(10 * Math.abs(score) / largest);
      const span = make("span", "w h" + level, word);
      if (score === null) span.classList.add("none");
      if (score < 0 && level > 0) span.classList.add("minus");
      if (marked.has(place)) span.classList.add("mark");
      span.title = name + " " + (score === null ? "gives this word no score" : number(score))
        + (marked.has(place) ? "; marked as the reason" : "");
      heat.append(span, " ");
    });
    if (explainers[at] === "counterfactual" && example.j !== undefined) {
      beside.append(make("p", "measures", difference(example)));
    }
    return row;
  };

  const item = (example, ticked) => {
    const node = make("li", wrong(example) ? "text wrong" : "text");
    const head = make("p", "head");
    head.append(make("span", "", "predicted "));
    head.lastChild.append(make("b", "", example.p));
    const rest = [];
    if (example.q !== null) rest.push(example.q.toFixed(2));
    if (example.g !== undefined && !wrong(example)) rest.push("as labelled");
    head.append(" " + rest.join(" \u00b7 "));
    if (wrong(example)) head.append(" ", make("span", "miss", "\u2715 misclassified: labelled " + example.g));
    head.append(make("span", "id", example.i));
    node.append(head);
    const measured = measures(example);
    if (measured) node.append(make("p", "measures", measured));
    if (example.b) node.append(make("p", "pair", example.b));
    node.append(make("p", "hidden", example.w.join(" ")));
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
  const search = document.getElementById("search");
  const order = document.getElementById("order");
  const more = document.getElementById("more");
  const boxes = [...document.querySelectorAll("[name=explainer]")];
  let limit = STEP;
  const show = () => {
    const wanted = search.value.trim().toLowerCase();
    const found = examples.filter((example) => example.text.includes(wanted)).sort(orders[order.value]);
    const ticked = boxes.filter((box) => box.checked).map((box) => explainers.indexOf(box.value));
    list.replaceChildren(...found.slice(0, limit).map((example) => item(example, ticked)));
    const shown = Math.min(limit, found.length);
    document.getElementById("found").textContent =
      found.length ? shown + " of " + found.length + (wanted ? " matching texts" : " texts") : "No text matches.";
    more.hidden = shown === found.length;
    more.textContent = "show " + Math.min(STEP, found.length - shown) + " more";
  };
  const restart = () => { limit = STEP; show(); };
  document.querySelector(".controls").hidden = false;
  document.querySelector(".controls").addEventListener("submit", (event) => event.preventDefault());
  search.addEventListener("input", restart);
  order.addEventListener("change", restart);
  boxes.forEach((box) => box.addEventListener("change", show));
  more.addEventListener("click", () => { limit += STEP; show(); });
  show();
})();
