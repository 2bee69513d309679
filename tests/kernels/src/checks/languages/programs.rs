//! The programs of Python and Node.js. Those of the other languages are in `tests/integration/frames_truth`.

use crate::truth::Truth;

pub(super) const PYTHON: Truth = Truth {
    language: "Python",
    interpreter: "/usr/bin/python3",
    variable: "FIRSTBYTE_PYTHONS",
    options: "-S",
    compiled: None,
    program: "FOLDER/app.py",
    files: &[
        (
            "burn.py",
            "\
def spin(times):
    total = 0
    for i in range(times):
        total += i * i
    return total

def heavy(times):
    return spin(7 * times)

class Light:
    def light(self, times):
        return spin(3 * times)

def loops(times):
    total = 0
    for i in range(7 * times):
        total += i * i
    for i in range(3 * times):
        total += i * i
    return total

def down(depth):
    return down(depth - 1) if depth else loops(30000)

def produce(times):
    for _ in range(times):
        yield loops(5000)

def work(rounds):
    for _ in range(rounds):
        heavy(200)
        Light().light(200)
",
        ),
        (
            "app.py",
            "\
import os, threading, burn
burn.work(600)
burn.loops(60000)
burn.down(200)
sum(burn.produce(10))
thread = threading.Thread(target=burn.heavy, args=(30000,))
thread.start()
thread.join()
child = os.fork()
if child == 0:
    burn.heavy(30000)
    os._exit(0)
os.waitpid(child, 0)
print('done')
",
        ),
    ],
    prepare: None,
    work: "work",
    light: "Light.light",
    loops: "loops",
    defined: [29, 11, 14],
    loop_lines: [[16, 17], [18, 19]],
    stacks: &[
        ";<module> (app.py:1);work (burn.py:29);Light.light (burn.py:11);spin (burn.py:1)",
        ";<module> (app.py:1);produce (burn.py:25);loops (burn.py:14)",
        ";Thread.run (threading.py:",
        ";<module> (app.py:1);heavy (burn.py:7);spin (burn.py:1)",
    ],
    recursion: [";<module> (app.py:1)", ";down (burn.py:22)", ";loops (burn.py:14)"],
};

/// Without inlining: the time of an inlined function counts for its caller.
const BURN: &str = "\
'use strict'; require('v8').setFlagsFromString('--max-inlined-bytecode-size=0 --max-inlined-bytecode-size-cumulative=0 --max-inlined-bytecode-size-small=0');
const spin = (times) => {
  let total = 0;
  for (let i = 0; i < times; i++) total += i % 7;
  return total;
};
function heavy(times) {
  return spin(7 * times);
}
class Light {
  light(times) {
    return spin(3 * times);
  }
}
function loops(times) {
  let total = 0;
  for (let i = 0; i < 7 * times; i++)
    total += i % 7;
  for (let i = 0; i < 3 * times; i++)
    total += i % 7;
  return total;
}
const down = (depth, times) => depth ? down(depth - 1, times) : loops(times);
function* produce(times) {
  for (let i = 0; i < 10; i++) yield loops(times);
}
exports.work = (times) => {
  for (let i = 0; i < 400; i++) {
    heavy(times);
    new Light().light(times);
  }
};
exports.heavy = heavy;
exports.loops = loops;
exports.run = (times) => {
  [1].forEach(function each() { exports.work(times); });
  loops(200 * times);
  down(200, 200 * times);
  [...produce(20 * times)];
  const { Worker } = require('worker_threads');
  new Worker(require.main.filename).on('exit', () => console.log('done'));
};
";

const CALLERS: &[&str] = &[
    ";each (burn.js:36);exports.work (burn.js:27);light (burn.js:11);spin (burn.js:2)",
    ";exports.run (burn.js:35);produce (burn.js:24);loops (burn.js:15)",
    // in another thread
    ";<module> (app.js:1);heavy (burn.js:7)",
];

/// Compiled code does not keep its lines.
pub(super) const NODE: Truth = Truth {
    language: "JavaScript",
    interpreter: "/usr/local/bin/node",
    variable: "FIRSTBYTE_NODES",
    options: "",
    compiled: None,
    program: "FOLDER/app.js",
    files: &[
        ("burn.js", BURN),
        (
            "app.js",
            "\
const { isMainThread } = require('worker_threads');
const burn = require('./burn.js');
isMainThread ? burn.run(5000) : burn.heavy(1000000);
",
        ),
    ],
    prepare: None,
    work: "exports.work",
    light: "light",
    loops: "loops",
    defined: [27, 11, 15],
    loop_lines: [[0, 0]; 2],
    stacks: CALLERS,
    recursion: [";exports.run (burn.js:35)", ";down (burn.js:23)", ";loops (burn.js:15)"],
};

pub(super) const NODE_INTERPRETED: Truth = Truth {
    options: "--jitless",
    files: &[
        ("burn.js", BURN),
        (
            "app.js",
            "\
const { isMainThread } = require('worker_threads');
const burn = require('./burn.js');
isMainThread ? burn.run(150) : burn.heavy(30000);
",
        ),
    ],
    loop_lines: [[17, 18], [19, 20]],
    ..NODE
};
