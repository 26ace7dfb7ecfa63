"use strict";
// The report is whole without this: it opens the row that a link leads to, filters rows, and follows clicks into the plot.
(() => {
  const go = (id, isMoved) => {
    const row = document.getElementById(id);
    if (!row || row.tagName !== "TR") return;
    row.classList.remove("hide");
    for (const other of document.querySelectorAll("tr.at")) other.classList.remove("at");
    row.classList.add("at");
    const details = row.querySelector("details");
    if (!details) return;
    details.open = true;
    if (isMoved) {
      details.querySelector("summary").focus({ preventScroll: true });
      row.scrollIntoView({ block: "center" });
    }
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link) {
      const id = decodeURIComponent(link.hash.slice(1));
      const target = document.getElementById(id);
      if (!target) return;
      event.preventDefault(); // inside of a frame a hash would load the page that holds it
      if (target.tagName === "TR") go(id, true);
      else { target.scrollIntoView({ block: "start" }); target.focus({ preventScroll: true }); }
      return;
    }
    const tick = event.target.closest("[data-row]");
    if (tick && !getSelection().toString()) go("r" + tick.dataset.row, true);
  });
  const filters = document.querySelector(".filters");
  if (filters) {
    filters.hidden = false;
    filters.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      if (button.dataset.open) {
        const isOpen = button.dataset.open === "yes";
        for (const details of document.querySelectorAll("tbody details")) details.open = isOpen;
        return;
      }
      for (const other of filters.querySelectorAll("[aria-pressed]")) other.setAttribute("aria-pressed", String(other === button));
      let count = 0;
      for (const row of document.querySelectorAll("#rows tbody tr")) {
        const isShown = !button.dataset.show || row.dataset.is.split(" ").includes(button.dataset.show);
        row.classList.toggle("hide", !isShown);
        count += isShown;
      }
      document.getElementById("shown").textContent = count + " rows shown";
    });
  }
  if (location.hash) go(decodeURIComponent(location.hash.slice(1)), true);
})();
