#!/usr/bin/env python3
"""marks-cost.py FIRSTBYTE: how much longer runs take by bpf where marks are looked for (`bench --marks`) in programs that have none.

Each round benches a program with and without `--marks`, in alternating order; prints the median and the middle half of the ratios of
medians. Needs an idle machine."""
import json, statistics, subprocess, sys

PROGRAMS = ['/bin/true', 'ruby -e 1', 'python3 -S -c 1']
ROUNDS, RUNS = 11, 150


def median(firstbyte, marks, program):
    words = [firstbyte, 'bench', '--backend', 'bpf', '-r', str(RUNS), '-w', '3', '--no-counts', '--no-overhead', *marks, '--export-json', '-', program]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)['results'][0]['median']


for program in PROGRAMS:
    ratios = []
    for turn in range(ROUNDS):
        kinds = [['--marks'], []][::1 if turn % 2 else -1]
        took = {bool(kind): median(sys.argv[1], kind, program) for kind in kinds}
        ratios.append(took[True] / took[False])
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f'{program:<18} {middle:.3f}  {low:.3f} to {high:.3f}')
