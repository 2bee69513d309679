// Two programs side by side: phases, counts, where the time went, files, and their timelines on one scale.

/** `{label, phases: Map, counts: Map, timeline}`. */
async function comparable(subject) {
  const timeline = subject.trace === null ? null : await timelineAt(subject.trace);
  if (!timeline) {
    const phases = new Map(subject.phases.map(([name, median, spread]) => [name, { median, spread }]));
    return { label: subject.label, phases, counts: new Map(subject.counts), timeline: null };
  }
  const phases = new Map(timeline.data.medians.map(([name, [median, min, max]]) =>
    [name, { median, spread: `${duration(min)} to ${duration(max)}` }]));
  return { label: subject.label, phases, counts: new Map(Object.entries(timeline.data.counts)), timeline };
}

/** A row for every key of either map. Keys of the first map come first. */
function paired(first, second) {
  const keys = [...new Set([...first.keys(), ...second.keys()])];
  return keys.map((key) => [key, first.get(key), second.get(key)]);
}

function diffTable(caption, headings, rows) {
  const cell = (value) => {
    const [text, sort, note] = Array.isArray(value) ? value : [value, null, null];
    const made = element("td", { class: sort === null ? null : "number", "data-value": sort === null ? null : String(sort) }, text);
    if (note) made.append(element("small", {}, note));
    return made;
  };
  const table = element("table", {}, element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...headings.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map(cell)))));
  sortable(table);
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table);
}

const ABSENT = "–";

function phaseRows(a, b) {
  const shown = (figure) => (figure ? [duration(figure.median), figure.median, figure.spread] : ABSENT);
  return paired(a.phases, b.phases).map(([name, first, second]) => [name, shown(first), shown(second),
    ...(first && second ? differences(first.median, second.median, duration) : [ABSENT, ABSENT])]);
}

function countRows(a, b) {
  const shown = (count) => (count === undefined ? ABSENT : [String(count), count]);
  return paired(a.counts, b.counts).map(([name, first, second]) => [name.replaceAll("_", " "), shown(first), shown(second),
    ...(first !== undefined && second !== undefined ? differences(first, second, String) : [ABSENT, ABSENT])]);
}

/** The second less the first, and their ratio. */
function differences(first, second, shown) {
  const change = second - first;
  const ratio = first > 0 ? second / first : null;
  const sign = change > 0 ? "+" : "";
  return [[`${sign}${shown(change)}`.replace("-", "−"), change], ratio === null ? ABSENT : [`${ratio.toFixed(2)} ×`, ratio]];
}

/** Times that only one side has, and differences of both, the largest first. */
function costRows(first, second) {
  const rows = paired(first, second).map(([key, a, b]) => {
    const [before, after] = [a ?? { ns: 0, times: 0 }, b ?? { ns: 0, times: 0 }];
    const change = after.ns - before.ns;
    const side = a && b ? "both" : a ? "only the first" : "only the second";
    const shown = (own, there) => (there ? [duration(own.ns), own.ns, `${own.times} ×`] : ABSENT);
    return { change, cells: [key, side, shown(before, a), shown(after, b), [`${change > 0 ? "+" : ""}${duration(change)}`, change]] };
  });
  rows.sort((x, y) => Math.abs(y.change) - Math.abs(x.change));
  return rows.slice(0, 200).map(({ cells }) => cells);
}

const shares = ({ data }) => new Map(data.attribution.map(([kind, name, ns, times]) => [`${kind}: ${name}`, { ns, times }]));
const files = ({ data }) => new Map(data.files.map(([path, ns, opened, failed, faults]) =>
  [path, { ns, times: opened + failed + faults }]));

function timelinePair(a, b) {
  const longest = Math.max(a.timeline.whole, b.timeline.whole);
  const made = [a, b].map(({ timeline }) => {
    const copy = new Timeline(timeline.data, { height: 420 });
    copy.whole = longest;
    copy.view(0, longest);
    return copy;
  });
  // one scale: moving one timeline moves the other
  let moving = false;
  made.forEach((own, index) => {
    own.viewed = (from, to) => {
      if (moving) return;
      moving = true;
      made[1 - index].view(from, to);
      moving = false;
    };
  });
  return element("div", { class: "columns" }, ...made.map((own, index) =>
    element("div", { class: "timeline" }, element("h4", {}, [a, b][index].label), own.element)));
}

async function diffView(view) {
  const subjects = await unpacked(document.getElementById("subjects"));
  const result = element("div", { class: "compared" });
  const chosen = [0, 1];
  let turn = 0;
  const show = async () => {
    const own = ++turn;
    const [a, b] = await Promise.all(chosen.map((index) => comparable(subjects[index])));
    if (own !== turn) return; // another choice was made meanwhile
    const heads = [a.label, b.label, "difference", "second / first"];
    const parts = [diffTable("Phases: medians", ["phase", ...heads], phaseRows(a, b))];
    if (a.counts.size || b.counts.size) parts.push(diffTable("Counts", ["count", ...heads], countRows(a, b)));
    if (a.timeline && b.timeline) {
      const cost = ["what", "in", a.label, b.label, "difference"];
      parts.unshift(timelinePair(a, b));
      parts.push(diffTable("Where the main thread's time went", cost, costRows(shares(a.timeline), shares(b.timeline))));
      parts.push(diffTable("Files: opened, tried, mapped, faulted", cost, costRows(files(a.timeline), files(b.timeline))));
    }
    result.replaceChildren(...parts);
  };
  const options = subjects.map(({ label }, index) => [String(index), label]);
  const selects = ["First", "Second"].map((text, place) => {
    const label = choice(text, options, (value) => { chosen[place] = Number(value); show(); });
    label.querySelector("select").value = String(chosen[place]);
    return label;
  });
  view.append(element("div", { class: "controls" }, ...selects), result);
  await show();
}
