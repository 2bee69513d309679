#!/usr/bin/env python3
"""cost.py RESULTS [--only WORK] [--tools NAME,…] [--rounds N] [--seconds N]: what watching costs.

Measures the wall time of each piece of work alone and beside each tool, in random order in each round: a C build by make, a
configure script by autoconf, and, while the whole machine is watched, two programs that execute nothing. Tools that are not
installed are left out. RESULTS/watch-cost.json gets every time, and the ratios of times of the same round: the median with
its 95 % bootstrap interval. A round during which other programs used more than a twentieth of the processors is repeated;
`disturbed` counts these. Rounds that are there already are kept, so it can be called again until each tool (or those of
--tools) has enough rounds. After --seconds it stops by itself. Needs root, gcc, make, autoconf, and FIRSTBYTE (default: the
release build of the checkout)."""
import argparse, json, os, platform, random, resource, shutil, signal, statistics, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = 100          # of the C build
NULL = {'stdin': subprocess.DEVNULL, 'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}

def firstbyte():
    host = next(line[6:] for line in subprocess.check_output(['rustc', '-vV'], text=True).splitlines() if line.startswith('host: '))
    return os.environ.get('FIRSTBYTE', os.path.abspath(f'{HERE}/../../target/{host}/release/firstbyte'))

# The work. Each has a function that prepares a folder, and the command that is timed there.

def c_build(folder):
    """Each file is about as much work for the compiler as a small one of a real program."""
    for n in range(FILES):
        functions = ''.join(f'''
int f{n}_{k}(const char *text, int base) {{
    char room[64]; int sum = base;
    for (const char *c = text; *c; c++) sum = sum * 31 + (*c ^ {k});
    snprintf(room, sizeof room, "%d", sum);
    return sum % {k + 2} ? (int)strlen(room) : f{n}_{max(k - 1, 0)}(text + 1, sum);
}}''' for k in range(20))
        with open(f'{folder}/f{n}.c', 'w') as file:
            file.write('#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n' + functions + '\n')
    objects = ' '.join(f'f{n}.o' for n in range(FILES))
    with open(f'{folder}/Makefile', 'w') as file:
        file.write(f'CFLAGS = -O1\nlib.a: {objects}\n\tar rc $@ $^\nclean:\n\trm -f *.o lib.a\n')

HEADERS = 'fcntl.h inttypes.h limits.h locale.h netdb.h stddef.h stdint.h sys/socket.h sys/time.h termios.h wchar.h'
FUNCTIONS = 'dup2 getcwd gethostname gettimeofday localtime_r memmove mkdir select socket strchr strdup strerror strtol uname'

def configure(folder):
    with open(f'{folder}/configure.ac', 'w') as file:
        file.write(f'AC_INIT([watched], [1])\nAC_PROG_CC\nAC_PROG_INSTALL\nAC_CHECK_HEADERS([{HEADERS}])\nAC_TYPE_SIZE_T\n'
                   f'AC_CHECK_FUNCS([{FUNCTIONS}])\nAC_CONFIG_FILES([out])\nAC_OUTPUT\n')
    for name, text in (('out.in', '@CC@\n'), ('install-sh', '#!/bin/sh\n')):
        with open(f'{folder}/{name}', 'w') as file: file.write(text)
    subprocess.run(['autoconf'], cwd=folder, check=True, **NULL)

def other(folder):
    with open(f'{folder}/data', 'wb') as file: file.write(random.Random(1).randbytes(1 << 20) * 48)

def nothing(folder): pass

# name: (preparation, what puts the folder back into its first state, command, the limit of the slowdown, whole machine)
WORK = {
    'C build (make -j2, 100 files)': (c_build, ['make', '-s', 'clean'], ['make', '-s', '-j2'], 1.02, False),
    'configure (by autoconf)': (configure, ['rm', '-f', 'config.status', 'config.cache', 'config.log', 'out'], ['sh', './configure', '-q'], 1.05, False),
    'another program (gzip), no execs': (other, None, ['gzip', '-1', '-c', 'data'], 1.01, True),
    'another program (dd), a million calls': (nothing, None, ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=512', 'count=500000'], None, True),
}

# The tools: words in front of the command, or a program that runs beside it.

def tools(machine):
    """name: (words, whether they run the command, what the tool says when it is ready)"""
    own = firstbyte()
    all_ = {'alone': ([], True, None)}
    if machine:
        all_['firstbyte watch'] = ([own, 'watch', '--json'], False, None)
        all_['firstbyte watch --first-output'] = ([own, 'watch', '--first-output', '--json'], False, None)
        all_['perf trace -s -a'] = (['perf', 'trace', '-s', '-a', '-o', '/dev/null'], False, None)
    else:
        all_['firstbyte watch'] = ([own, 'watch', '--json', '--'], True, None)
        all_['firstbyte watch --first-output'] = ([own, 'watch', '--first-output', '--json', '--'], True, None)
        all_['firstbyte watch --backend ptrace'] = ([own, 'watch', '--json', '--backend', 'ptrace', '--'], True, None)
        all_['strace -f -c'] = (['strace', '-f', '-c', '-o', '/dev/null'], True, None)
        all_['perf trace -s'] = (['perf', 'trace', '-s', '-o', '/dev/null'], True, None)
    all_['execsnoop (bcc)'] = (['execsnoop-bpfcc'], False, 'PCOMM')
    all_['execsnoop (bpftrace)'] = (['execsnoop.bt'], False, 'TIME')
    return {name: tool for name, tool in all_.items() if not tool[0] or shutil.which(tool[0][0])}

def beside(words, ready):
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if not ready:
        time.sleep(1.5)
        return process
    os.set_blocking(process.stdout.fileno(), False)
    said, until = b'', time.monotonic() + 20
    while ready.encode() not in said:
        if process.poll() is not None or time.monotonic() > until: raise RuntimeError(f'{words[0]} does not work here')
        said += process.stdout.read() or b''
        time.sleep(0.05)
    os.set_blocking(process.stdout.fileno(), True)
    time.sleep(0.5)
    return process

def processor_time():
    """Of the machine and of our children that have ended, in seconds, as the kernel counts it."""
    machine = [int(part) for part in open('/proc/stat').readline().split()[1:8]]
    ours = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (sum(machine) - machine[3] - machine[4]) / os.sysconf('SC_CLK_TCK'), ours.ru_utime + ours.ru_stime

def is_disturbed(began, seconds):
    """Whether others had too much of the processors since then."""
    machine, ours = (after - before for after, before in zip(processor_time(), began))
    return machine - ours > seconds * os.cpu_count() / 20 + 0.05

def wait_for_rest(until):
    """Until others use little for half a second."""
    while time.monotonic() < until:
        began = processor_time()
        time.sleep(0.5)
        if not is_disturbed(began, 0.5): return

def timed(command, folder, tool):
    words, runs_it, ready = tool
    other_process = None if runs_it else beside(words, ready)
    drained = other_process and subprocess.Popen(['cat'], stdin=other_process.stdout, stdout=subprocess.DEVNULL)
    began = time.monotonic_ns()
    status = subprocess.run((words if runs_it else []) + command, cwd=folder, **NULL).returncode
    took = time.monotonic_ns() - began
    if other_process:
        if other_process.poll() is not None: raise RuntimeError(f'{words[0]} has ended early')
        other_process.send_signal(signal.SIGINT)
        other_process.wait()
        drained.wait()
    if status: raise RuntimeError(f'{" ".join(words + command)}: status {status}')
    return took

def interval(values, seed=1):
    chance = random.Random(seed)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(2000))
    return [medians[50], medians[1949]]

def summary(rounds):
    names = list(dict.fromkeys(name for one in rounds for name in one))
    result = {}
    for name in names:
        times = [one[name] for one in rounds if name in one]
        result[name] = {'median_ns': statistics.median(times)}
        if name != 'alone':
            ratios = [one[name] / one['alone'] for one in rounds if name in one]
            result[name] |= {'ratio': statistics.median(ratios), 'interval': interval(ratios)}
    return result

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('results')
    parser.add_argument('--only', default='')
    parser.add_argument('--tools', type=lambda names: names.split(','))
    parser.add_argument('--rounds', type=int, default=15)
    parser.add_argument('--seconds', type=float, default=float('inf'))
    asked = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job, and all that it starts, ignore it
    path, until = f'{asked.results}/watch-cost.json', time.monotonic() + asked.seconds
    found = json.load(open(path)) if os.path.exists(path) else {'work': {}}
    found['machine'] = {'kernel_release': platform.release(), 'cores': os.cpu_count(),
                        'cpu_model': next((l.split(': ')[1].strip() for l in open('/proc/cpuinfo') if l.startswith('model name')), platform.machine())}
    for name, (prepare, reset, command, limit, machine) in WORK.items():
        if asked.only not in name: continue
        kept = found['work'].setdefault(name, {'command': ' '.join(command), 'limit': limit, 'rounds': [], 'left_out': {}})
        with tempfile.TemporaryDirectory() as folder:
            prepare(folder)
            subprocess.run(command, cwd=folder, **NULL) # the files are in memory
            longest = 0
            while time.monotonic() + longest < until:
                wait_for_rest(until)
                began, times, used = time.monotonic(), {}, processor_time()
                lacks = lambda tool: sum(tool in one for one in kept['rounds']) < asked.rounds and tool in (asked.tools or [tool])
                available = [tool for tool in tools(machine).items() if tool[0] not in kept['left_out'] and (tool[0] == 'alone' or lacks(tool[0]))]
                if len(available) < 2: break
                for tool, how in random.sample(available, len(available)):
                    if reset: subprocess.run(reset, cwd=folder, **NULL)
                    try: times[tool] = timed(command, folder, how)
                    except RuntimeError as error: kept['left_out'][tool] = str(error)
                longest = max(longest, time.monotonic() - began)
                if is_disturbed(used, time.monotonic() - began):
                    kept['disturbed'] = kept.get('disturbed', 0) + 1
                    continue
                kept['rounds'].append(times)
                kept['summary'] = summary(kept['rounds'])
                with open(path, 'w') as file: json.dump(found, file, indent=None, separators=(',', ':'))
        for tool, figures in kept.get('summary', {}).items():
            print(f"{name}: {tool}: {figures['median_ns'] / 1e9:.3f} s", f"{figures['ratio']:.3f} ({figures['interval'][0]:.3f} to {figures['interval'][1]:.3f})" if 'ratio' in figures else '')

main()
