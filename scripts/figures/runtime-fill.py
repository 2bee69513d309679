#!/usr/bin/env python3
"""Writes the tables of figures.sh into docs/{elf,runtime,level0}.md. Usage, in the checkout: runtime-fill.py RESULTS"""
import json, os, re, statistics, sys
R = sys.argv[1]

def load(name):
    with open(f'{R}/{name}.json') as file:
        return {r.get('name') or r['command']: r for r in json.load(file)['results']}

def counts(name):
    rows = [line.split() for line in open(f'{R}/{name}-counts.txt')][1:]
    return {r[0]: r[1:] for r in rows}

def ns(result, phase):
    values = result['phases'].get(phase) or {}
    return values.get('median'), values.get('mad') or 0

def shown(value):
    if value is None: return '-'
    for unit, size in (('s', 1e9), ('ms', 1e6), ('µs', 1e3)):
        if value >= size: return f'{value/size:.3g} {unit}' if value/size < 1000 else f'{value/size:.0f} {unit}'
    return f'{value:.0f} ns'

def ratio(result, reference, phase):
    a, b = ns(result, phase)[0], ns(reference, phase)[0]
    return '-' if not a or not b else f'{a/b:.3f}' if a/b < 2 else f'{a/b:.1f}' if a/b < 100 else f'{a/b:.0f}'

def spread(result, phase):
    samples = result['phases'][phase].get('samples')
    if not samples: return '-'
    m = statistics.median(samples)
    return f'{148.26 * statistics.median(abs(s - m) for s in samples) / m:.0f} %'

def table(name, reference, names, phase='first_byte'):
    results, counted = load(name), counts(name)
    rows = ['| program | bytes | system calls | page faults | first byte | total | spread | ' + ('first byte' if phase == 'first_byte' else 'total') + f' / {names[reference]} |',
            '|---|---|---|---|---|---|---|---|']
    for key, label in names.items():
        if key not in results: continue
        r, c = results[key], counted.get(key, ['-'] * 3)
        rows.append(f"| {label} | {int(c[0]):,} | {c[1]} | {c[2]} | {shown(ns(r,'first_byte')[0])} | {shown(ns(r,'total')[0])} | {spread(r, phase if ns(r, phase)[0] else 'total')} | {ratio(r, results[reference], phase)} |")
    return '\n'.join(rows)

def filters():
    rows = ['| filter | bytes | system calls | page faults | first byte | the same by glibc | first byte, glibc / ours |', '|---|---|---|---|---|---|---|']
    for name in ('cat', 'wc', 'tr', 'head', 'base64', 'json'):
        r, c = load(name), counts(name)
        o, g = c['firstbyte'], c['glibc']
        rows.append(f"| {name} | {int(o[0]):,} | {o[1]} | {o[2]} | {shown(ns(r['firstbyte'],'first_byte')[0])} | {g[1]} system calls, {g[2]} page faults, {shown(ns(r['glibc'],'first_byte')[0])} | {ratio(r['glibc'], r['firstbyte'], 'first_byte')} |")
    return '\n'.join(rows)

def level0():
    small, slow, large = load('level0'), load('level0-slow'), load('level0-large')
    counted = counts('level0') | counts('level0-slow')
    names = {'empty-start': 'an empty `_start`', 'firstbyte': 'this runtime', 'musl-static': 'musl, static, the same table', 'dietlibc': 'dietlibc, the same table', 'glibc-static': 'glibc, static, the same table', 'glibc': 'glibc, dynamic, the same table', 'glibc-hash-from-file': 'glibc, hash table filled from the file', 'python-set': 'Python, set', 'ruby-set': 'Ruby, Set'}
    rows = ['| | system calls | page faults | first byte | user CPU | total | total / empty `_start` | 100 MB, total |', '|---|---|---|---|---|---|---|---|']
    base = ns(small['empty-start'], 'total')[0]
    for key, label in names.items():
        r = small.get(key) or slow.get(key)
        if not r: continue
        factor = 1 if key in small else base_of(small) / base_of(slow)
        c = counted.get(key) or ['-', str(int(r['counts'].get('syscalls', 0))), str(int(r['counts'].get('page_faults', 0)))]
        total = ns(r, 'total')[0]
        big = shown(ns(large[key], 'total')[0]) if key in large else '-'
        x = total * factor / base
        rows.append(f"| {label} | {c[1]} | {c[2]} | {shown(ns(r,'first_byte')[0])} | {shown((r.get('user') or 0) * 1e9)} | {shown(total)} | {x:.2f} | {big} |" if x < 100 else
                    f"| {label} | {c[1]} | {c[2]} | {shown(ns(r,'first_byte')[0])} | {shown((r.get('user') or 0) * 1e9)} | {shown(total)} | {x:.0f} | {big} |")
    return '\n'.join(rows)

def base_of(results): return ns(results['firstbyte'], 'total')[0]

C = {'firstbyte': 'this runtime', 'nolibc': "the kernel's nolibc 6.12", 'dietlibc': 'dietlibc 0.34', 'musl-static': 'musl 1.2.3, static', 'glibc-static': 'glibc 2.36, static', 'glibc': 'glibc 2.36, dynamic'}
TABLES = {
    ('docs/elf.md', 'elf'): lambda: table('elf', 'assembler', {'assembler': 'assembler, static', 'elf-plain': 'plain', 'elf-packed': 'packed', 'elf-i386-plain': 'plain, i386', 'elf-i386-packed': 'packed, i386', 'c-printf': 'C, printf, dynamic glibc'}),
    ('docs/runtime.md', 'hello'): lambda: table('hello', 'assembler', {'assembler': 'assembler, static', **C}),
    ('docs/runtime.md', 'copy'): lambda: table('copy', 'firstbyte', C, 'total'),
    ('docs/runtime.md', 'filters'): filters,
    ('docs/level0.md', 'level0'): level0,
}
for (path, name), make in TABLES.items():
    try: text = make()
    except (OSError, KeyError) as error: print(f'{path}, {name}: unchanged: {error!r}'); continue
    old = open(path).read()
    new, n = re.subn(rf'(<!-- figures: {name} -->\n).*?(<!-- end -->)', lambda m: m[1] + text + '\n' + m[2], old, flags=re.S)
    print(path, name, 'written' if n else 'NO MARKERS'); open(path, 'w').write(new)
