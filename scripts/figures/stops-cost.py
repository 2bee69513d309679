#!/usr/bin/env python3
"""Measures what it costs a program to be stopped for samples: the goal is 1.05 of an untraced run.

    scripts/stops-check FIRSTBYTE [--runs N]

`firstbyte trace` alternates sampled runs with untraced ones and compares neighbours, so this prints its figures for some
programs: the median ratio with its interval, the period, and the samples of a run. Needs an idle machine.
"""
import argparse
import json
import shutil
import subprocess

GOAL = 1.05
PROGRAMS = [
    ['python3', '-c', 'import asyncio, json, argparse; print(1)'],
    ['node', '-e', 'console.log(1)'],
    ['ruby', '-e', 'puts 1'],
]


def sampling(firstbyte, runs, program):
    words = [firstbyte, 'trace', '-r', str(runs), '--no-runtimes', '--export-json', '-', '--', *program]
    document = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return document['results'][0]['sampling']


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('firstbyte')
    parser.add_argument('--runs', type=int, default=40)
    options = parser.parse_args()

    missed = 0
    for program in PROGRAMS:
        if not shutil.which(program[0]):
            print(f'{program[0]}: skipped, it is not installed')
            continue
        found = sampling(options.firstbyte, options.runs, program)
        if not found or not found['overhead']:
            print(f'{program[0]}: skipped, this machine does not sample it')
            continue
        ratio = found['overhead']
        missed += ratio['low'] > GOAL
        print(f"{program[0]}: {ratio['ratio']:.3f} ({ratio['low']:.3f} to {ratio['high']:.3f}), {ratio['pairs']} blocks, "
              f"a sample each {found['period_ns'] / 1e6:.2f} ms, {found['samples'] / found['runs']:.1f} in a run")
    raise SystemExit(missed > 0)


if __name__ == '__main__':
    main()
