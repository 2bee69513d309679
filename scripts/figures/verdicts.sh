#!/bin/bash
# verdicts.sh PART: measures one part, on an idle machine, after
#   cargo build --release && cargo bench --bench verdicts --bench hyperfine --no-run
#   A  verdicts: a program with itself, 200 times   ~7 min (limit 600 s)
#   B  verdicts: 3 % slower, 100 times              ~4 min
#   C  compared with hyperfine -N, and cold         ~3 min
#   D  two programs that differ by 3 %, compared by firstbyte, hyperfine 1.20 and 2.0.0   ~40 min; HYPERFINE_1 and
#      HYPERFINE_2 are the two programs; SECONDS_EACH=180 stops after that time, and the next call continues
T=target/x86_64-unknown-linux-gnu/release/deps
V=${V:-$(ls -t $T/verdicts-* | grep -v '\.d$' | head -1)}
H=${H:-$(ls -t $T/hyperfine-* | grep -v '\.d$' | head -1)}
O=${O:?the folder of the results}
Q=${Q:-}   # Q=1: a quick trial
case $1 in
A) $V --only self --time ${Q:+300ms}$([ -z "$Q" ] && echo 1500ms) ${Q:+--comparisons 3} --json $O/verdicts-self.json > $O/verdicts-self.txt ;;
B) $V --only slower --time ${Q:+300ms}$([ -z "$Q" ] && echo 1500ms) ${Q:+--comparisons 3} --json $O/verdicts-slower.json > $O/verdicts-slower.txt ;;
C) ${HYPERFINE_1:-hyperfine} --version | grep -q '^hyperfine 1\.20' || { echo 'hyperfine 1.20 is not installed; help: cargo install hyperfine --version 1.20.0' >&2; exit 1; }
   $H ${Q:+--blocks 2} --json $O/hyperfine.json > $O/hyperfine.txt ;;
D) $H --only demonstration ${SECONDS_EACH:+--seconds $SECONDS_EACH} ${Q:+--trials 1} --json $O/hyperfine-demonstration.json > $O/hyperfine-demonstration.txt ;;
esac
