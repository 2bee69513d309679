#!/usr/bin/env python3
"""verdicts-fill.py RESULTS: writes the figures of verdicts.sh A, B and C into the docs."""
import os, re, subprocess, sys
O = sys.argv[1]
def text(name):
    p = f'{O}/{name}.txt'
    return open(p).read().rstrip() if os.path.exists(p) else ''
def put(doc, name, body):
    if not body: print('no figures for', name); return
    s = open(doc).read()
    pattern = rf'<!-- figures: {name} -->.*?<!-- end of figures -->'
    assert re.search(pattern, s, re.S), (doc, name)
    s = re.sub(pattern, lambda _: f'<!-- figures: {name} -->\n```text\n{body}\n```\n<!-- end of figures -->', s, count=1, flags=re.S)
    open(doc, 'w').write(s)
h = text('hyperfine').split('\n')
cold = [l for i, l in enumerate(h) if l.startswith('cold') or (i and h[i-1].startswith('cold') and l.startswith(' '))]
put('docs/bench.md', 'verdicts', '\n'.join(filter(None, [text('verdicts-self'), text('verdicts-slower')])))
put('docs/bench.md', 'beside', '\n'.join(l for l in h if l not in cold))
put('docs/cold.md', 'cold', '\n'.join(cold))
print(open(f'{O}/verdicts-self.txt').read() if os.path.exists(f'{O}/verdicts-self.txt') else '')
print('check: self <= 5 %, slower >= 90 %, ours/hyperfine <= 1, cold >= 3 x, 0 pages; hyperfine', subprocess.getoutput('hyperfine --version'))
