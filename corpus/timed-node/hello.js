// timed_hello of Hello World Overdone: times the first and the hundredth print, and two readings of the clock itself.
// The marker bypasses process.stdout, which node opens at the first print.
const now = process.hrtime.bigint;

let clock = 1000000000n;
for (let i = 0; i < 100; i++) {
  const start = now();
  const taken = now() - start;
  if (taken < clock) clock = taken;
}
require('fs').writeSync(1, '>>>> before print >>>>>\n');
let first, hundredth;
for (let i = 1; i <= 100; i++) {
  const start = now();
  console.log('hello world');
  const taken = now() - start;
  if (i === 1) first = taken;
  hundredth = taken;
}
console.error(`first ${first} ns, hundredth ${hundredth} ns, clock ${clock} ns`);
