#!/usr/bin/env python3
"""What `firstbyte inspect` predicts, beside what strace and perf count.

    inspect-accuracy.py FILE   writes the counts of the corpus (which `firstbyte showdown` has built) and of /usr/bin as JSON

Needs strace and perf, and no idle machine. R is the release binary. With a bound that is exceeded, or an estimate that is
further from the mean than 10 % (or than half a fault, to which it is rounded), it says so and ends with status 1.
"""
import json, os, re, statistics, subprocess, sys, tempfile

R = os.path.abspath(os.environ.get('R') or subprocess.check_output(
    "echo target/$(rustc -vV | sed -n 's/^host: //p')/release/firstbyte", shell=True, text=True).strip())
RUNS = 201
CACHE = os.path.join(os.environ.get('FIRSTBYTE_CACHE') or os.path.expanduser('~/.cache/firstbyte'), 'corpus')
ENVIRONMENT = {'PATH': '/usr/local/bin:/usr/bin:/bin', 'HOME': '/sys/nonexistent', 'LANG': 'C.UTF-8'}
# Programs of /usr/bin that end by themselves. The number of their calls is the same in each run.
SYSTEM = ['true', 'echo hello', 'uname', 'env', 'ls /', 'cat /dev/null', 'id', 'date', 'expr 1 + 1', 'printf x', 'dash -c :',
          'bash -c :', 'sed --version', 'grep --version', 'gawk --version', 'mawk 1', 'find /dev/null', 'sort /dev/null',
          'tar --version', 'gzip --version', 'xz --version', 'make --version', 'gcc --version', 'as --version',
          'ld --version', 'objdump --version', 'git --version', 'ssh -V', 'curl --version', 'perl -e 1', 'perl --version',
          'node --version', 'free --version', 'gdb --version', 'strace --version', 'basename x']

def commands():
    """(name, folder, arguments)"""
    for name in sorted(os.listdir(CACHE)):
        builds = [os.path.join(CACHE, name, it) for it in os.listdir(os.path.join(CACHE, name)) if not it.startswith('.')]
        builds = [it for it in builds if os.path.isfile(os.path.join(it, 'test'))]
        if builds:
            yield name, max(builds, key=os.path.getmtime), ['./test']
    for command in SYSTEM:
        words = command.split()
        if os.path.exists('/usr/bin/' + words[0]):
            yield command, '/', ['/usr/bin/' + words[0]] + words[1:]

def run(arguments, folder, **more):
    return subprocess.run(arguments, cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL, timeout=60, **more)

def traced(arguments, folder):
    with tempfile.NamedTemporaryFile('r', errors='replace') as trace:
        run(['strace', '-f', '-qq', '-e', 'signal=none', '-o', trace.name] + arguments, folder, capture_output=True)
        lines = trace.read().splitlines()
    return sum(1 for line in lines if ' resumed>' not in line and '+++' not in line)

def faults(arguments, folder):
    counts = []
    for _ in range(RUNS):
        shown = run(['perf', 'stat', '-x,', '-e', 'page-faults'] + arguments, folder, capture_output=True).stderr
        counts.append(int(re.search(r'^(\d+),,page-faults', shown.decode(errors='replace'), re.M)[1]))
    return sorted(counts)

def measured(name, folder, arguments):
    shown = run([R, 'inspect', '--json', '--counts-only', arguments[0]], folder, stdout=subprocess.PIPE).stdout
    document = json.loads(shown)
    prediction = document['results'][0]['file']['prediction']
    counts = faults(arguments, folder)
    return {'name': name, 'is_minimum': bool(prediction['minimum_because']),
            'syscalls': {'predicted': prediction['syscalls'], 'traced': traced(arguments, folder)},
            'page_faults': {'predicted': prediction['page_faults'], 'mean': statistics.mean(counts),
                            'least': counts[0], 'most': counts[-1]}}, document

def is_right(row):
    calls, faults = row['syscalls'], row['page_faults']
    if row['is_minimum']:
        return calls['predicted'] <= calls['traced'] and faults['predicted'] <= faults['least']
    return calls['predicted'] == calls['traced'] and abs(faults['predicted'] - faults['mean']) <= max(faults['mean'] / 10, .5)

def measure(file):
    rows, head = [], {}
    for command in commands():
        row, document = measured(*command)
        head = {key: document[key] for key in ('schema', 'tool', 'machine')}
        rows.append(row)
        print(row['name'], '' if is_right(row) else f'WRONG {row}', file=sys.stderr)
    json.dump({**head, 'kind': 'inspect-accuracy', 'runs': RUNS, 'results': rows}, open(file, 'w'))
    wrong = sum(not is_right(row) for row in rows)
    print(f'{len(rows)} programs, {wrong} wrong', file=sys.stderr)
    return wrong

if len(sys.argv) != 2:
    sys.exit(__doc__)
sys.exit(1 if measure(sys.argv[1]) else 0)
