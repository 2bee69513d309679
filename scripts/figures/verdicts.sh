#!/bin/bash
# verdicts.sh PART: measures one part, on a quiet machine, in a checkout of main, after
#   cargo build --release && cargo bench --bench verdicts --bench hyperfine --no-run
#   A  verdicts: a program with itself, 200 times   ~7 min (limit 600 s)
#   B  verdicts: 3 % slower, 100 times              ~4 min
#   C  compared with hyperfine -N, and cold         ~3 min
# Afterwards verdicts-fill.py fills docs/bench.md, docs/cold.md and the README of the results.
T=target/x86_64-unknown-linux-gnu/release/deps
V=${V:-$(ls -t $T/verdicts-* | grep -v '\.d$' | head -1)}
H=${H:-$(ls -t $T/hyperfine-* | grep -v '\.d$' | head -1)}
O=${O:?the folder of the results}
Q=${Q:-}   # Q=1: a quick trial
case $1 in
A) $V --only self --time ${Q:+300ms}$([ -z "$Q" ] && echo 1500ms) ${Q:+--comparisons 3} --json $O/verdicts-self.json > $O/verdicts-self.txt ;;
B) $V --only slower --time ${Q:+300ms}$([ -z "$Q" ] && echo 1500ms) ${Q:+--comparisons 3} --json $O/verdicts-slower.json > $O/verdicts-slower.txt ;;
C) hyperfine --version | grep -q '^hyperfine 1\.20' || { echo 'hyperfine 1.20 is not installed; help: cargo install hyperfine --version 1.20.0' >&2; exit 1; }
   $H ${Q:+--blocks 2} --json $O/hyperfine.json > $O/hyperfine.txt ;;
esac
