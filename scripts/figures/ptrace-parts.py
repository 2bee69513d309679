#!/usr/bin/env python3
"""ptrace-parts.py FIRSTBYTE RESULT [--runs N] [--only NAME;…]: the parts of programs by bpf, and by ptrace as root and as nobody.

Traces each program by each backend in turn and writes a table to RESULT: the total, the untraced runs' median, and how much of the
total is user code with page faults, system calls with waits inside of them, and exec. Needs root, cc, setpriv, and an idle
machine."""
import argparse, json, os, shutil, statistics, subprocess, tempfile

LOOPS = {
    '200,000 close': 'for (int i = 0; i < 200000; i++) close(-1);',
    '50,000 reads of a byte': 'int f = open("/dev/zero", 0); char c; for (int i = 0; i < 50000; i++) read(f, &c, 1);',
    '20,000 failing stat': 'struct stat s; for (int i = 0; i < 20000; i++) stat("/nonexistent/file", &s);',
    '100 forks': 'for (int i = 0; i < 100; i++) { if (!fork()) _exit(0); wait(0); }',
    '300 MB of memory': 'char *m = malloc(300 << 20); for (long i = 0; i < 300 << 20; i += 4096) m[i] = 1;',
    '10 sleeps of 1 ms': 'for (int i = 0; i < 10; i++) usleep(1000);',
    '100 times 0.1 ms of work': 'for (int i = 0; i < 100; i++) { for (volatile int j = 0; j < 50000; j++); close(-1); }',
    'threads': 'pthread_t t[4]; for (int i = 0; i < 4; i++) pthread_create(t + i, 0, work, 0); for (int i = 0; i < 4; i++) pthread_join(t[i], 0);',
}
SOURCE = '''#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
void *work(void *p) { for (int i = 0; i < 100; i++) { for (volatile int j = 0; j < 50000; j++); close(-1); } return 0; }
int main(void) { LOOP write(1, "x", 1); return 0; }
'''
PROGRAMS = {
    'java': ['/usr/bin/java', '--list-modules'],
    'node': ['/usr/bin/node', '-e', 'let n = {}; for (let i = 0; i < 3e6; i++) n[i % 999] = (n[i % 999] | 0) + i; console.log(n[1])'],
    'python': ['/usr/bin/python3', '-c', 'import json'],
    'ruby': ['/usr/bin/ruby', '-e', '1'],
    'perl': ['/usr/bin/perl', '-e', '1'],
    'git': ['/usr/bin/git', '--version'],
    'ls': ['/usr/bin/ls', '-l', '/usr/bin'],
    'gcc': ['/usr/bin/gcc', '-x', 'c', '-c', '-o', '/dev/null', '/dev/null'],
    'bash': ['/usr/bin/bash', '-c', 'for i in 1 2 3 4 5; do /bin/true; done'],
    'make': ['/usr/bin/make', '--version'],
}
USERS = {'root': [], 'nobody': ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']}
WAYS = [('bpf', 'root'), ('ptrace', 'root'), ('ptrace', 'nobody')]


def traced(firstbyte, runs, backend, user, program):
    options = ['-r', str(runs), '--backend', backend, '--no-runtimes', '--clean-env', '--export-json', '-']
    done = subprocess.run([*USERS[user], firstbyte, 'trace', *options, '--', *program], capture_output=True, text=True, cwd='/')
    if done.returncode:
        return None
    return json.loads(done.stdout)['results'][0]


def row(result):
    total = result['corrected_total_ns'] or result['total_ns']
    untraced = statistics.median(result['untraced_times'] or [0])
    parts = {}
    for part in result['attribution']:
        parts[part['kind']] = parts.get(part['kind'], 0) + part['ns']
    user = sum(ns for kind, ns in parts.items() if 'user' in kind or 'fault' in kind)
    execs = parts.get('kernel_exec', 0)
    shares = [100 * ns / result['total_ns'] for ns in (user, result['total_ns'] - user - execs, execs)]
    return f'{total / 1e6:9.3f} {untraced * 1e3:9.3f} ' + ' '.join(f'{share:6.1f}' for share in shares)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('firstbyte')
    parser.add_argument('result')
    parser.add_argument('--runs', type=int, default=20)
    parser.add_argument('--only', default='')
    given = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder, open(given.result, 'w') as result:
        os.chmod(folder, 0o755)
        firstbyte = shutil.copy(given.firstbyte, folder)
        programs = dict(PROGRAMS)
        for name, loop in LOOPS.items():
            path = f'{folder}/{name.replace(" ", "-").replace(",", "")}'
            subprocess.run(['cc', '-O1', '-pthread', '-x', 'c', '-', '-o', path], input=SOURCE.replace('LOOP', loop), text=True, check=True)
            programs[name] = [path]
        print(f'{"program":26} {"backend":7} {"user":6}  total/ms  untraced   user% calls% exec%', file=result)
        for name, program in programs.items():
            if given.only and name not in given.only.split(';'):
                continue
            for backend, user in WAYS:
                found = traced(firstbyte, given.runs, backend, user, program)
                print(f'{name:26} {backend:7} {user:6} {row(found) if found else "failed"}', file=result, flush=True)


if __name__ == '__main__':
    main()
