// The timeline: one canvas with lanes of spans. Mouse, fingers and keyboard zoom and move.

const KIND_VARIABLES = ["--exec", "--fault", "--syscall", "--user", "--waiting", "--death"];
const AXIS = 22;
const BAND = 18;
const HEAD = AXIS + BAND + 4;
const LABEL = 15;
const LANE = 26;
const INSET = 5;
const ROW = LABEL + LANE + 5;

/** Spans from the packed columns. */
function spansOf(data) {
  const spans = [];
  const text = (index) => (index < 0 ? null : data.strings[index]);
  let before = 0;
  for (let i = 0; i < data.start.length; i++) {
    before += data.start[i];
    spans.push({
      thread: data.thread[i], kind: data.kind[i], name: text(data.name[i]), detail: text(data.detail[i]),
      file: text(data.file[i]), start: before, own: data.own[i], end: before + data.own[i] + data.within[i], depth: 0,
    });
  }
  return spans;
}

/** The spans of each thread, each with the number of spans around it. */
function lanesOf(data, spans) {
  const lanes = data.threads.map(([pid, tid, program]) => ({ pid, tid, program, spans: [], longest: 0 }));
  const open = data.threads.map(() => []);
  for (const span of spans) {
    const stack = open[span.thread];
    while (stack.length && stack[stack.length - 1].end <= span.start) stack.pop();
    span.depth = Math.min(stack.length, 3);
    stack.push(span);
    const lane = lanes[span.thread];
    lane.spans.push(span);
    lane.longest = Math.max(lane.longest, span.end - span.start);
  }
  return lanes;
}

/** Lanes in rows, in the order of their beginnings: those that do not live at the same time share a row. */
function rowsOf(lanes) {
  const rows = [];
  for (const lane of lanes) {
    lane.from = lane.spans.length ? lane.spans[0].start : 0;
    lane.to = lane.spans.reduce((to, span) => Math.max(to, span.end), lane.from);
    const free = rows.findIndex((row) => row[row.length - 1].to <= lane.from);
    lane.row = free < 0 ? rows.length : free;
    if (free < 0) rows.push([]);
    const row = rows[lane.row];
    if (row.length) [row[row.length - 1].next, lane.previous] = [lane, row[row.length - 1]];
    row.push(lane);
  }
  return rows;
}

/** The index of the first span that does not start before `time`. */
function firstFrom(spans, time) {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle].start < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The phases of the run that are known, with their beginnings and ends. */
function phasesOf(data) {
  if (data.phases[0].ns === null) return [];
  let at = 0;
  return data.phases.filter(({ ns }) => ns !== null).map((phase) => {
    const from = at;
    at += phase.ns;
    return { ...phase, from, to: at };
  });
}

/** A pattern for waiting and faults, which are not only distinguished by colour. */
function hatch(context, colour, ink, steep) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const draw = tile.getContext("2d");
  draw.fillStyle = colour;
  draw.fillRect(0, 0, 6, 6);
  draw.strokeStyle = ink;
  draw.globalAlpha = 0.45;
  draw.beginPath();
  if (steep) { draw.moveTo(1.5, 0); draw.lineTo(1.5, 6); draw.moveTo(4.5, 0); draw.lineTo(4.5, 6); }
  else { draw.moveTo(0, 6); draw.lineTo(6, 0); }
  draw.stroke();
  return context.createPattern(tile, "repeat");
}

/** The tallest canvas on paper; lanes beyond it are left out. */
const TALLEST_ON_PAPER = 3000;

class Timeline {
  /** All timelines, also those of the side-by-side view. */
  static all = [];

  constructor(data, { height = Infinity, chosen = () => {}, viewed = () => {} } = {}) {
    Object.assign(this, { data, chosen, viewed });
    this.spans = spansOf(data);
    this.lanes = lanesOf(data, this.spans);
    this.rows = rowsOf(this.lanes);
    this.phases = phasesOf(data);
    this.whole = this.lanes.reduce((to, lane) => Math.max(to, lane.to), Math.max(1, data.total));
    [this.from, this.to] = [0, this.whole];
    [this.hovered, this.selected, this.pointers] = [null, null, new Map()];
    this.canvas = element("canvas", {
      tabindex: "0", role: "img",
      "aria-label": `Timeline of ${data.label}: ${this.spans.length} steps in ${this.lanes.length} threads. ` +
        "Plus and minus zoom, arrows move, N and P go to the next and the previous step. The list below has the same steps.",
    });
    this.full = HEAD + this.rows.length * ROW + 4;
    this.height = Math.min(height, this.full, 560);
    const room = element("div", { class: "room" }, this.canvas);
    room.style.height = `${Math.min(height, this.full)}px`;
    this.element = element("div", { class: "lanes" }, room);
    this.listen();
    Timeline.all.push(this);
  }

