#!/usr/bin/env python3
"""counts-fill.py counts.json: writes the table of counts into docs/ci.md."""
import json, re, sys

ROWS = [('processes', 'processes'), ('threads', 'threads'), ('execs', 'execs'), ('system calls', 'syscalls'),
        ('page faults', 'page_faults'), ('major faults', 'major_faults'), ('files opened', 'files_opened'),
        ('failed opens', 'failed_opens'), ('bytes read', 'bytes_read'), ('writes', 'writes'),
        ('peak memory, MiB', 'max_rss')]

def cell(result, count):
    low, high = result['varying'].get(count, [result['counts'][count]] * 2)
    shown = (lambda bytes: f'{bytes / 2**20:.2f}') if count == 'max_rss' else str
    return shown(low) if shown(low) == shown(high) else f'{shown(low)} to {shown(high)}'

results = json.load(open(sys.argv[1]))['results']
lines = ['| | C `printf` | Python 3.11 | Node 20 | Go 1.26 |', '|---|---|---|---|---|']
lines += [f'| {name} | ' + ' | '.join(cell(result, count) for result in results) + ' |' for name, count in ROWS]

doc = open('docs/ci.md').read()
pattern = r'(<!-- figures: counts -->\n).*?(\n<!-- end of figures -->)'
assert re.search(pattern, doc, re.S)
table = '\n'.join(lines)
open('docs/ci.md', 'w').write(re.sub(pattern, lambda it: it[1] + table + it[2], doc, flags=re.S))
