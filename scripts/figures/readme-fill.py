#!/usr/bin/env python3
"""readme-fill.py SHOWDOWN_TXT: writes lines of the output of `firstbyte showdown` (80 columns) into the README's first block."""
import re, sys
BARS = ['floor-elf', 'c-printf', 'go', 'python', 'node']
ROWS = ['floor-elf', 'asm-i386-int80', 'c-musl', 'c-static', 'c-printf', 'dash', 'rust', 'lua', 'go', 'cpp-iostream',
        'bash', 'perl', 'zsh', 'python-isolated', 'java', 'python', 'ruby', 'node']
lines = open(sys.argv[1]).read().split('\n')
rule = next(i for i, line in enumerate(lines) if line.startswith('──'))
head, rows, bars = lines[rule - 2:rule + 1], [], []
for line in lines[rule + 1:]:
    if not line: break
    rows.append(line)
start = next(i for i, line in enumerate(lines) if line.startswith('Phases, medians'))
for line in lines[start + 1:]:
    bars.append(line)
    if 'startup' in line: break
# a `*` marks a row that something outside of the program slows down
name = lambda line: line.split(' ')[0].rstrip('*')
block = [line for line in bars if name(line) in BARS] + [bars[-1], ''] + head
block += [line for line in rows if name(line) in ROWS]
text = open('README.md').read()
text = re.sub(r'```text\n.*?\n```', lambda _: '```text\n' + '\n'.join(block) + '\n```', text, count=1, flags=re.S)
open('README.md', 'w').write(text)
