'use strict';
// Measures how long each `require` takes, with the modules that it requires in turn.
const Module = require('module');
const rows = [];
const load = Module._load;
let depth = 0;
Module._load = function (request, parent, isMain) {
  // the program itself is no load
  if (isMain) return load.apply(this, arguments);
  const row = { depth: depth++, request, parent, isMain, from: process.hrtime.bigint(), to: 0n };
  rows.push(row);
  try {
    return load.apply(this, arguments);
  } finally {
    row.to = process.hrtime.bigint();
    depth--;
  }
};
process.on('exit', () => {
  const text = rows.filter((row) => row.to > 0n).map((row) => {
    let file = row.request;
    try {
      file = Module._resolveFilename(row.request, row.parent, row.isMain);
    } catch {
      // it was not found, which is what the program asked for
    }
    return `${row.depth}\t${row.to - row.from}\t${row.request}\t${file}\n`;
  });
  const name = `node-${process.pid}-${require('worker_threads').threadId}`;
  require('fs').writeFileSync(`${process.env.FIRSTBYTE_LOADS}/${name}`, text.join(''));
});
