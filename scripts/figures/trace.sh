#!/bin/bash
# trace.sh PART: measures one part, on an idle machine
# (B: bench executable of benches/trace, release build)
#   A  overhead, corrected totals, compared with strace -f   ~4 min
#   B  every class of program, with bpf and with ptrace      ~2 min
#   C  diff of recordings of Node and Ruby: alignment        seconds
#   D  cost of the hooks for programs that are not traced    1 min
B=${B:-$(ls -t target/x86_64-unknown-linux-gnu/release/deps/trace-* 2>/dev/null | grep -v '\.d$' | head -1)}
R=${R:-$PWD/target/x86_64-unknown-linux-gnu/release/firstbyte}
O=${O:?the folder of the results}
Q=${Q:-}   # Q=1: a quick trial
case $1 in
A) $B $([ -n "$Q" ] && echo 8 || echo 180) > $O/trace.txt ;;
B) $B classes > $O/trace-classes.txt ;;
C) d=$(mktemp -d); $R trace -r 3 --no-overhead --no-samples --record $d/node.rec -- node -e 'console.log(1)' > /dev/null
   $R trace -r 3 --no-overhead --no-samples --record $d/ruby.rec -- ruby -e 'puts 1' > /dev/null
   { wc -l $d/*.rec | sed "s#$d/##"; for pair in "node node" "ruby ruby" "node ruby"; do set -- $pair
     /usr/bin/time -f "diff $1.rec $2.rec: %e s, %M KiB" $R diff $d/$1.rec $d/$2.rec 2>&1 >/dev/null; done; } > $O/trace-diff.txt; rm -r $d ;;
D) d=$(mktemp -d); cc -O2 -o $d/loop benches/core/bare_loop.c
   printf '#include <stdio.h>\nint main(void) { puts("hello world"); return 0; }\n' > $d/c.c && cc -O2 -o $d/c $d/c.c
   printf 'package main\nimport "fmt"\nfunc main() { fmt.Println("hello world") }\n' > $d/go.go && go build -o $d/go $d/go.go
   median() { taskset -c 0 $d/loop 400 $1 | sort -n | awk '{ at[NR] = $1 } END { print at[int((NR + 1) / 2)] }'; }
   # the first run of a trace is untraced; after two seconds the hooks are attached, and follow only `sleep`
   { echo "median ns of 400 runs, launch to reaping: with no hook, with the hooks of a trace of another program"
     for round in 1 2 3 4 5 6 7 8; do for program in c go; do alone=$(median $d/$program)
       $R trace -r 2 --no-overhead --no-samples -- sleep 2 > /dev/null & sleep 2.5; hooked=$(median $d/$program); wait
       echo "$program $alone $hooked" | awk '{ printf "%-3s %8d %8d  %.3f\n", $1, $2, $3, $3 / $2 }'; done; done; } > $O/trace-unfollowed.txt; rm -r $d ;;
esac
