"use strict";
(() => {
  const specs = JSON.parse(document.getElementById("figure-specs").textContent);
  const INK = "currentColor"; // of the page around it: no figure is drawn again for the dark, or for paper
  const lines = { gridColor: INK, gridOpacity: 0.14, domainColor: INK, domainOpacity: 0.4, tickColor: INK, tickOpacity: 0.4 };
  const config = {
    background: null,
    font: "system-ui, sans-serif",
    axis: { ...lines, labelColor: INK, titleColor: INK, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" },
    legend: { symbolBaseFillColor: INK, symbolBaseStrokeColor: INK, labelColor: INK, titleColor: INK, labelFontSize: 12, symbolStrokeWidth: 2.5, symbolSize: 220 },
    header: { labelColor: INK, titleColor: INK, labelFontSize: 13, labelFontWeight: "bold" },
    rule: { color: INK },
    text: { color: INK },
    title: { color: INK, anchor: "start", fontSize: 12, fontWeight: "normal" },
    view: { stroke: null },
  };

  // ---- figures that are wider than their place --------------------------------------------------------------
  const LETTER = 6.6; // pixels
  const PANEL = 230; // the least room for a panel and its axis
  const copy = (value) => JSON.parse(JSON.stringify(value));
  const each = (part, visit) => {
    if (part && typeof part === "object") {
      if (!Array.isArray(part)) visit(part);
      for (const [key, inner] of Object.entries(part)) if (key !== "data" && key !== "datasets") each(inner, visit);
    }
  };
  const wrapped = (text, room) => {
    const rows = [""];
    for (const word of [text].flat().join(" ").split(" ")) {
      if (rows.at(-1) && (rows.at(-1).length + word.length + 1) * LETTER > room) rows.push(word);
      else rows[rows.length - 1] += (rows.at(-1) ? " " : "") + word;
    }
    return rows.length > 1 ? rows : rows[0];
  };

  // Words that fit: titles in several lines, legends in columns, names of rows in a third of the room.
  const worded = (spec, room) => {
    each(spec, (part) => {
      if (typeof part.title === "string" || Array.isArray(part.title)) {
        if ("width" in part || part.concat || part.vconcat || part.hconcat) part.title = wrapped(part.title, room - 60);
      }
      if (part.x?.title) part.x.title = wrapped(part.x.title, room * 0.6);
      if (part.orient === "top" || part.orient === "bottom") part.columns = Math.max(1, Math.floor(room / 260));
      if (part.labelLimit > room * 0.55 && !part.orient) [part.labelLimit, part.labelFontSize] = [Math.round(room * 0.55), 11];
      if (part.mark?.type === "text" && part.mark.fontWeight) part.mark.fontSize = 9; // a label at the end of a line
      if (part.minExtent > room / 3) part.minExtent = Math.round(room / 3);
      // A number beside its row, without the interval that is drawn: there is no room to write it.
      const rows = part.data?.values;
      if (Array.isArray(rows)) rows.forEach((row) => { if (typeof row.shown === "string") row.shown = row.shown.split(" [")[0]; });
    });
  };

  // Panels under each other where they do not fit beside each other; returns how many stand in a row.
  const stacked = (spec, room) => {
    let across = 1;
    const most = Math.max(1, Math.floor(room / PANEL));
    each(spec, (part) => {
      if (part.hconcat) [part.concat, part.columns] = [part.hconcat, part.hconcat.length], delete part.hconcat;
      if (part.concat) {
        part.columns = Math.min(part.columns || part.concat.length, most);
        across = Math.max(across, part.columns);
      }
      if (part.facet?.column && !part.facet.row) {
        part.facet = part.facet.column;
        part.columns = most;
        if (most === 1) part.resolve = { ...part.resolve, axis: { ...part.resolve?.axis, x: "independent" } }; // each has numbers
        across = Math.max(across, most);
      } else if (part.facet?.column) {
        across = Math.max(across, new Set((spec.data?.values || []).map((row) => row[part.facet.column.field])).size || 1);
      }
    });
    return across;
  };

  const shrunk = (spec, by) => {
    each(spec, (part) => {
      if (typeof part.width !== "number") {
        if (part.width?.step) part.width.step = Math.max(12, part.width.step * 0.8);
        return;
      }
      const least = Math.min(part.width, 90);
      const less = part.width - Math.max(least, Math.floor(part.width - by));
      const end = part.width;
      part.width -= less;
      each(part.layer, (inner) => { // what stands at the right of a panel stays there
        if (typeof inner.x?.value === "number" && inner.x.value >= end) inner.x.value -= less;
      });
      if (typeof part.encoding?.x?.value === "number" && part.encoding.x.value >= end) part.encoding.x.value -= less;
    });
  };

  const isFolded = (place) => place.closest("details:not([open])");
  const roomOf = (place) => { // what is folded will be about as wide as the section it is folded in
    if (!isFolded(place) && place.clientWidth) return place.clientWidth;
    return Math.max(0, (place.closest("section, main")?.clientWidth || 0) - 40);
  };
  const options = { mode: "vega-lite", renderer: "svg", actions: false, config };
  const widthOf = (place) => Number(place.querySelector("svg")?.getAttribute("width") || 0);

  const draw = async (place) => {
    const room = roomOf(place);
    place.room = room;
    let spec = copy(specs[place.dataset.figure]);
    const again = async () => {
      place.drawn?.finalize();
      place.drawn = await window.vegaEmbed(place, spec, options);
    };
    try {
      await again();
      if (widthOf(place) > room) {
        spec = copy(specs[place.dataset.figure]);
        worded(spec, room);
        const across = stacked(spec, room);
        place.dataset.narrow = "";
        await again();
        for (let time = 0; time < 4 && widthOf(place) > room; time += 1) {
          shrunk(spec, (widthOf(place) - room) / across + 1);
          await again();
        }
      }
      const svg = place.querySelector("svg");
      // One picture with its caption as its name: its numbers are in the tables, mark by mark nobody wants to hear them.
      for (const part of svg.querySelectorAll("[role], [aria-roledescription], [aria-label]")) {
        ["role", "aria-roledescription", "aria-label"].forEach((name) => part.removeAttribute(name));
      }
      svg.removeAttribute("aria-roledescription");
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", spec.description || "a figure");
      // A wall of panels may still be too wide: it scrolls, with the keyboard too.
      if (widthOf(place) > room || place.scrollWidth > place.clientWidth) {
        place.tabIndex = 0;
        place.setAttribute("role", "region");
        place.setAttribute("aria-label", "a wide figure, which scrolls sideways: " + place.dataset.figure);
      }
    } catch (error) {
      place.textContent = "This figure could not be drawn: " + error.message;
    }
  };

  // What is in sight is drawn first, and the page can be used between two figures.
  const places = window.vegaEmbed ? [...document.querySelectorAll("[data-figure]")] : [];
  const pause = () => new Promise((go) => setTimeout(go));
  const drawAll = async (these) => {
    const folded = these.filter(isFolded);
    for (const place of [...these.filter((one) => !folded.includes(one)), ...folded]) {
      await draw(place);
      await pause();
    }
  };
  let busy = drawAll(places);
  let waiting = 0;
  const paper = window.matchMedia("print");
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (!paper.matches) busy = busy.then(() => drawAll(places.filter((place) => Math.abs(roomOf(place) - place.room) > 4)));
    }, 120);
  });
  document.addEventListener("toggle", (event) => {
    const inside = places.filter((place) => event.target.open && event.target.contains(place));
    busy = busy.then(() => drawAll(inside.filter((place) => Math.abs(roomOf(place) - place.room) > 4)));
  }, true);
})();
