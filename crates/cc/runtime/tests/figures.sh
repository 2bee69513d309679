#!/bin/sh
# Builds the same C sources with this runtime and with other C libraries, and measures them side by side. Use a quiet machine:
#   crates/cc/runtime/tests/figures.sh [build|measure|all] [hello|elf|copy|filters|level0]...
#
#   BUILD       the folder for programs (default: target/figures)
#   RESULTS     the folder for figures (default: results/runtime)
#   RUNS        runs of each program (default: 300)
#   SLOW_RUNS   runs of programs that read the dictionary (default: 30)
#   LARGE_RUNS  runs with 100 MB of input (default: 5)
#   NOLIBC      the kernel's tools/include/nolibc
#   WORDS       the dictionary (default: /usr/share/dict/web2)
#
# Programs that cannot be built here (no musl-gcc, diet, NOLIBC or dictionary) are left out, and reported.
set -eu

root=$(cd "$(dirname "$0")/../../../.." && pwd)
firstbyte=${FIRSTBYTE:-firstbyte}
build=${BUILD:-$root/target/figures}
results=${RESULTS:-$root/results/runtime}
words=${WORDS:-/usr/share/dict/web2}
runs=${RUNS:-300}
samples=$root/crates/cc/runtime/samples
small="-s -Wl,-z,noseparate-code,-z,norelro,--build-id=none"
export FIRSTBYTE_RUNTIME="$root/crates/cc/runtime"
case ${1:-} in build | measure | all) what=$1 && shift ;; *) what=all ;; esac
[ $# -gt 0 ] || set -- hello elf copy filters level0
mkdir -p "$build" "$results"

built() { # SUBJECT NAME COMMAND...: builds a program, or reports that it could not
    program=$build/$1/$2
    mkdir -p "$build/$1"
    log=$build/$1-$2.log
    shift 2
    if ! "$@" -o "$program" 2>"$log"; then
        rm -f "$program"
        echo "left out: $program: $(head -n 1 "$log")" >&2
    fi
}

assembler() { # SUBJECT NAME CODE
    mkdir -p "$build/$1"
    printf '.globl _start\n_start: %b' "$3" >"$build/$1-$2.s"
    built "$1" "$2" cc -nostdlib -static -s "$build/$1-$2.s"
}

variants() { # SUBJECT SOURCE OPTIONS...: builds one program with every library
    subject=$1
    shift
    built "$subject" firstbyte "$firstbyte" cc -O2 "$@"
    built "$subject" glibc cc -O2 "$@"
    built "$subject" glibc-static cc -O2 -static "$@"
    # shellcheck disable=SC2086  # several options
    built "$subject" musl-static musl-gcc -O2 -static $small "$@"
    # shellcheck disable=SC2086
    built "$subject" dietlibc diet gcc -O2 $small "$@"
    if [ -n "${NOLIBC:-}" ]; then
        # shellcheck disable=SC2086
        built "$subject" nolibc cc -Os -static -nostdlib -fno-stack-protector -fno-asynchronous-unwind-tables \
            -I"$NOLIBC" -include nolibc.h $small "$@" -lgcc
    fi
}

exit_only='mov $60,%eax; xor %edi,%edi; syscall\n'
print_hello='mov $1,%eax; mov $1,%edi; lea m(%rip),%rsi; mov $12,%edx; syscall; mov $60,%eax; xor %edi,%edi; syscall\nm: .ascii "hello world\\n"\n'

build_hello() {
    assembler hello assembler "$print_hello"
    variants hello "$samples/hello.c"
}

build_elf() {
    assembler elf assembler "$print_hello"
    for layout in plain packed; do
        built elf "elf-$layout" "$firstbyte" elf --escape 'hello world\n' --layout $layout
        built elf "elf-i386-$layout" "$firstbyte" elf --arch i386 --escape 'hello world\n' --layout $layout
    done
    built elf c-printf cc -O2 "$samples/hello.c"
}

build_copy() {
    variants copy "$samples/copy.c"
    cp "$root/crates/cc/runtime/tests/input.txt" "$build/copy.input"
}

build_filters() {
    for name in cat wc tr head base64 json; do
        built "$name" firstbyte "$firstbyte" cc -O2 "$samples/filters/$name.c"
        built "$name" glibc cc -O2 "$samples/filters/$name.c"
        cp "$root/crates/cc/runtime/tests/input.txt" "$build/$name.input"
    done
    printf '{"words": [%s "end"]}\n' "$(seq -s ' ' 1 200 | sed 's/\([0-9]*\) /\1, /g;s/$/,/')" >"$build/json.input"
}

build_level0() {
    if ! [ -r "$words" ]; then
        echo "left out: level0: $words cannot be read; help: apt-get install miscfiles" >&2
        return
    fi
    level0=$samples/level0
    rustc --edition 2024 -O -o "$build/generate" "$level0/generator/main.rs"
    "$build/generate" exact "$words" >"$build/exact.h"
    # the words of the list in random order, 1.4 kB and 100 MB
    shuf --random-source="$words" "$words" | tr '\n' ' ' >"$build/shuffled"
    head -c 1398 "$build/shuffled" >"$build/level0.input"
    while :; do cat "$build/shuffled"; done 2>/dev/null | head -c 104857600 >"$build/level0.large"
    assembler level0 empty-start "$exit_only"
    variants level0 -DTABLE="\"$build/exact.h\"" "$level0/level0.c"
    rm -f "$build/level0/nolibc" # it has no unistd.h
    built level0-slow glibc-hash-from-file cc -O2 -DWORDS="\"$words\"" "$level0/hash.c"
    # the interpreter itself instead of a version manager's shim
    python=$(python3 -c 'import sys; print(sys.executable)')
    printf '#!/bin/sh\nexec %s %s %s\n' "$python" "$level0/reference.py" "$words" >"$build/level0-slow/python-set"
    printf '#!/bin/sh\nexec ruby %s %s\n' "$level0/set.rb" "$words" >"$build/level0-slow/ruby-set"
    chmod +x "$build/level0-slow/python-set" "$build/level0-slow/ruby-set"
    command -v ruby >/dev/null || { rm "$build/level0-slow/ruby-set" && echo "left out: level0-slow/ruby-set: no ruby" >&2; }
    "$build/level0-slow/python-set" <"$build/level0.input" >"$build/level0.expected"
    cp "$build/level0/firstbyte" "$build/level0-slow/firstbyte"
    for program in "$build"/level0/* "$build"/level0-slow/*; do
        case $program in *empty-start) continue ;; esac
        "$program" <"$build/level0.input" | cmp - "$build/level0.expected"
    done
}

# One line for each program: its size, and the system calls and page faults (median) of a run.
counts() { # SUBJECT INPUT ARGUMENT...
    subject=$1 input=$2
    shift 2
    [ -x "$build/faults" ] || cc -O1 -o "$build/faults" "$root/crates/cc/runtime/tests/faults.c"
    printf '%-22s %9s %7s %7s\n' program bytes calls faults
    for program in "$build/$subject"/*; do
        case $program in *-set) continue ;; esac
        strace -o "$build/strace" "$program" "$@" <"$input" >/dev/null
        calls=$(grep -c '(' "$build/strace")
        faults=$("$build/faults" 301 "$program" "$@" <"$input") || faults=?
        printf '%-22s %9s %7s %7s\n' "$(basename "$program")" "$(stat -c %s "$program")" "$calls" "$faults"
    done
}

measure() { # SUBJECT INPUT REFERENCE
    [ -d "$build/$1" ] || return 0
    counts "$1" "$2" >"$results/$1-counts.txt"
    cat "$results/$1-counts.txt"
    subject=$1 input=$2 reference=$3 by=${4:-total}
    set --
    for program in "$build/$subject"/*; do
        [ "$(basename "$program")" = "$reference" ] || set -- "$@" -n "$(basename "$program")" "$program"
    done
    "$firstbyte" bench --runs "$runs" --input "$input" --compare-by "$by" --export-json "$results/$subject.json" \
        -n "$reference" "$build/$subject/$reference" "$@"
}

measure_filters() {
    for name in cat wc tr head base64 json; do
        arguments=
        [ $name != tr ] || arguments=' a-z A-Z'
        # shellcheck disable=SC2086  # two arguments
        counts "$name" "$build/$name.input" $arguments >"$results/$name-counts.txt"
        "$firstbyte" bench --runs "$runs" --input "$build/$name.input" --export-json "$results/$name.json" \
            -n glibc "$build/$name/glibc$arguments" -n firstbyte "$build/$name/firstbyte$arguments"
    done
}

measure_level0() {
    measure level0 "$build/level0.input" empty-start
    runs=${SLOW_RUNS:-30}
    measure level0-slow "$build/level0.input" firstbyte
    cd "$build/level0"
    "$firstbyte" bench --runs "${LARGE_RUNS:-5}" --timeout 5m --input "$build/level0.large" \
        --export-json "$results/level0-large.json" -n glibc ./glibc -n firstbyte ./firstbyte \
        -n glibc-static ./glibc-static -n musl-static ./musl-static \
        -n glibc-hash-from-file ../level0-slow/glibc-hash-from-file \
        -n python-set ../level0-slow/python-set -n ruby-set ../level0-slow/ruby-set
}

for subject; do
    [ $what = measure ] || "build_$subject"
    [ $what = build ] || case $subject in
    hello | elf) measure "$subject" /dev/null assembler first-byte ;;
    copy) measure copy "$build/copy.input" firstbyte ;;
    *) "measure_$subject" ;;
    esac
done
