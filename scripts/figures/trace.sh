#!/bin/bash
# trace.sh PART: one quiet window each, in the checkout of main (B = bench executable of benches/trace, release)
#   A  overhead, corrected totals, strace -f beside       ~4 min
#   B  every class of program, by bpf and by ptrace       ~2 min
#   C  diff of Node with Ruby (recordings): alignment     seconds
B=${B:-$(ls -t target/x86_64-unknown-linux-gnu/release/deps/trace-* 2>/dev/null | grep -v '\.d$' | head -1)}
R=${R:-$PWD/target/x86_64-unknown-linux-gnu/release/firstbyte}
O=${O:-$PWD/results/2026-11-22-epyc-kvm}
Q=${Q:-}   # for a trial: Q=1 makes everything tiny
case $1 in
A) $B $([ -n "$Q" ] && echo 8 || echo 180) > $O/trace.txt ;;
B) $B classes > $O/trace-classes.txt ;;
C) d=$(mktemp -d); $R trace -r 3 --no-overhead --record $d/node.rec -- node -e 'console.log(1)' > /dev/null
   $R trace -r 3 --no-overhead --record $d/ruby.rec -- ruby -e 'puts 1' > /dev/null
   { wc -l $d/*.rec | sed "s#$d/##"; for pair in "node node" "ruby ruby" "node ruby"; do set -- $pair
     /usr/bin/time -f "diff $1.rec $2.rec: %e s, %M KiB" $R diff $d/$1.rec $d/$2.rec 2>&1 >/dev/null; done; } > $O/trace-diff.txt; rm -r $d ;;
esac
