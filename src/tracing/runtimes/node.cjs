'use strict';
// Measures how long each `require` takes, with the modules that it requires in turn, and by samples how long the body of
// each module of `import` runs, without the modules that it imports: these run before it.
const Module = require('module');
const { fileURLToPath, pathToFileURL } = require('url');
const HOOK = pathToFileURL(__filename).href;
const profiler = sampling();
const rows = [];
const builtins = new Set();
let isRead = false;
const load = Module._load;
let depth = 0;
Module._load = function (request, parent, isMain) {
  // the program itself is no load
  if (isMain) return load.apply(this, arguments);
  const row = { depth: depth++, request, parent, isMain, from: process.hrtime.bigint(), to: 0n, isCached: false };
  rows.push(row);
  // set by the loader below, if it reads a file
  const around = isRead;
  isRead = false;
  try {
    const loaded = load.apply(this, arguments);
    const name = request.replace(/^node:/, '');
    row.isCached = !isRead && (!Module.builtinModules.includes(name) || builtins.has(name));
    builtins.add(name);
    return loaded;
  } finally {
    row.to = process.hrtime.bigint();
    depth--;
    isRead = around;
    // what has been loaded before is no load
    if (row.isCached && rows.at(-1) === row) rows.pop();
  }
};

const read = Module.prototype.load;
Module.prototype.load = function () {
  isRead = true;
  return read.apply(this, arguments);
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
  const required = rows.map((row) => {
    let file = row.request;
    try {
      file = Module._resolveFilename(row.request, row.parent, row.isMain);
    } catch {
      // it was not found, which is what the program asked for
    }
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
