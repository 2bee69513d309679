#!/usr/bin/env python3
"""floor-fill.py RESULTS: writes the tables of floor.sh A to E into docs/floor.md and docs/throughput.md (between
<!-- figures --> and <!-- end of figures -->). Prints the figures that missed their targets."""
import json, os, re, statistics as st, sys, textwrap
O = sys.argv[1]
def load(name):
    path = f'{O}/{name}.json'
    return json.load(open(path)) if os.path.exists(path) else None
def ns(v):
    for unit, size in (('s', 1e9), ('ms', 1e6), ('µs', 1e3)):
        if abs(v) >= size: return f'{v/size:.3g} {unit}'
    return f'{v:.0f} ns'
def wrapped(text):
    """Wraps prose at 100 columns, but not between a number and its unit or within code and links. Leaves tables and code unchanged."""
    out, code = [], False
    for line in text.split('\n'):
        code ^= line.startswith('```')
        if code or line.startswith(('|', '`')) or len(line) <= 100: out.append(line); continue
        line = re.sub(r'`[^`]+`|\[[^\]]{1,60}\]\([^)]*\)', lambda m: m[0].replace(' ', '\0'), line)
        line = re.sub(r'(\d) (?=(?:µs|ns|ms|s|[KMG]i?B|%|×|bytes?)(?:\W|$))', lambda m: m[1] + '\0', line)
        out += [part.replace('\0', ' ') for part in textwrap.wrap(line, 100, break_long_words=False, break_on_hyphens=False)]
    return '\n'.join(out)
def put(doc, text):
    text = wrapped(text)
    s = open(doc).read()
    assert '<!-- figures -->' in s, doc
    s = re.sub(r'<!-- figures -->.*<!-- end of figures -->', lambda _: f'<!-- figures -->\n{text.strip()}\n<!-- end of figures -->', s, flags=re.S)
    open(doc, 'w').write(s)
missed = []
# ---- docs/floor.md
out = []
d = load('floor-loops')
if d:
    out += ['| compared with | `floor` | the other | ratio (spread) | target |', '|:---|---:|---:|---:|:---|']
    for r in d['results']:
        a, b = r['floor_ns'], r['loop_ns']
        if not a or not b:
            out.append(f"| {r['name']} | not measured | | | |"); continue
        pairs = [x / y for x, y in zip(a, b)]
        ratio = st.median(a) / st.median(b)
        ok = abs(ratio - 1) <= r['aim']
        if not ok: missed.append(f"{r['name']}: ratio {ratio:.3f}, target {r['aim']:.0%}")
        out.append(f"| {r['name']} | {ns(st.median(a))} | {ns(st.median(b))} | {ratio:.3f} ({min(pairs):.3f} to {max(pairs):.3f}) | {'within' if ok else '**beyond**'} {r['aim']*100:.0f} % |")
    out += ['', f"Medians of {max(len(r['floor_ns']) for r in d['results'])} rounds, both sides alternating. The spread is over the rounds (`floor-loops.json`).", '']
d = load('floor')
if d:
    o = d['overhead']
    out += [f"The clock costs {o['timer']:.1f} ns for two readings and steps by {o['step']} ns; an empty timed region reads {o['empty']:.1f} ns.", '']
    if abs(o['empty']) > max(o['step'], 1): missed.append(f"empty region reads {o['empty']}, step {o['step']}")
    for w in d['waterfalls']:
        out += [f"The steps of the waterfall and its floor sum to {w['sum_ns']} of {w['top_ns']} ns. The top has an error of ± {ns(w['error_ns'])}, and the sum of the medians of paired differences deviates from it by {ns(abs(w['residual_ns']))}.", '']
    if d.get('prints'):
        out += ['| print, to a terminal | first | hundredth | its clock | first, from outside | hundredth, from outside | calls in the first | faults |', '|:---|---:|---:|---:|---:|---:|---:|---:|']
        for p in d['prints']:
            x = p.get('outside')
            cells = [ns(p['first']['median']), ns(p['hundredth']['median']), ns(p['clock']['median'])]
            cells += [ns(x['first']['median']), ns(x['hundredth']['median']), str(len(x['first_calls'])), str(x['first_faults'] if x['first_faults'] is not None else '-')] if x else ['-'] * 4
            out.append(f"| {p['label']} | " + ' | '.join(cells) + ' |')
        out.append('')
d = load('floor-cores')
if d:
    out += ['| with fewer processors | limited by | processors | first byte (95 % interval) | threads |', '|:---|:---|---:|---:|---:|']
    for s in d['sweeps']:
        for p in s['points']:
            out.append(f"| {s['name']} | {p['how']} | {p['cpus']} | {ns(p['first_byte'])} ({ns(p['low'])} to {ns(p['high'])}) | {p.get('threads', '?')} |")
    out.append('')
