#!/bin/sh
# Builds the runtime's figures side by side with other C libraries and measures them with firstbyte, on a quiet machine:
#   runtime/tests/figures.sh [FOLDER]        results in FOLDER (default results/runtime): JSON and text
# Programs that cannot be built here (musl-gcc, diet, the dictionary, the kernel's tools/include/nolibc by NOLIBC=FOLDER) are left out aloud.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
firstbyte=${FIRSTBYTE:-firstbyte}
results=${1:-$root/results/runtime}
words=${WORDS:-/usr/share/dict/web2}
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
mkdir -p "$results"
small="-s -Wl,-z,noseparate-code,-z,norelro,--build-id=none"

built() { # NAME COMMAND...: builds, or says that it could not
    name=$1
    shift
    "$@" -o "$build/$name" 2>"$build/$name.log" || echo "left out: $name: $(head -n 1 "$build/$name.log")" >&2
}

variants() { # NAME SOURCE OPTIONS...: one program by every library
    name=$1
    shift
    built "$name-firstbyte" "$firstbyte" cc -O2 "$@"
    built "$name-glibc" cc -O2 "$@"
    built "$name-glibc-static" cc -O2 -static "$@"
    # shellcheck disable=SC2086  # several options
    built "$name-musl" musl-gcc -O2 -static $small "$@"
    # shellcheck disable=SC2086
    built "$name-diet" diet gcc -O2 $small "$@"
    if [ -n "${NOLIBC:-}" ]; then
        # shellcheck disable=SC2086
        built "$name-nolibc" cc -Os -static -nostdlib -fno-stack-protector -fno-asynchronous-unwind-tables -I"$NOLIBC" $small "$@" -lgcc
    fi
}

measure() { # NAME INPUT: all its variants in turn
    set -- "$1" "$2" "$build/$1"-*
    name=$1 input=$2
    shift 2
    for program; do
        case $program in
        *.log) ;;
        *) "$build/faults" 301 "$program" <"$input" | sed "s|^|$(basename "$program") page faults |" || true ;;
        esac
    done | tee "$results/$name-faults.txt"
    wc -c "$@" | grep -v '\.log$' | tee "$results/$name-bytes.txt"
    set -- $(printf '%s\n' "$@" | grep -v '\.log$')
    "$firstbyte" bench --input "$input" --output file --export-json "$results/$name.json" "$@" | tee "$results/$name.txt"
}

cc -O1 -o "$build/faults" "$root/runtime/tests/faults.c"
printf '.globl _start\n_start: mov $1,%%eax\nmov $1,%%edi\nlea m(%%rip),%%rsi\nmov $12,%%edx\nsyscall\nmov $60,%%eax\nxor %%edi,%%edi\nsyscall\nm: .ascii "hello world\\n"\n' >"$build/hello.s"
built hello-assembler cc -nostdlib -static -s "$build/hello.s"
variants hello "$root/runtime/samples/hello.c"
measure hello /dev/null

head -c 1398 "$root/docs/runtime.md" >"$build/text"
variants cat "$root/runtime/samples/filters/cat.c"
measure cat "$build/text"

if [ -r "$words" ]; then
    rustc --edition 2024 -O -o "$build/generate" "$root/runtime/samples/level0/generator/main.rs"
    "$build/generate" exact "$words" >"$build/exact.h"
    # Words of the list in random order, 1.4 kB and 100 MB.
    shuf --random-source="$words" "$words" | tr '\n' ' ' | head -c 1398 >"$build/small"
    while :; do shuf "$words"; done | tr '\n' ' ' | head -c 104857600 >"$build/large" || true
    variants level0 -DTABLE="\"$build/exact.h\"" "$root/runtime/samples/level0/level0.c"
    printf '#!/bin/sh\nexec python3 %s %s\n' "$root/runtime/samples/level0/reference.py" "$words" >"$build/level0-python"
    printf '#!/bin/sh\nexec ruby -rset -e %s %s\n' "'w = Set.new(File.read(ARGV.shift).split(%Q(\\n))); print \$stdin.read.gsub(/[^ \\n]+/) { |x| w.include?(x.downcase) ? x : %Q(<#{x}>) }'" "$words" >"$build/level0-ruby"
    chmod +x "$build/level0-python" "$build/level0-ruby"
    command -v ruby >/dev/null || { rm "$build/level0-ruby"; echo "left out: level0-ruby: no ruby" >&2; }
    measure level0 "$build/small"
    rm -f "$build/level0-python" "$build/level0-ruby"
    for program in "$build"/level0-firstbyte "$build"/level0-glibc; do
        for _ in 1 2 3; do
            echo "$(basename "$program") 100 MB:"
            ( time -p "$program" <"$build/large" | cat >/dev/null ) 2>&1
        done
    done | tee "$results/level0-throughput.txt"
else
    echo "left out: level0: $words cannot be read; apt-get install miscfiles" >&2
fi
