#!/bin/bash
# floor.sh PART: measures one part, on an idle machine
# (R: release binary; B: bench executable of benches/floor)
#   A  floor, prints, waterfall          ~2.5 min     B  floor and C loops                     ~4 min
#   C  processors, `lines 1`, uutils yes ~1.5 min     D  throughput, N = 17.5M, all sinks      ~4 min
#   E  terminal, ladder, the post's table  ~5 min
R=${R:-$PWD/target/x86_64-unknown-linux-gnu/release/firstbyte}
B=${B:-$(ls -t target/x86_64-unknown-linux-gnu/release/deps/floor-* 2>/dev/null | grep -v '\.d$' | head -1)}
O=${O:?the folder of the results}
Q=${Q:-}   # Q=1: a quick trial
unset PYTHONUNBUFFERED
case $1 in
A) $R floor ${Q:+--quick} --export-json $O/floor.json > $O/floor.txt ;;
B) $B --rounds ${Q:-4} ${Q:+--quick} --json $O/floor-loops.json ;;
C) $R floor --cpus-sweep ${Q:+--quick} --export-json $O/floor-cores.json
   $R bench -r ${Q:+5}$([ -z "$Q" ] && echo 500) "$R lines 1" "$R --version" > $O/lines-start.txt
   # uutils' yes: cargo install uu_yes --version 0.12.0 --root FOLDER; UUYES=FOLDER/bin/yes
   if [ -n "${UUYES:-}" ]; then
     READER=$(mktemp); gcc -O2 -o $READER benches/throughput/reader.c
     { for how in splice read; do $READER ${Q:-21} $([ -n "$Q" ] && echo 21000000 || echo 2100000000) $how $R lines 175000000 , $UUYES 'hello world'; done; } 2>&1 | sed "s#$R#firstbyte lines#; s#$UUYES#uutils yes 0.12#" > $O/lines-uutils.txt
   else
     echo "floor-C: without uutils' yes, because UUYES is not set" >&2
   fi
   # resident memory while 2^63 lines are being written
   { $R lines 9223372036854775808 & p=$!; sleep 1; grep VmHWM /proc/$p/status >&2; kill $p; } 2> $O/lines-memory.txt | cat >/dev/null ;;
D) $R throughput --n $([ -n "$Q" ] && echo 100000 || echo 17500000) --only 'firstbyte lines,yes-head,c-write,c-writev,(wc -l alone)' --sink null,pipe-read,pipe-splice,wc,cat,tmpfs,file,overwrite --runs ${Q:-11} --enough 20s --export-json $O/throughput.json ;;
E) $R throughput --sink pty --n $([ -n "$Q" ] && echo 10000 || echo 875000) --only 'firstbyte lines,c-write,c-writev,c-stdio,go-v2' --runs ${Q:-9} --enough 20s --export-json $O/throughput-pty.json
   $R throughput --n $([ -n "$Q" ] && echo 10000 || echo 1750000) --sink null,pipe-read,pipe-splice,tmpfs --runs ${Q:-5} --enough 5s --export-json $O/throughput-ladder.json
   $R throughput ${Q:+--n 1000,2000} --sink null --only 'go-v1,asm-v1,go-v2,asm-v2,firstbyte lines' --runs ${Q:-3} --enough 3s --export-json $O/throughput-post.json --export-svg $O/throughput-post.svg --log ;;
esac
