// Tabs, tables that sort and filter, the tooltip. Text from documents is only set as text, never as markup.

/** An element with attributes and children; a child that is a string becomes text. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** The content of a `packed` script element: JSON, compressed by gzip, in base64. */
async function unpacked(script) {
  const bytes = Uint8Array.from(atob(JSON.parse(script.textContent)), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** Nanoseconds with three significant digits and a unit. */
function duration(ns) {
  const sign = ns < 0 ? "−" : "";
  const size = Math.abs(ns);
  const [value, unit] = size < 999.5 ? [size, "ns"] : size < 999.5e3 ? [size / 1e3, "µs"]
    : size < 999.5e6 ? [size / 1e6, "ms"] : [size / 1e9, "s"];
  const digits = unit === "ns" ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return `${sign}${value.toFixed(digits)} ${unit}`;
}

const tooltip = document.getElementById("tooltip");

function showTooltip(text, x, y) {
  tooltip.textContent = text;
  tooltip.hidden = false;
  const box = tooltip.getBoundingClientRect();
  tooltip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 4))}px`;
  tooltip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18}px`;
}

function hideTooltip() {
  tooltip.hidden = true;
}

/** A list of tabs over panels, of which one is shown. Arrow keys, Home and End move. Calls `chosen` with the index. */
function tabs(list, items, chosen) {
  list.setAttribute("role", "tablist");
  const select = (index, focus) => {
    items.forEach(({ tab, panel }, place) => {
      tab.setAttribute("aria-selected", String(place === index));
      tab.tabIndex = place === index ? 0 : -1;
      panel.hidden = place !== index;
    });
    if (focus) items[index].tab.focus();
    chosen(index);
  };
  items.forEach(({ tab, panel }, index) => {
    tab.setAttribute("role", "tab");
    if (panel.id) tab.setAttribute("aria-controls", panel.id);
    panel.setAttribute("role", "tabpanel");
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      select(index, false);
    });
    tab.addEventListener("keydown", (event) => {
      const last = items.length - 1;
      const to = { ArrowRight: index === last ? 0 : index + 1, ArrowLeft: index ? index - 1 : last, Home: 0, End: last };
      if (event.key in to) {
        event.preventDefault();
        select(to[event.key], true);
      }
    });
  });
  return select;
}

/** Called when a section becomes visible. */
const onSection = [];

/** What is made once the page is open, so that it can be printed. */
const later = [];

/** Makes the content of an element once: when its section is first visible, or later. Returns the promise if now. */
function whenShown(inside, make) {
  let made = null;
  const run = () => (made ??= make(inside));
  const section = inside.closest("section");
  onSection.push((id) => { if (id === section.id) run(); });
  later.push(run);
  return section.hidden ? null : run();
}

function sections() {
  const nav = document.querySelector("nav.tabs");
  const items = [...nav.querySelectorAll("a")].map((tab) => ({
    tab,
    panel: document.getElementById(tab.hash.slice(1)),
  }));
  let opened = false;
  const select = tabs(nav, items, (index) => {
    const { id } = items[index].panel;
    // The first tab is not put into the address: the Tab key would begin in its section. Not every browser lets a page from a disk
    // change its address.
    try { if (opened) history.replaceState(null, "", `#${id}`); } catch { /* the tab is open anyway */ }
    opened = true;
    for (const hear of onSection) hear(id);
  });
  const named = () => items.findIndex(({ panel }) => `#${panel.id}` === location.hash);
  addEventListener("hashchange", () => { if (named() >= 0) select(named(), false); });
  return () => select(Math.max(0, named()), false);
}

/** The sort key of a cell: its number, else its text. Cells with neither come last. */
function sortKey(row, column) {
  const cell = row.cells[column];
  if (!cell) return null;
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  return cell.textContent.trim() || null;
}

function compareKeys(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a.localeCompare(b, "en", { numeric: true });
}

function sortable(table) {
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const button = element("button", { type: "button" }, heading.textContent);
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const descending = heading.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const rows = [...table.tBodies[0].rows].map((row) => ({ row, key: sortKey(row, column) }));
      const [known, unknown] = [rows.filter(({ key }) => key !== null), rows.filter(({ key }) => key === null)];
      known.sort((a, b) => (descending ? compareKeys(b.key, a.key) : compareKeys(a.key, b.key)));
      table.tBodies[0].append(...known.concat(unknown).map(({ row }) => row));
    });
  });
}

/** A choice with a label. */
function choice(label, options, chosen) {
  const select = element("select", { onchange: () => chosen(select.value) },
    ...options.map(([value, text]) => element("option", { value }, text)));
  return element("label", {}, label, select);
}

function filterable(block) {
  const table = block.querySelector("table");
  const rows = [...table.tBodies[0].rows];
  const count = element("span", { role: "status" });
  let [words, cache] = ["", ""];
  const apply = () => {
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const fits = words.split(/\s+/).every((word) => text.includes(word)) && (!cache || row.dataset.cache === cache);
      row.hidden = !fits;
      shown += fits;
    }
    count.textContent = `${shown} of ${rows.length}`;
  };
  const field = element("input", { type: "search", oninput: () => { words = field.value.trim().toLowerCase(); apply(); } });
  const controls = element("div", { class: "controls" }, element("label", {}, "Filter", field));
  if (new Set(rows.map((row) => row.dataset.cache)).size > 1) {
    const caches = [["", "warm and cold"], ["warm", "warm"], ["cold", "cold"]];
    controls.append(choice("Page cache", caches, (value) => { cache = value; apply(); }));
  }
  if (table.querySelector("svg.bar")) {
    const scales = [["logarithmic", "logarithmic"], ["linear", "linear"], ["share", "shares"]];
    controls.append(choice("Bars", scales, (value) => { table.dataset.scale = value; }));
  }
  controls.append(count);
  block.prepend(controls);
  apply();
}

function hexMaps() {
  for (const map of document.querySelectorAll(".hex")) {
    // before a click sorts it
    const rows = [...map.nextElementSibling.querySelector("tbody").rows];
    map.addEventListener("click", (event) => {
      const row = rows[event.target.dataset.row];
      if (!row) return;
      rows.forEach((other) => other.classList.toggle("chosen", other === row));
      row.scrollIntoView({ block: "nearest" });
    });
  }
}
