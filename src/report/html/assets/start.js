// What happens when the page opens: first what is visible, then the rest.

function printing(on) {
  // hidden canvases have no width
  document.documentElement.classList.toggle("printing", on);
  for (const own of Timeline.all) own.onPaper(on);
}

async function start() {
  const root = document.documentElement;
  document.querySelectorAll("main table").forEach(sortable);
  document.querySelectorAll("[data-filter]").forEach(filterable);
  hexMaps();
  const open = sections();
  open();
  document.querySelectorAll(".panels").forEach(traceTabs);
  const visible = [...document.querySelectorAll(".calls")].map((place) => whenShown(place, icicle));
  visible.push(...[...document.querySelectorAll(".diff")].map((view) => whenShown(view, diffView)));
  addEventListener("beforeprint", () => printing(true));
  addEventListener("afterprint", () => printing(false));
  await Promise.all(visible);
  // milliseconds since the page was asked for
  root.dataset.ready = String(Math.round(performance.now()));
  for (const make of later) {
    await new Promise((done) => setTimeout(done));
    await make();
  }
  root.dataset.complete = "true";
}

start();
