// Give the elements that the theme creates the names and the focus that screen readers and keyboards
// need: the search, navigation elements with equal names, tables that scroll, and corners of tables.
function label() {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  const counts = new Map();
  for (const nav of document.querySelectorAll("nav:not([data-labelled])")) {
    const heading = document.getElementById(nav.getAttribute("aria-labelledby"));
    const name = (nav.getAttribute("aria-label") || heading?.textContent || "Navigation").trim();
    counts.set(name, (counts.get(name) || 0) + 1);
    if (counts.get(name) > 1 || nav.className === "md-code__nav") {
      nav.removeAttribute("aria-labelledby");
      nav.setAttribute("aria-label", `${name} ${document.querySelectorAll("[data-labelled]").length}`);
    }
    nav.dataset.labelled = "";
  }
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) table.tabIndex = 0;
  for (const corner of document.querySelectorAll("th:empty")) corner.replaceWith(document.createElement("td"));
}
label();
new MutationObserver(label).observe(document.body, { childList: true, subtree: true });