  // ---- where things are ----

  get width() { return this.canvas.clientWidth || 900; }
  x(time) { return ((time - this.from) / (this.to - this.from)) * this.width; }
  time(x) { return this.from + (x / this.width) * (this.to - this.from); }
  laneTop(index) { return HEAD + this.lanes[index].row * ROW - this.element.scrollTop; }

  /** The innermost span at a point. */
  at(x, y) {
    const row = Math.floor((y - HEAD + this.element.scrollTop) / ROW);
    const within = y - (HEAD + row * ROW - this.element.scrollTop) - LABEL;
    // one pixel to either side, so thin spans can be hit
    const slack = (this.to - this.from) / this.width;
    const [from, to] = [this.time(x) - slack, this.time(x) + slack];
    const lane = this.rows[row]?.find((own) => own.from <= to && own.to >= from);
    if (!lane || y < HEAD || within < 0 || within > LANE) return null;
    let found = null;
    for (let i = firstFrom(lane.spans, from - lane.longest); i < lane.spans.length && lane.spans[i].start <= to; i++) {
      const span = lane.spans[i];
      if (span.end >= from && (!found || span.depth > found.depth || this.nearer(span, found, x))) found = span;
    }
    return found;
  }

  nearer(span, found, x) {
    const time = this.time(x);
    const distance = (s) => (s.start <= time && time <= s.end ? 0 : Math.min(Math.abs(s.start - time), Math.abs(s.end - time)));
    return span.depth === found.depth && distance(span) < distance(found);
  }

  phaseAt(time) {
    return this.phases.find(({ from, to }) => from <= time && time < to);
  }

  /** Everything about a span, as text. */
  describe(span) {
    const lane = this.lanes[span.thread];
    const phase = this.phaseAt(span.start);
    const within = span.end - span.start - span.own;
    const lines = [
      `${this.data.kinds[span.kind]}: ${span.name}`,
      span.detail && span.detail !== span.name ? span.detail : null,
      `own time ${duration(span.own)}${within > 0 ? `, ${duration(within + span.own)} with the steps within it` : ""}`,
      `starts at ${duration(span.start)}${phase ? `, in ${phase.name}` : ""}`,
      `process ${lane.pid}, thread ${lane.tid}: ${lane.program}`,
      span.file ? `file ${span.file}` : null,
    ];
    return lines.filter(Boolean).join("\n");
  }

  // ---- moving ----

  view(from, to) {
    const least = Math.min(this.whole, 50);
    const length = Math.min(this.whole, Math.max(least, to - from));
    this.from = Math.max(0, Math.min(from, this.whole - length));
    this.to = this.from + length;
    this.viewed(this.from, this.to);
    this.draw();
  }

  zoom(factor, around = (this.from + this.to) / 2) {
    this.view(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  pan(share) {
    const by = (this.to - this.from) * share;
    this.view(this.from + by, this.to + by);
  }

  select(span, { show = false } = {}) {
    this.selected = span;
    if (span && show) {
      const length = Math.max(span.end - span.start, (this.to - this.from) / 40);
      if (span.start < this.from || span.end > this.to || span.end - span.start < (this.to - this.from) / this.width) {
        this.view(span.start - length * 8, span.end + length * 8);
      }
      this.element.scrollTop = Math.max(0, HEAD + this.lanes[span.thread].row * ROW - this.height / 2);
    }
    this.chosen(span);
    this.draw();
  }

  /** From the selected span to the next or the previous one of its thread. */
  step(by) {
    const lane = this.lanes[this.selected ? this.selected.thread : 0];
    if (!lane) return;
    const place = this.selected ? lane.spans.indexOf(this.selected) + by : firstFrom(lane.spans, this.from);
    const span = lane.spans[Math.max(0, Math.min(lane.spans.length - 1, place))];
    if (span) this.select(span, { show: true });
  }

  listen() {
    const { canvas } = this;
    this.element.addEventListener("scroll", () => this.draw());
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (event) => this.up(event));
    canvas.addEventListener("pointerleave", () => { this.hovered = null; hideTooltip(); this.draw(); });
    canvas.addEventListener("dblclick", (event) => this.zoom(0.4, this.time(event.offsetX)));
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("focus", () => this.draw());
    canvas.addEventListener("blur", () => { hideTooltip(); this.draw(); });
    new ResizeObserver(() => this.draw()).observe(this.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** Control zooms (as does a pinch on a touchpad), shift moves; otherwise the page scrolls. */
  wheel(event) {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY * 0.004), this.time(event.offsetX));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.pan((event.deltaX || event.deltaY) / this.width);
    }
  }