if out: put('docs/floor.md', '\n'.join(out))
# ---- docs/throughput.md
out = []
d = load('throughput')
rows = {(r['sink'], r['design']): r for r in d['results']} if d else {}
aims = {'pipe-splice': 80, 'pipe-read': 25, 'file': 6, 'tmpfs': 4, 'overwrite': 10}
def cell(r): return f"{r['median_ns']/1e6:.2f}"
if rows:
    out += ['17.5 million lines, milliseconds (median of 11 interleaved runs), and how many times faster than the repaired ASM v2:', '',
            '| target | ASM v2 | `yes \\| head` | write | writev | `firstbyte lines` | × ASM v2 (95 %) | × `yes \\| head` | goal |', '|:---|---:|---:|---:|---:|---:|---:|---:|:---|']
    for sink in ['null', 'pipe-splice', 'pipe-read', 'cat', 'wc', 'tmpfs', 'file', 'overwrite']:
        get = lambda design: rows.get((sink, design))
        ours = get('firstbyte lines')
        if not ours: continue
        t = ours['times_faster']; yes = get('yes-head')
        against = yes['median_ns'] / ours['median_ns'] if yes else None
        aim = ''
        if sink in aims:
            aim = f"≥ {aims[sink]}"
            if t['ratio'] < aims[sink]: missed.append(f"{sink}: {t['ratio']:.1f} of {aims[sink]}"); aim += ' **missed**'
        if sink == 'cat':
            aim = '≥ 20 × yes'
            if against and against < 20: missed.append(f"cat: {against:.1f} × yes of 20"); aim += ' **missed**'
        if sink == 'wc':
            alone = rows.get(('wc', '(wc -l alone)'))
            if alone:
                r = ours['median_ns'] / alone['median_ns']
                aim = f"wc alone {cell(alone)} ms: {r:.2f} ×, ≤ 1.10"
                if r > 1.10: missed.append(f"wc: {r:.2f} × wc alone"); aim += ' **missed**'
        text = [cell(get(x)) if get(x) else '' for x in ('asm-v2', 'yes-head', 'c-write', 'c-writev', 'firstbyte lines')]
        out.append(f"| {sink} | " + ' | '.join(text) + f" | {t['ratio']:.1f} ({t['low']:.1f} to {t['high']:.1f}) | {against:.1f} | {aim} |" if against else f"| {sink} | " + ' | '.join(text) + f" | {t['ratio']:.1f} | | {aim} |")
    out.append('')
d = load('throughput-pty')
if d:
    p = {r['design']: r for r in d['results']}
    n = max(r['lines'] for r in d['results'])
    ours = p['firstbyte lines']['median_ns']; best = min(r['median_ns'] for k, r in p.items() if k != 'firstbyte lines')
    out += [f"A terminal, {n} lines: " + ', '.join(f"{k} {cell(r)} ms" for k, r in sorted(p.items(), key=lambda x: x[1]['median_ns'])) + f"; ours takes {ours/best:.3f} of the best buffered design's time.", '']
    if ours > best * 1.02: missed.append(f"pty: {ours/best:.3f} of the best buffered design")
d = load('throughput-ladder')
if d:
    L = {(r['sink'], r['design']): r for r in d['results']}
    n = max(r['lines'] for r in d['results'])
    steps = [('asm-v1', 'one write per line'), ('go-v2', 'a buffer of 4 KiB'), ('asm-v2', 'all in memory, one write'), ('c-write', 'a block of 60 KiB that stays in the cache'), ('c-writev', 'the block 1024 times in one writev'), ('firstbyte lines', 'pages shared by reference (pipes)')]
    sinks = ['null', 'pipe-read', 'pipe-splice', 'tmpfs']
    out += [f'The steps, {n} lines, milliseconds; in brackets, how many times faster than the step before:', '', '| step | ' + ' | '.join(sinks) + ' |', '|:---|' + '---:|' * len(sinks)]
    before = {}
    for design, what in steps:
        cells = []
        for s in sinks:
            r = L.get((s, design))
            if not r: cells.append(''); continue
            gain = f" ({before[s]/r['median_ns']:.2f})" if s in before else ''
            before[s] = r['median_ns']
            cells.append(cell(r) + gain)
        out.append(f'| `{design}`: {what} | ' + ' | '.join(cells) + ' |')
    out.append('')
d = load('throughput-post')
if d:
    names = ['go-v1', 'asm-v1', 'go-v2', 'asm-v2', 'firstbyte lines']
    T = {(r['lines'], r['design']): r for r in d['results']}
    out += ["The table of Response to Response, seconds, to /dev/null (`throughput-post.svg` draws it):", '', '| N | Go v1 | ASM v1 | Go v2 | ASM v2 | `firstbyte lines` |', '|---:|---:|---:|---:|---:|---:|']
    for n in sorted({k[0] for k in T}):
        out.append(f'| {n} | ' + ' | '.join(f"{T[n, x]['median_ns']/1e9:.4f}" if (n, x) in T else '' for x in names) + ' |')
    out.append('')
for name, head in (('lines-uutils', 'Compared with `yes` of uutils 0.12, which also uses `tee` and prints endlessly: 2.1 GB read by `benches/throughput/reader.c`:'), ('lines-memory', 'Peak resident memory while 2^63 lines are being written:')):
    path = f'{O}/{name}.txt'
    if os.path.exists(path): out += [head, '', '```text', open(path).read().strip(), '```', '']
if out: put('docs/throughput.md', '\n'.join(out))
print('missed:' if missed else 'every target met')
for m in missed: print('  ', m)
