// The parts around a timeline: tabs, buttons, details, the list of steps.

/** The timelines by their places, unpacked when they are first needed. */
const timelines = new Map();

function kindLegend(timeline) {
  const list = element("ul", { class: "kinds", "aria-label": "Kinds of steps" });
  const swatches = timeline.data.kinds.map((kind, index) => {
    const swatch = element("canvas", { width: 44, height: 28, "aria-hidden": "true" });
    list.append(element("li", {}, swatch, kind));
    return [swatch.getContext("2d"), index];
  });
  const paint = () => swatches.forEach(([context, index]) => {
    context.fillStyle = timeline.palette(context).kinds[index];
    context.fillRect(0, 0, 44, 28);
  });
  paint();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  return list;
}

function timelineControls(timeline) {
  const button = (text, action, label = null) => element("button", { type: "button", onclick: action, "aria-label": label }, text);
  const controls = element("div", { class: "controls" },
    button("−", () => timeline.zoom(1 / 0.5), "zoom out"),
    button("+", () => timeline.zoom(0.5), "zoom in"),
    button("◀", () => timeline.pan(-0.3), "earlier"),
    button("▶", () => timeline.pan(0.3), "later"),
    button("whole run", () => timeline.view(0, timeline.whole)));
  for (const { name, from, to } of timeline.phases) {
    const margin = (to - from) * 0.05;
    controls.append(button(name, () => timeline.view(from - margin, to + margin), `zoom to ${name}`));
  }
  const shown = element("span", { role: "status" });
  controls.append(shown);
  timeline.viewed = (from, to) => { shown.textContent = `${duration(from)} to ${duration(to)}`; };
  timeline.viewed(timeline.from, timeline.to);
  return controls;
}

const PAGE = 200;
const STEP_HEADINGS = [["start", true], ["own time", true], ["kind", false], ["thread", true], ["what", false], ["file", false]];

/** The steps as a table with pages. It begins with system calls, which most readers look for. */
function stepList(timeline) {
  const state = { kind: timeline.data.kinds.indexOf("system call"), words: "", order: "start", page: 0 };
  const body = element("tbody");
  const count = element("span", { role: "status" });
  const heading = ([text, number]) => element("th", { scope: "col", class: number ? "number" : null }, text);
  const table = element("table", {}, element("caption", {}, "Steps of the run shown. Click a step to show it in the timeline."),
    element("thead", {}, element("tr", {}, ...STEP_HEADINGS.map(heading))), body);
  const fill = () => {
    const spans = chosenSteps(timeline, state);
    const pages = Math.max(1, Math.ceil(spans.length / PAGE));
    state.page = Math.max(0, Math.min(pages - 1, state.page));
    const from = state.page * PAGE;
    body.replaceChildren(...spans.slice(from, from + PAGE).map((span) => stepRow(timeline, span)));
    const own = spans.reduce((sum, span) => sum + span.own, 0);
    count.textContent = `${spans.length} steps, ${duration(own)} in all, page ${state.page + 1} of ${pages}`;
  };
  const set = (key, value) => { Object.assign(state, { page: 0, [key]: value }); fill(); };
  const turn = (by) => { state.page += by; fill(); };
  const field = element("input", { type: "search", oninput: () => set("words", field.value.trim().toLowerCase()) });
  const kinds = [[-1, "all kinds"], ...timeline.data.kinds.map((kind, index) => [index, kind])];
  const kindChoice = choice("Kind", kinds, (value) => set("kind", Number(value)));
  kindChoice.querySelector("select").value = String(state.kind);
  const controls = element("div", { class: "controls" }, element("label", {}, "Filter", field), kindChoice,
    choice("Order", [["start", "as they happened"], ["own", "longest first"]], (value) => set("order", value)),
    element("button", { type: "button", onclick: () => turn(-1) }, "previous page"),
    element("button", { type: "button", onclick: () => turn(1) }, "next page"), count);
  fill();
  return [controls, element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Steps" }, table)];
}

function chosenSteps(timeline, { kind, words, order }) {
  const fits = (span) => (kind < 0 || span.kind === kind) &&
    (!words || `${span.name} ${span.detail ?? ""} ${span.file ?? ""}`.toLowerCase().includes(words));
  const spans = timeline.spans.filter(fits);
  spans.sort(order === "own" ? (a, b) => b.own - a.own : (a, b) => a.start - b.start);
  return spans;
}

function stepRow(timeline, span) {
  const { tid } = timeline.lanes[span.thread];
  const show = () => timeline.select(span, { show: true });
  const number = (text) => element("td", { class: "number" }, text);
  const open = (event) => { if (event.key === "Enter") show(); };
  return element("tr", { onclick: show, onkeydown: open, tabindex: "0" }, number(duration(span.start)), number(duration(span.own)),
    element("td", {}, timeline.data.kinds[span.kind]), number(String(tid)),
    element("td", {}, span.detail ?? span.name), element("td", {}, span.file ?? ""));
}

async function tracePanel(article) {
  const data = await unpacked(article.querySelector("script.spans"));
  const detail = element("div", { class: "detail", role: "status" },
    "Point at a step, or click it. Control and wheel, + and − zoom. Dragging and arrow keys move. N and P go to the next and the previous step.");
  const timeline = new Timeline(data, {
    chosen: (span) => { detail.textContent = span ? timeline.describe(span) : ""; },
  });
  article.querySelector(".timeline").append(timelineControls(timeline), kindLegend(timeline), timeline.element, detail);
  article.querySelector(".steps").append(...stepList(timeline));
  timeline.draw();
  return timeline;
}

/** The timeline of the traced program at a place. */
function timelineAt(place) {
  if (!timelines.has(place)) timelines.set(place, tracePanel(document.querySelectorAll("article.trace")[place]));
  return timelines.get(place);
}

/** A tab for each traced program, if there are several. */
function traceTabs(panels) {
  const articles = [...panels.querySelectorAll("article.trace")];
  const section = panels.closest("section");
  const list = element("div", { class: "tabs inner", "aria-label": "Traced programs" });
  const items = articles.map((panel, index) => {
    const tab = element("button", { type: "button" }, panel.querySelector("h3").textContent);
    panel.id = `trace-${index}`;
    list.append(tab);
    return { tab, panel };
  });
  let shown = 0;
  const show = async () => (await timelineAt(shown)).draw();
  const select = tabs(list, items, (index) => {
    shown = index;
    if (!section.hidden) show();
  });
  if (items.length > 1) panels.before(list);
  select(0, false);
  onSection.push((id) => { if (id === section.id) show(); });
  articles.forEach((_, place) => later.push(() => timelineAt(place)));
}
