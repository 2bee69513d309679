#!/usr/bin/env python3
"""fill.py RESULTS: writes the table of docs/watch.md from watch-cost.json, and prints the limits that were missed."""
import json, os, re, sys

DOC = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../docs/watch.md')
found = json.load(open(f'{sys.argv[1]}/watch-cost.json'))
BASE = ['firstbyte watch', 'firstbyte watch --first-output', 'firstbyte watch --backend ptrace', 'strace -f -c', 'perf trace -s', 'execsnoop (bcc)', 'execsnoop (bpftrace)']

def ratio(figures):
    return f"{figures['ratio']:.2f} ({figures['interval'][0]:.2f} to {figures['interval'][1]:.2f})" if figures else '-'

def of(summary, tool):
    return summary.get(tool) or summary.get(f'{tool} -a')

def rounds(work):
    """Slow tools have fewer."""
    counts = sorted({sum(tool in one for one in work['rounds']) for tool in work['summary'] if tool != 'alone'})
    return ' or '.join(map(str, counts))

works = list(found['work'].items())
tools = [tool for tool in BASE if any(of(work['summary'], tool) for _, work in works)]
head = ['watched by', *(name for name, _ in works)]
rows = [['nothing', *(f"{work['summary']['alone']['median_ns'] / 1e9:.2f} s" for _, work in works)]]
rows += [[f'`{tool}`', *(ratio(of(work['summary'], tool)) for _, work in works)] for tool in tools]
rows += [['limit for `firstbyte watch`', *(str(work['limit'] or '-') for _, work in works)],
         ['rounds', *(rounds(work) for _, work in works)]]
table = '\n'.join('| ' + ' | '.join(row) + ' |' for row in [head, [':---', *['---:'] * len(works)], *rows])

text = open(DOC).read()
place = re.compile(r'(<!-- figures: cost -->\n).*?(<!-- end of figures -->)', re.S)
assert place.search(text), 'docs/watch.md has no place for the table'
open(DOC, 'w').write(place.sub(lambda found: f'{found[1]}{table}\n{found[2]}', text))
for name, work in works:
    figures = work['summary'].get('firstbyte watch')
    if work['limit'] and figures and figures['ratio'] > work['limit']:
        print(f"missed: {name}: {figures['ratio']:.3f} over {work['limit']}")