  down(event) {
    this.pointers.set(event.pointerId, event.offsetX);
    this.dragged = 0;
    this.canvas.setPointerCapture(event.pointerId);
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (before === undefined) return this.hover(event);
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, x]) => x);
    this.pointers.set(event.pointerId, event.offsetX);
    if (others.length) {
      const distance = (x) => Math.max(8, Math.abs(x - others[0]));
      this.zoom(distance(before) / distance(event.offsetX), this.time((others[0] + event.offsetX) / 2));
    } else {
      this.dragged += Math.abs(event.offsetX - before);
      if (this.dragged > 3) this.pan((before - event.offsetX) / this.width);
    }
  }

  up(event) {
    const clicked = this.pointers.has(event.pointerId) && this.dragged <= 3 && this.pointers.size === 1;
    this.pointers.delete(event.pointerId);
    if (clicked && event.type === "pointerup") this.select(this.at(event.offsetX, event.offsetY));
  }

  hover(event) {
    this.hovered = this.at(event.offsetX, event.offsetY);
    if (this.hovered) showTooltip(this.describe(this.hovered), event.clientX, event.clientY);
    else hideTooltip();
    this.draw();
  }

  key(event) {
    const actions = {
      "+": () => this.zoom(0.6), "=": () => this.zoom(0.6), "-": () => this.zoom(1 / 0.6), "_": () => this.zoom(1 / 0.6),
      0: () => this.view(0, this.whole), ArrowLeft: () => this.pan(-0.15), ArrowRight: () => this.pan(0.15),
      Home: () => this.view(0, this.to - this.from), End: () => this.view(this.whole - (this.to - this.from), this.whole),
      ArrowUp: () => { this.element.scrollTop -= ROW; }, ArrowDown: () => { this.element.scrollTop += ROW; },
      n: () => this.step(1), p: () => this.step(-1), Escape: () => this.select(null),
    };
    const action = !event.ctrlKey && !event.metaKey && !event.altKey && actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
    if (this.selected && (event.key === "n" || event.key === "p")) {
      const box = this.canvas.getBoundingClientRect();
      const y = this.laneTop(this.selected.thread) + LABEL + LANE;
      showTooltip(this.describe(this.selected), box.left + Math.max(0, this.x(this.selected.start)), box.top + y);
    }
  }

  // ---- drawing ----

  /** At most once per frame, or immediately for paper. */
  draw(atOnce = false) {
    if (atOnce) return this.paint();
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      this.paint();
    });
  }

  /** All lanes on paper; on the screen as many as fit. */
  onPaper(paper) {
    this.screenHeight ??= this.height;
    this.height = paper ? Math.min(this.full, TALLEST_ON_PAPER) : this.screenHeight;
    this.element.scrollTop = 0;
    this.draw(paper);
  }

  palette(context) {
    const key = `${matchMedia("(prefers-color-scheme: dark)").matches} ${matchMedia("print").matches}`;
    if (this.colours && this.colours.key === key && context.canvas === this.canvas) return this.colours;
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(name).trim();
    const colours = { paper: value("--paper"), ink: value("--ink"), faint: value("--faint"), line: value("--line") };
    colours.shade = value("--shade");
    colours.kinds = KIND_VARIABLES.map(value);
    colours.plain = [...colours.kinds];
    colours.kinds[1] = hatch(context, colours.kinds[1], colours.paper, true);
    colours.kinds[4] = hatch(context, colours.kinds[4], colours.ink, false);
    colours.key = key;
    if (context.canvas === this.canvas) this.colours = colours;
    return colours;
  }

  paint() {
    const width = this.element.clientWidth;
    if (!width) return;
    const scale = devicePixelRatio || 1;
    const [across, down] = [Math.round(width * scale), Math.round(this.height * scale)];
    if (this.canvas.width !== across || this.canvas.height !== down) {
      this.canvas.width = across;
      this.canvas.height = down;
      this.canvas.style.height = `${this.height}px`;
    }
    const context = this.canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    const colours = this.palette(context);
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, width, this.height);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.paintPhases(context, colours);
    this.lanes.forEach((lane, index) => {
      const top = this.laneTop(index);
      if (top + ROW > HEAD && top < this.height) this.paintLane(context, colours, lane, top);
    });
    this.paintAxis(context, colours, width);
    if (document.activeElement === this.canvas) {
      context.strokeStyle = colours.ink;
      context.strokeRect(0.5, 0.5, width - 1, this.height - 1);
    }
  }

  /** Tinted columns behind the lanes. The band is drawn later, with the axis. */
  paintPhases(context, colours) {
    for (const phase of this.phases) {
      const [left, right] = [Math.max(0, this.x(phase.from)), Math.min(this.width, this.x(phase.to))];
      if (right <= 0 || left >= this.width) continue;
      context.globalAlpha = 0.14;
      context.fillStyle = phase.colour;
      context.fillRect(left, HEAD, Math.max(1, right - left), this.height);
      context.globalAlpha = 1;
    }
  }

  paintLane(context, colours, lane, top) {
    if (lane.to < this.from || lane.from > this.to) return;
    this.paintLabel(context, colours, lane, top);
    const slack = (this.to - this.from) / this.width;
    let [edge, last] = [[-1, -1, -1, -1], [-1, -1, -1, -1]];
    for (let i = firstFrom(lane.spans, this.from - lane.longest); i < lane.spans.length; i++) {
      const span = lane.spans[i];
      if (span.start > this.to) break;
      if (span.end < this.from) continue;
      const left = Math.max(-2, this.x(span.start));
      const right = Math.min(this.width + 2, this.x(span.end));
      // spans that share a pixel are drawn once
      if (span.end - span.start < slack && Math.floor(left) === edge[span.depth] && span.kind === last[span.depth]) continue;
      edge[span.depth] = Math.floor(left);
      last[span.depth] = span.kind;
      this.paintSpan(context, colours, span, left, Math.max(1, right - left), top + LABEL + span.depth * INSET);
    }
  }

  /** Where the lane begins, or before it, if there is not enough room before the next one of the row. */
  paintLabel(context, colours, lane, top) {
    const thread = lane.tid === lane.pid ? `process ${lane.pid}` : `process ${lane.pid}, thread ${lane.tid}`;
    const text = `${thread}  ${lane.program}`;
    const right = (lane.next ? this.x(lane.next.from) : this.width) - 4;
    const least = Math.max(4, lane.previous ? this.x(lane.previous.to) + 4 : 4);
    const left = Math.max(least, Math.min(this.x(lane.from) + 1, right - context.measureText(text).width));
    const room = right - left;
    if (room < 12) return;
    context.save();
    context.beginPath();
    context.rect(left, top, room, LABEL);
    context.clip();
    context.fillStyle = colours.faint;
    context.fillText(text, left, top + LABEL / 2);
    context.restore();
  }

  paintSpan(context, colours, span, left, width, top) {
    const height = LANE - span.depth * INSET;
    // a narrow pattern is invisible and slow to draw; a gap separates neighbours
    context.fillStyle = width > 6 ? colours.kinds[span.kind] : colours.plain[span.kind];
    context.fillRect(left, top, width > 4 ? width - 1 : width, height);
    // a name below other steps would be unreadable
    const bare = span.own * 2 > span.end - span.start;
    if (width > 34 && span.depth < 3 && bare) this.paintName(context, colours, span, left, width, top);
    if (span === this.selected || span === this.hovered) {
      context.strokeStyle = colours.ink;
      context.lineWidth = 2;
      context.strokeRect(left - 1, top - 1, width + 2, height + 2);
    }
  }

  paintName(context, colours, span, left, width, top) {
    context.save();
    context.beginPath();
    context.rect(Math.max(0, left), top, width - 4, LANE);
    context.clip();
    const light = span.kind === 3 || span.kind === 4;
    context.fillStyle = light ? colours.ink : "#ffffff";
    context.fillText(span.name, Math.max(0, left) + 4, top + 8);
    context.restore();
  }

  paintAxis(context, colours, width) {
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, width, HEAD - 2);
    const step = this.tick();
    context.textAlign = "center";
    for (let time = Math.ceil(this.from / step) * step; time <= this.to; time += step) {
      const x = this.x(time);
      context.fillStyle = colours.line;
      context.fillRect(x, AXIS - 5, 1, this.height);
      context.fillStyle = colours.faint;
      context.fillText(duration(time), Math.max(18, Math.min(width - 22, x)), AXIS / 2 - 2);
    }
    context.textAlign = "left";
    for (const phase of this.phases) {
      const [left, right] = [Math.max(0, this.x(phase.from)), Math.min(width, this.x(phase.to))];
      if (right < 0 || left > width) continue;
      context.fillStyle = phase.colour;
      context.fillRect(left, AXIS, Math.max(2, right - left), BAND);
      if (right - left > 56) {
        context.fillStyle = phase.ink;
        context.fillText(`${phase.name} ${duration(phase.to - phase.from)}`, left + 5, AXIS + BAND / 2, right - left - 8);
      }
    }
  }

  /** 1, 2 or 5 times a power of ten, about 90 pixels apart. */
  tick() {
    const least = ((this.to - this.from) / this.width) * 90;
    const decade = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].map((step) => step * decade).find((step) => step >= least);
  }
}
