#!/usr/bin/env python3
"""guide.py: runs the commands of docs/guide.md with the release build and writes the lines that they print into the page.

As in tests/integration/guide.rs, a line of three dots stands for any lines, and lines are the same if they differ only
in figures, bars and gaps."""
import os, re, subprocess, sys, tempfile

PAGE = 'docs/guide.md'
BARS = '░█┃▒─━▏▎▍▌▋▊▉·'

def outline(line):
    line = re.sub(f'[{BARS}]+', '█', line.rstrip())
    line = re.sub(r'\d[\d.]*', '0', line)
    return re.sub(r'0 (ns|µs|ms)', '0 s', re.sub(' +', ' ', line))

def aligned(shown, printed):
    """The printed lines in place of the shown ones, or None."""
    if not shown:
        return [] if not any(printed) else None
    first, rest = shown[0], shown[1:]
    if first == '...':
        found = (aligned(rest, printed[skipped:]) for skipped in range(len(printed) + 1))
        lines = next((lines for lines in found if lines is not None), None)
        return lines if lines is None else [first] + lines
    if not printed or outline(printed[0]) != outline(first):
        return None
    lines = aligned(rest, printed[1:])
    return lines if lines is None else [printed[0].rstrip()] + lines

def steps(block):
    """The commands of a block, each with its lines."""
    found = []
    for line in block.splitlines():
        if line.startswith('$ '):
            found.append((line, []))
        else:
            found[-1][1].append(line)
    return found

def run(command, folder):
    environment = os.environ | {'COLUMNS': '80', 'HOME': folder, 'FIRSTBYTE_CACHE': f'{folder}/cache',
                                'PATH': f'{BINARIES}:{os.environ["PATH"]}'}
    result = subprocess.run(['sh', '-c', command], cwd=folder, env=environment, text=True, capture_output=True)
    return (result.stdout + (result.stderr if result.returncode else '')).splitlines()

def renewed(block, folder):
    out = []
    for command, lines in steps(block):
        status = [line for line in lines if line.startswith('$? ')]
        shown = [line for line in lines if line not in status]
        printed = run(command[2:], folder)
        new = aligned(shown, printed)
        if new is None:
            print(f'{PAGE}: the output of `{command}` is no longer what the page shows', file=sys.stderr)
        out += [command] + (shown if new is None else new) + status
    return '\n'.join(out) + '\n'

host = re.search(r'host: (\S+)', subprocess.run(['rustc', '-vV'], text=True, capture_output=True).stdout)[1]
BINARIES = os.path.abspath(f'target/{host}/release')
page = open(PAGE).read()
with tempfile.TemporaryDirectory() as folder:
    page = re.sub(r'(?<=```console\n).*?(?=```)', lambda it: renewed(it[0], folder), page, flags=re.S)
open(PAGE, 'w').write(page)
