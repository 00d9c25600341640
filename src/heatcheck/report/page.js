"use strict";
(() => {
  const named = (id) => document.getElementById(id);

  // ---- light and dark ------------------------------------------------------------------------------------
  // Dark colours stand in one rule for screens that ask for them; the button makes it hold always, or never.
  const night = window.matchMedia("(prefers-color-scheme: dark)");
  const darkRule = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules])
    .find((rule) => rule.media && rule.media.mediaText.includes("prefers-color-scheme"));
  const theme = named("theme");
  let chosen = null; // true: dark, false: light, null: as the reader's system has it
  const isDark = () => chosen ?? night.matches;
  const sayTheme = () => { theme.textContent = isDark() ? "light" : "dark"; };
  theme.addEventListener("click", () => {
    chosen = !isDark();
    darkRule.media.mediaText = chosen ? "screen" : "not all";
    sayTheme();
  });
  night.addEventListener("change", sayTheme);
  sayTheme();
  theme.hidden = false;

  // ---- paper, and the list of contents -------------------------------------------------------------------
  // What is folded away is printed too, but for settings and tables of every number: those are pages of small print.
  let unfolded = [];
  window.addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not([open]):not(.bulk)")];
    unfolded.forEach((details) => { details.open = true; });
  });
  window.addEventListener("afterprint", () => unfolded.forEach((details) => { details.open = false; }));
  const contents = document.querySelector(".bar details");
  if (contents) {
    const fold = () => { contents.open = false; };
    contents.addEventListener("click", (event) => event.target.closest("a") && fold());
    contents.addEventListener("keydown", (event) => event.key === "Escape" && fold());
    document.addEventListener("click", (event) => contents.contains(event.target) || fold());
  }

  // ---- what is folded, by its address --------------------------------------------------------------------
  const nameIn = (hash) => { try { return decodeURIComponent(hash.slice(1)); } catch { return hash.slice(1); } };
  const unfold = (hash) => {
    const target = named(nameIn(hash));
    for (let part = target?.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  };
  window.addEventListener("hashchange", () => unfold(location.hash));
  // A link to where one already is changes no address, and still opens it.
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link) unfold(link.hash);
  });
  unfold(location.hash);
})();
