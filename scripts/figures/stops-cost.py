#!/usr/bin/env python3
"""stops-cost.py FIRSTBYTE RESULT [--runs N] [--only NAME,…]: what it costs programs to be stopped for samples.

`firstbyte trace` alternates sampled runs with untraced ones and compares the wall times of neighbours. This takes the ratio of
one program in each language, as root and as nobody, and writes it to RESULT. Needs root, setpriv, and an idle machine."""
import argparse, json, os, re, shutil, subprocess, sys, tempfile

GOAL = 1.05  # of an untraced run
# Each takes some tenths of a second, and most of it in its own language.
PROGRAMS = {
    'python': ['/usr/bin/python3', '-c', 'import argparse, asyncio, json; print(sum(i * i for i in range(1000000)))'],
    'node': ['/usr/bin/node', '-e', 'let n = {}; for (let i = 0; i < 3e6; i++) n[i % 999] = (n[i % 999] | 0) + i; console.log(n[1])'],
    'ruby': ['/usr/bin/ruby', '-e', 'n = Hash.new(0); 700000.times { |i| n[i % 999] += i }; puts n[1]'],
    'java': ['/usr/bin/java', '--list-modules'],
    'perl': ['/usr/bin/perl', '-e', 'my %n; $n{$_ % 999} += $_ for 1 .. 1500000; print $n{1}'],
    'bash': ['/usr/bin/bash', '-c', 'f() { for ((i = 0; i < 60000; i++)); do n=$((n + i)); done; }; f; echo $n'],
}
USERS = {'root': [], 'nobody': ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']}


def sampling(user, firstbyte, runs, program):
    """The member `sampling` of the document, or why there is none."""
    words = [*USERS[user], firstbyte, 'trace', '-r', str(runs), '--no-runtimes', '--clean-env', '--export-json', '-', '--', *program]
    done = subprocess.run(words, capture_output=True, text=True, cwd='/')
    if done.returncode:
        return {'missing': done.stderr.strip().splitlines()[0]}
    found = json.loads(done.stdout)['results'][0]['sampling']
    if not found:
        return {'missing': 'this machine does not sample it'}
    return found if found['overhead'] else {'missing': 'too few runs to compare'}


def version(program):
    option = '-version' if program[0].endswith('java') else '--version'
    done = subprocess.run([program[0], option], capture_output=True, text=True)
    number = re.search(r'\d+\.\d+[\w.]*', done.stdout + done.stderr)
    return number[0] if number else ''


def measured(firstbyte, runs, names):
    """By program and user."""
    found = {}
    for name in names:
        program = PROGRAMS[name]
        if not os.path.exists(program[0]):
            print(f'{name}: skipped, there is no {program[0]}')
            continue
        found[name] = {'command': program, 'version': version(program), 'users': {}}
        for user in USERS:
            figures = found[name]['users'][user] = sampling(user, firstbyte, runs, program)
            print(f'{name}, {user}: {shown(figures)}', flush=True)
    return found


def shown(figures):
    if 'missing' in figures:
        return f"skipped, {figures['missing']}"
    ratio = figures['overhead']
    return (f"{ratio['ratio']:.3f} ({ratio['low']:.3f} to {ratio['high']:.3f}), {ratio['pairs']} blocks, "
            f"a sample each {figures['period_ns'] / 1e6:.2f} ms, {figures['samples'] / figures['runs']:.1f} in a run")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('firstbyte')
    parser.add_argument('result')
    parser.add_argument('--runs', type=int, default=40)
    parser.add_argument('--only', default=','.join(PROGRAMS))
    options = parser.parse_args()
    if os.geteuid() or not shutil.which('setpriv'):
        sys.exit('needs root, and setpriv of util-linux to become nobody')

    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # nobody executes it, too
        copy = shutil.copy(options.firstbyte, folder)
        found = measured(copy, options.runs, options.only.split(','))
    with open(options.result, 'w', encoding='utf-8') as file:
        json.dump({'goal': GOAL, 'programs': found}, file, indent=1)


if __name__ == '__main__':
    main()
