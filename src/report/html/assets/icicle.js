// An icicle: every function below its caller, or program below the one that started it, as wide as its time with all below.

/** Rows below this part of the whole width are too narrow to be seen. */
const NARROWEST = 0.001;
const ICICLE_ROW = 20;

const COLOURS = 4;
/** The most callers that are named. */
const CALLERS = 4;

/** The groups, that with the most time of its own first. */
function byOwnTime({ times, callers, groups }) {
  const own = new Map(groups.map((group) => [group, 0]));
  times.forEach((time, index) => {
    own.set(groups[index], own.get(groups[index]) + time);
    if (callers[index] >= 0) own.set(groups[callers[index]], own.get(groups[callers[index]]) - time);
  });
  return [...own.keys()].sort((a, b) => own.get(b) - own.get(a));
}

class Icicle {
  constructor({ texts, tree, whole }) {
    this.texts = texts;
    this.trees = [tree, whole];
    // the colours are the same in both trees
    this.groups = byOwnTime(whole || tree);
    this.words = "";
    this.element = element("div", { class: "icicle", role: "group", "aria-label": texts.chart });
    this.status = element("span", { role: "status" });
    this.grow(tree);
  }

  /** Makes the nodes of one of the trees. */
  grow({ callers, names, files, groups, sources, times }) {
    this.nodes = times.map((time, index) => ({
      time, name: names[index], file: files[index], source: sources[index], colour: this.groups.indexOf(groups[index]) % COLOURS,
      called: [], index,
    }));
    this.roots = [];
    this.nodes.forEach((node, index) => {
      node.caller = callers[index] < 0 ? null : this.nodes[callers[index]];
      (node.caller ? node.caller.called : this.roots).push(node);
    });
    this.total = this.roots.reduce((sum, node) => sum + node.time, 0);
    this.place(this.roots, 0, 0);
    this.zoomed = null;
    this.bars = new Map();
  }

  showWhole(shown) {
    this.grow(this.trees[shown ? 1 : 0]);
    this.draw();
  }

  /** What the colours mean: those of the groups with the most time. */
  legend() {
    const keys = this.groups.slice(0, COLOURS).map((group, place) =>
      element("li", {}, element("span", { class: `swatch module-${place}`, "aria-hidden": "true" }), group || "no file"));
    if (this.groups.length > COLOURS) keys.push(element("li", {}, "others repeat these colours"));
    return element("ul", { class: "legend", "aria-label": "Colours" }, ...keys);
  }

  place(nodes, from, depth) {
    for (const node of [...nodes].sort((a, b) => b.time - a.time)) {
      Object.assign(node, { from, depth });
      this.place(node.called, from, depth + 1);
      from += node.time;
    }
  }

  zoom(node) {
    this.zoomed = node;
    this.draw();
    if (node) this.focus(node);
  }

  /** One bar is in the tab order; arrow keys move to the others. */
  focus(node) {
    for (const bar of this.bars.values()) bar.tabIndex = -1;
    const bar = this.bars.get(node);
    bar.tabIndex = 0;
    bar.focus();
  }

  /** Up to the caller, down to the longest function that it called, to the side within the same caller. */
  key(event, node) {
    const beside = [...(node.caller ? node.caller.called : this.roots)].sort((a, b) => a.from - b.from);
    const place = beside.indexOf(node);
    const longest = [...node.called].sort((a, b) => b.time - a.time)[0];
    const moves = { ArrowUp: node.caller, ArrowDown: longest, ArrowLeft: beside[place - 1], ArrowRight: beside[place + 1] };
    const to = moves[event.key];
    if (event.key in moves) event.preventDefault();
    if (to && this.bars.has(to)) this.focus(to);
  }

  search(words) {
    this.words = words.trim().toLowerCase();
    this.draw();
  }

  matches(node) {
    return this.words !== "" && `${node.name} ${node.file}`.toLowerCase().includes(this.words);
  }

  /** The time of all that match, with what they called; nothing is counted twice. */
  matched(nodes) {
    return nodes.reduce((sum, node) => sum + (this.matches(node) ? node.time : this.matched(node.called)), 0);
  }

  /** Who calls a function, wherever it is called: the longest time first. */
  callers(node) {
    const same = (one) => one.name === node.name && one.file === node.file;
    const inside = (one) => one !== null && (same(one) || inside(one.caller));
    const times = new Map();
    for (const one of this.nodes.filter((one) => one.caller && same(one) && !inside(one.caller))) {
      const caller = `${one.caller.name} (${one.caller.file})`;
      times.set(caller, (times.get(caller) || 0) + one.time);
    }
    const longest = [...times].sort((a, b) => b[1] - a[1]).map(([name, time]) => `${name} ${duration(time)}`);
    return longest.length ? `; called by ${longest.slice(0, CALLERS).join(", ")}` : "";
  }

  draw() {
    const [from, width] = this.zoomed ? [this.zoomed.from, this.zoomed.time] : [0, this.total];
    const shown = this.nodes.filter((node) => node.from < from + width && node.from + node.time > from &&
      Math.min(node.time, width) / width >= NARROWEST);
    const deepest = shown.reduce((most, node) => Math.max(most, node.depth), 0);
    this.element.style.height = `${(deepest + 1) * ICICLE_ROW}px`;
    this.bars = new Map(shown.map((node) => [node, this.bar(node, from, width)]));
    this.element.replaceChildren(...this.bars.values());
    const first = this.element.firstElementChild;
    if (first) first.tabIndex = 0;
    const percent = (time) => `${(100 * time / Math.max(this.total, 1)).toFixed(1)} %`;
    const found = this.words && this.matched(this.roots);
    const search = this.words ? `; “${this.words}”: ${duration(found)}, ${percent(found)}` : "";
    const zoomed = this.zoomed;
    this.status.textContent = (zoomed ? `${zoomed.name}: ${duration(zoomed.time)}, ${percent(zoomed.time)}${this.callers(zoomed)}` :
      `${duration(this.total)} in all`) + search;
  }

  bar(node, from, width) {
    const left = Math.max(0, (node.from - from) / width);
    const right = Math.min(1, (node.from + node.time - from) / width);
    const title = `${node.name} (${node.file}), ${duration(node.time)}${node.source && `\n${node.source}`}`;
    const bar = element("button", {
      type: "button", title, "aria-label": title, tabindex: "-1", class: this.matches(node) ? "found" : `module-${node.colour}`,
      onkeydown: (event) => this.key(event, node),
      onclick: () => this.zoom(node === this.zoomed ? node.caller : node),
    }, node.name);
    Object.assign(bar.style, { left: `${100 * left}%`, width: `${100 * (right - left)}%`, top: `${node.depth * ICICLE_ROW}px` });
    return bar;
  }
}

async function icicle(place) {
  const script = place.querySelector("script.packed");
  if (!script) return;
  const drawn = new Icicle(await unpacked(script));
  const field = element("input", { type: "search", oninput: () => drawn.search(field.value) });
  const whole = element("input", { type: "checkbox", onchange: () => drawn.showWhole(whole.checked) });
  place.append(element("div", { class: "controls" }, element("label", {}, drawn.texts.search, field),
    element("button", { type: "button", onclick: () => drawn.zoom(null) }, drawn.texts.all),
    ...(drawn.trees[1] ? [element("label", {}, whole, drawn.texts.whole)] : []), drawn.status),
    drawn.legend(), element("div", { class: "flames" }, drawn.element));
  drawn.draw();
}
