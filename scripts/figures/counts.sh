#!/bin/bash
# counts.sh FILE: how much counts vary, as JSON: 20 runs each of hello world in C, Python, Node and Go. Needs no idle
# machine.
#   R   the release binary
set -eu
file=$(realpath "$1")
R=${R:-$PWD/target/$(rustc -vV | sed -n 's/^host: //p')/release/firstbyte}
corpus=$PWD/corpus
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

gcc -O2 -o hello "$corpus/c-printf/hello.c"
cp "$corpus/python/hello.py" "$corpus/node/hello.js" "$corpus/go/hello.go" .
go build -o hello-go hello.go

"$R" check --init --clean-env --count-runs 20 --export-json counts.json ./hello '/usr/bin/python3 hello.py' 'node hello.js' ./hello-go
cp counts.json "$file"
