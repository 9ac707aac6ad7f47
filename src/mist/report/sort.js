"use strict";
// A click on a heading sorts its table: ascending, descending, original order. Without this script
// the tables are static.
(() => {
  const NUMBER = /^[<>≤≥~≈\s]*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)/i;
  const MISSING = /^[-–—]?$/;
  const NEXT = { none: "ascending", ascending: "descending", descending: "none" };

  const read = (text) => {
    const found = NUMBER.exec(text.replaceAll(",", "").replaceAll("−", "-"));
    return found ? Number(found[1]) : null;
  };

  // The sort keys of a column; null is missing. Numbers if at least half of the known cells are.
  const keysOf = (rows, column) => {
    const texts = rows.map((row) => row.cells[column].textContent.trim());
    const numbers = texts.map(read);
    const known = texts.filter((text) => !MISSING.test(text)).length;
    if (2 * numbers.filter((number) => number !== null).length >= known) return numbers;
    return texts.map((text) => (MISSING.test(text) ? null : text));
  };

  const compare = (a, b) =>
    typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });

  const order = (rows, column, direction) => {
    const keys = new Map();
    keysOf(rows, column).forEach((key, i) => keys.set(rows[i], key));
    const sign = direction === "ascending" ? 1 : -1;
    // Missing keys come last in both directions, and equal rows keep their order.
    return [...rows].sort((first, second) => {
      const [a, b] = [keys.get(first), keys.get(second)];
      if (a === null || b === null) return (a === null) - (b === null);
      return sign * compare(a, b);
    });
  };

  for (const table of document.querySelectorAll("table")) {
    const body = table.tBodies[0];
    const headings = table.tHead ? [...table.tHead.rows[0].cells] : [];
    const first = body ? [...body.rows] : [];
    if (first.length < 2) continue;
    headings.forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      heading.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const direction = NEXT[heading.getAttribute("aria-sort")];
        for (const other of headings) other.setAttribute("aria-sort", "none");
        heading.setAttribute("aria-sort", direction);
        const rows = direction === "none" ? first : order([...body.rows], column, direction);
        body.append(...rows);
        // Rules between groups of rows are only meaningful in the original order.
        table.classList.toggle("sorted", direction !== "none");
      });
    });
  }
})();
