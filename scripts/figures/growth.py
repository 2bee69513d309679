#!/usr/bin/env python3
"""growth.py RESULTS [--most N] [--only COMMAND]: time and memory against the size of what is observed.

Runs a program of N threads or N processes, alone and under `bench`, `trace` and `watch` with each backend, and traces a program of
N system calls. RESULTS/growth.json gets the wall time and the peak memory of firstbyte for each N, with the load average
beside it, and the processor time of firstbyte and of the program, or why there are none. With --only, the rows of a recorded file that are measured again are replaced. Needs root, gcc,
and FIRSTBYTE (default: the release build of the checkout)."""
import argparse, json, os, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 300
CALLS = '''#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int words, char **word)
{
	for (long left = words > 1 ? atol(word[1]) : 0; left > 0; left--)
		close(-1);
	puts("hello");
	return 0;
}
'''

def firstbyte():
    host = next(line[6:] for line in subprocess.check_output(['rustc', '-vV'], text=True).splitlines() if line.startswith('host: '))
    return os.environ.get('FIRSTBYTE', os.path.abspath(f'{HERE}/../../target/{host}/release/firstbyte'))

def measured(words):
    """Wall and processor time in seconds and peak memory in MiB, or why there are none."""
    began = time.monotonic()
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    status = None
    while time.monotonic() - began < LIMIT:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            break
        time.sleep(0.002)
    else:
        os.killpg(child.pid, 9)
        os.wait4(child.pid, 0)
        return {'failed': f'more than {LIMIT} s'}
    wall = time.monotonic() - began
    processor = usage.ru_utime + usage.ru_stime
    return {'seconds': wall, 'processor': processor, 'mib': usage.ru_maxrss / 1024} if status == 0 else {'failed': 'failed'}

def cases(tool, many, calls):
    """Name, sizes, and the command for a size."""
    once = ['bench', '--runs', '1', '--warmup', '0', '--no-counts']
    sizes = [1000, 2000, 5000, 10000, 20000]
    for kind in ['threads', 'processes']:
        yield f'{kind}, alone', sizes, lambda n, kind=kind: [many, kind, str(n)]
        for backend in ['bpf', 'ptrace', 'pipe']:
            yield f'{kind}, bench by {backend}', sizes, lambda n, kind=kind, backend=backend: [tool, *once, '--backend', backend, f'{many} {kind} {n}']
        for backend in ['bpf', 'ptrace']:
            yield f'{kind}, trace by {backend}', sizes, lambda n, kind=kind, backend=backend: [tool, 'trace', '--quick', '--backend', backend, '--', many, kind, str(n)]
            yield f'{kind}, watch by {backend}', sizes, lambda n, kind=kind, backend=backend: [tool, 'watch', '--backend', backend, '--', many, kind, str(n)]
    yield 'system calls, trace by bpf', [100000, 200000, 500000, 1000000], lambda n: [tool, 'trace', '--runs', '1', '--backend', 'bpf', '--', calls, str(n)]

def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument('results')
    asked.add_argument('--most', type=int, default=10**9)
    asked.add_argument('--only', default='')
    asked = asked.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        with open(f'{folder}/calls.c', 'w') as file:
            file.write(CALLS)
        for name, source in [('many', f'{HERE}/../../tests/tracees/many.c'), ('calls', f'{folder}/calls.c')]:
            subprocess.check_call(['gcc', '-O2', '-pthread', '-o', f'{folder}/{name}', source])
        for name, sizes, command in cases(firstbyte(), f'{folder}/many', f'{folder}/calls'):
            if asked.only not in name:
                continue
            row = {'name': name, 'sizes': {}}
            for n in (n for n in sizes if n <= asked.most):
                row['sizes'][str(n)] = at = {**measured(command(n)), 'load': os.getloadavg()[0]}
                print(f'{name}: {n}: {at}', file=sys.stderr)
                if 'failed' in at:
                    break
            rows.append(row)
    write(f'{asked.results}/growth.json', rows)

def write(path, rows):
    """The rows, in the place of those of a recorded file that have the same names."""
    fresh = {row['name']: row for row in rows}
    recorded = json.load(open(path)) if os.path.exists(path) else []
    kept = [fresh.pop(row['name'], row) for row in recorded]
    with open(path, 'w') as file:
        json.dump([*kept, *fresh.values()], file, indent=1)

main()
