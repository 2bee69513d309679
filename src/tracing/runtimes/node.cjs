'use strict';
// Measures how long each `require` takes, with the modules that it requires in turn, and by samples how long the body of
// each module of `import` runs, without the modules that it imports: these run before it.
const Module = require('module');
const { fileURLToPath, pathToFileURL } = require('url');
const HOOK = pathToFileURL(__filename).href;
const profiler = sampling();
const rows = [];
const seen = new Set();
const load = Module._load;
let depth = 0;
Module._load = function (request, parent, isMain) {
  // the program itself is no load, and neither is what has been loaded before
  const known = `${parent?.filename ?? ''}\n${request}`;
  if (isMain || seen.has(known)) return load.apply(this, arguments);
  seen.add(known);
  const row = { depth: depth++, request, parent, isMain, from: process.hrtime.bigint(), to: 0n };
  rows.push(row);
  try {
    return load.apply(this, arguments);
  } finally {
    row.to = process.hrtime.bigint();
    depth--;
  }
};

// Node's own profiler; undefined where Node was built without it.
function sampling() {
  try {
    const session = new (require('inspector').Session)();
    session.connect();
    session.post('Profiler.enable');
    session.post('Profiler.setSamplingInterval', { interval: 200 });
    session.post('Profiler.start');
    return session;
  } catch {
    return undefined;
  }
}

// The modules of `import`, by path and nanoseconds.
function imported() {
  const times = new Map();
  profiler?.post('Profiler.stop', (error, answer) => {
    if (error) return;
    const { nodes, samples, timeDeltas } = answer.profile;
    const own = new Map();
    samples.forEach((id, n) => own.set(id, (own.get(id) ?? 0) + 1000 * (timeDeltas[n + 1] ?? 0)));
    const byId = new Map(nodes.map((node) => [node.id, node]));
    // The body of a module is a function without a name, which Node's loader calls.
    const visit = (node, body, caller) => {
      const { url, functionName } = node.callFrame;
      // within a `require`
      if (url === HOOK) return;
      const begins = body === undefined && caller !== '' && functionName === '' && url.startsWith('file:');
      const within = begins ? fileURLToPath(url) : body;
      // between the loader and a body, there may be a native function
      const isLoader = url.startsWith('node:internal/modules/esm/') || (url === '' && caller === 'loader');
      const part = within ?? (isLoader ? '' : undefined);
      if (part !== undefined) times.set(part, (times.get(part) ?? 0) + (own.get(node.id) ?? 0));
      const calls = isLoader ? 'loader' : functionName === '(root)' ? 'root' : '';
      for (const child of node.children ?? []) visit(byId.get(child), within, calls);
    };
    visit(nodes[0], undefined, '');
  });
  return times;
}

process.on('exit', () => {
  const files = new Set();
  const required = rows.flatMap((row, n) => {
    let file = row.request;
    try {
      file = Module._resolveFilename(row.request, row.parent, row.isMain);
    } catch {
      // it was not found, which is what the program asked for
    }
    // another module had required it: its cached result is no load
    const isCached = files.has(file) && !(rows[n + 1]?.depth > row.depth);
    if (isCached) return [];
    files.add(file);
    const time = row.to > 0n ? row.to - row.from : '-';
    return `${row.depth}\t${time}\t${row.request}\t${file}\n`;
  });
  const times = imported();
  const names = [...times.keys()].filter((file) => file !== '');
  const bodies = names.map((file) => `0\t${times.get(file)}\t${file.split('/node_modules/').pop()}\t${file}\n`);
  // what Node's loader does for all of them together
  const loader = names.length > 0 ? [`0\t${times.get('') ?? 0}\tES modules found and parsed\t\n`] : [];
  const name = `node-${process.pid}-${require('worker_threads').threadId}`;
  const text = [...required, ...bodies, ...loader].join('');
  require('fs').writeFileSync(`${process.env.FIRSTBYTE_LOADS}/${name}`, text);
});
