#!/usr/bin/env python3
"""trace-fill.py RESULTS: writes the tables of trace.sh A to C into docs/trace.md. Prints the figures that missed their
targets."""
import json, os, re, sys
O = sys.argv[1]
missed, out = [], []
def read(name):
    p = f'{O}/{name}'
    return open(p).read().splitlines() if os.path.exists(p) else []
target = {'c-printf': 1.12, 'go': 1.20, 'python3': 1.05, 'ruby': 1.05, 'node': 1.05}
rows = read('trace.txt')
if rows:
    raw = {d['program']: d for d in (json.loads(r) for r in rows if r.startswith('{'))}
    out += ['| program | untraced | traced / untraced (95 % interval) | target | corrected | `strace -f` | lost |', '|:---|---:|---:|---:|---:|---:|---:|']
    for r in rows:
        f = r.split()
        if len(f) < 11 or f[0] not in target: continue
        name, untraced, ratio, low, high, corrected, strace = f[0], float(f[1]), float(f[5]), f[6], f[8], float(f[9]), f[10]
        d = raw[name]
        if ratio > target[name]: missed.append(f'{name}: {ratio} over {target[name]}')
        if abs(corrected - 1) > .05: missed.append(f'{name}: corrected {corrected}')
        if d['lost_events']: missed.append(f'{name}: lost {d["lost_events"]}')
        out.append(f'| {name} | {untraced:.0f} µs | **{ratio:.3f}** ({low} to {high}) | {target[name]:.2f} | {corrected:.3f} | {strace} | {d["lost_events"]} |')
    out += ['', f'Medians of {len(next(iter(raw.values()))["traced"])} runs each, in {next(iter(raw.values()))["overhead"]["pairs"]} pairs of alternating short blocks (`trace.txt`, with the raw wall\ntimes).', '']
rows = read('trace-classes.txt')
if rows:
    out += ['Each class of program, traced once (`trace-classes.txt`):', '', '```text'] + rows + ['```', '']
    for r in rows[1:]:
        if ' NO ' in r: missed.append(f'not exact: {r}')
        m = re.search(r'([\d.]+) % +(\d+)$', r)
        if not m: missed.append(r); continue
        if int(m[2]): missed.append(f'lost: {r}')
        if ' bpf ' in r and re.match(r'(C,|C\+\+|Rust|Go|Python)', r) and float(m[1]) >= 2: missed.append(f'unknown: {r}')
rows = read('trace-diff.txt')
if rows:
    out += ['Alignment of recordings, including the time to read them (`trace-diff.txt`):', '', '```text'] + rows + ['```', '']
    for r in rows:
        m = re.search(r': ([\d.]+) s', r)
        if m and float(m[1]) >= 1: missed.append(r)
doc = open('docs/trace.md').read()
assert '<!-- figures -->' in doc
doc = re.sub(r'<!-- figures -->.*<!-- end of figures -->', lambda _: '<!-- figures -->\n' + '\n'.join(out).strip() + '\n<!-- end of figures -->', doc, flags=re.S)
open('docs/trace.md', 'w').write(doc)
print('\n'.join(missed) or 'every target met')
