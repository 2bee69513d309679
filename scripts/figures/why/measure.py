#!/usr/bin/env python3
"""measure.py trace|expert FOLDER RESULTS [--only REGEX] [--seconds N] [--again]

Measures the commands of commands.toml: `trace` with `firstbyte trace`, `expert` with perf, strace and the runtimes' own
reports. FOLDER is that of install.sh and fixtures.sh. RESULTS gets trace.json or expert.json. Commands that are in there
already are left out, so an interrupted measurement continues where it stopped. After --seconds it stops by itself."""
import argparse, collections, json, os, re, shlex, shutil, signal, subprocess, sys, tempfile, time, tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
RUNS = 10            # of `perf stat`
LONGEST = 60         # seconds for one tool

def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument('part', choices=['trace', 'expert'])
    parser.add_argument('folder')
    parser.add_argument('results')
    parser.add_argument('--only', default='')
    parser.add_argument('--seconds', type=float, default=float('inf'))
    parser.add_argument('--again', action='store_true')
    return parser.parse_args()

def environment(folder):
    """The same small environment for all, so that the caller's variables are no causes."""
    here = [part for part in os.environ['PATH'].split(':') if '.pyenv' not in part]
    env = {'PATH': ':'.join(dict.fromkeys(here)), 'HOME': f'{folder}/home', 'LANG': 'C.UTF-8', 'TERM': 'dumb', 'W': folder}
    home = os.path.expanduser('~')
    env |= {name: os.environ.get(name, f'{home}/{place}') for name, place in
            (('RUSTUP_HOME', '.rustup'), ('CARGO_HOME', '.cargo'), ('PYENV_ROOT', '.pyenv'))}
    return env

def expanded(text, env):
    return re.sub(r'\$(\w+)', lambda m: env.get(m[1], ''), text)

def of_command(command, base):
    env = dict(base)
    for name, value in command.get('env', {}).items():
        env[name] = expanded(value, env)
    return shlex.split(expanded(command['run'], env)), env

def missing(words, env, cwd):
    """The program or script of the command, if it is not there."""
    for place, word in enumerate(words[:2]):
        if word.startswith('-') or (place and not word.startswith('/')): break
        here = os.path.join(cwd, word) if '/' in word else word
        if not (shutil.which(here, path=env['PATH']) or os.path.exists(here)):
            return word
    return None

def ran(words, env, cwd, seconds=LONGEST):
    """The exit status, stdout and stderr; everything that it started ends with it."""
    process = subprocess.Popen(words, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0)
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
    return process.returncode, out.decode(errors='replace'), err.decode(errors='replace')

def trace(command, words, env, cwd, firstbyte):
    with tempfile.NamedTemporaryFile(suffix='.json') as file:
        options = shlex.split(command.get('options', ''))
        began = time.monotonic()
        status, out, err = ran([firstbyte, 'trace', '--export-json', file.name, *options, '--', *words], env, cwd)
        took = time.monotonic() - began
        text = open(file.name).read()
    if not text:
        return {'status': status, 'error': err.strip()[-400:], 'took': round(took, 1)}
    result = json.loads(text)['results'][0]
    median = lambda phase: (result['phases'].get(phase) or {}).get('median')
    return {'status': status, 'took': round(took, 1), 'total_ns': median('total'), 'first_byte_ns': median('first_byte'),
            'findings': [{key: finding.get(key) for key in ('rule', 'costs_ns', 'saves_ns', 'within', 'text')} for finding in result.get('findings', [])]}

def stat(words, env, cwd):
    """Wall time: mean and deviation of RUNS runs, fewer of a long command; ns."""
    began = time.monotonic()
    ran(words, env, cwd)
    runs = RUNS if time.monotonic() - began < 0.3 else 3
    _, _, err = ran(['perf', 'stat', '-r', str(runs), *words], env, cwd)
    found = re.search(r'([\d.]+) \+- ([\d.]+) seconds time elapsed', err)
    return [round(float(part) * 1e9) for part in found.groups()] if found else None

def perf(words, env, cwd):
    """Shares of the samples by program and file, and by function, in percent."""
    with tempfile.TemporaryDirectory() as folder:
        data = f'{folder}/perf.data'
        ran(['perf', 'record', '-q', '-F', '9999', '-e', 'cpu-clock', '-o', data, '--', *words], env, cwd)
        def report(keys, most):
            _, out, _ = ran(['perf', 'report', '-i', data, '--stdio', '-q', '--sort', keys, '-t', '\t'], env, cwd)
            rows = [[part.strip() for part in line.split('\t')] for line in out.splitlines()]
            return [[float(row[0].rstrip('%')), *row[1:]] for row in rows[:most] if row[0].endswith('%')]
        return {'modules': report('comm,dso', 10), 'functions': report('dso,sym', 12)}

def calls(words, env, cwd):
    """`strace -f -c`: the calls that take longest and those made most often."""
    with tempfile.NamedTemporaryFile('r') as file:
        ran(['strace', '-f', '-c', '-U', 'name,calls,errors,time-total', '-o', file.name, *words], env, cwd)
        rows = [line.split() for line in file.read().splitlines()]
    rows = [row for row in rows if len(row) in (3, 4) and row[1].isdigit()]
    rows = [[row[0], int(row[1]), int(row[2]) if len(row) == 4 else 0, float(row[-1])] for row in rows if row[0] != 'total']
    return {'all': sum(row[1] for row in rows), 'failed': sum(row[2] for row in rows), 'calls': sorted(rows, key=lambda row: -row[1])[:8]}

def programs(words, env, cwd):
    """`strace -f --seccomp-bpf -e execve`: each program, and from its exec to its end or next exec, ns."""
    with tempfile.NamedTemporaryFile('r') as file:
        ran(['strace', '-f', '--seccomp-bpf', '-ttt', '-e', 'trace=execve', '-e', 'signal=none', '-o', file.name, *words], env, cwd)
        lines = file.read().splitlines()
    running, ended, failed = {}, [], 0
    for line in lines:
        found = re.match(r'(\d+) +([\d.]+) (.*)', line)
        if not found: continue
        pid, at, what = found[1], float(found[2]), found[3]
        if what.startswith('execve(') and what.endswith(' = 0'):
            if pid in running: ended.append([*running[pid], at])
            running[pid] = [os.path.basename(what.split('"')[1]), at]
        elif what.startswith('execve('): failed += 1
        elif (what.startswith('+++') or 'resumed>' in what) and pid in running:
            if what.startswith('+++'): ended.append([*running.pop(pid), at])
    first = min((begin for _, begin, _ in ended), default=0)
    ended.sort(key=lambda row: row[1])
    return {'programs': [[name, round((begin - first) * 1e9), round((end - begin) * 1e9)] for name, begin, end in ended][:40], 'failed': failed}

def linking(words, env, cwd):
    """`LD_DEBUG=statistics` of the first program: relocations, and the loader's part of the start-up up to main."""
    with tempfile.TemporaryDirectory() as folder:
        ran(words, env | {'LD_DEBUG': 'statistics', 'LD_DEBUG_OUTPUT': f'{folder}/ld'}, cwd)
        files = sorted(os.path.join(folder, name) for name in os.listdir(folder))
        text = max((open(name, errors='replace').read() for name in files), key=len, default='')
    number = lambda what: int((re.findall(what + r': +(\d+)', text) or [0])[0])
    return {'relocations': number('number of relocations'), 'relative': number('number of relative relocations'),
            'cycles': number('total startup time in dynamic loader')} if 'number of relocations' in text else None

def imports(words, env, cwd):
    """`python -X importtime`: modules, the sum of their own times, and the modules that take longest with all that they import."""
    _, _, err = ran(words, env | {'PYTHONPROFILEIMPORTTIME': '1'}, cwd)
    rows = [re.match(r'import time: +(\d+) \| +(\d+) \| ( *)(\S+)', line) for line in err.splitlines()]
    rows = [(int(row[1]), int(row[2]), row[4]) for row in rows if row]
    longest = sorted(rows, key=lambda row: -row[1])[:25]
    return {'modules': len(rows), 'us': sum(row[0] for row in rows), 'longest': [[name, total] for _, total, name in longest]}

def cpu_profile(words, env, cwd):
    """`node --cpu-prof`: the parts of all samples whose stack has a package, in percent; `(node)` for Node's own modules."""
    with tempfile.TemporaryDirectory() as folder:
        node = ['node', '--cpu-prof', f'--cpu-prof-dir={folder}', '--cpu-prof-interval', '200']
        words = words[1:] if words[0] == 'node' else [shutil.which(words[0], path=env['PATH']), *words[1:]]
        ran([*node, *words], env, cwd)
        files = [f'{folder}/{name}' for name in os.listdir(folder)]
        if not files: return None
        profile = json.load(open(max(files, key=os.path.getsize)))
    nodes = {node['id']: node for node in profile['nodes']}
    parent = {child: node['id'] for node in profile['nodes'] for child in node.get('children', [])}
    def package(node):
        url = node['callFrame']['url']
        if url.startswith('node:'): return '(node)'
        return (re.findall(r'node_modules/((?:@[^/]+/)?[^/]+)', url) or [url and os.path.basename(url)])[-1]
    packages = collections.Counter()
    for sample, delta in zip(profile['samples'], profile['timeDeltas']):
        stack = set()
        while sample in nodes:
            stack.add(package(nodes[sample]) or nodes[sample]['callFrame']['functionName'])
            sample = parent.get(sample)
        packages.update({name: delta for name in stack})
    total = sum(profile['timeDeltas'])
    return {'ms': round(total / 1000, 1), 'packages': [[name, round(100 * time / total, 1)] for name, time in packages.most_common(14) if name != '(root)']}

def own(command, env, cwd):
    """The runtime's own report: the lines that `evidence` asks for, and what they say."""
    script = expanded(command['own'], env)
    _, out, err = ran(['bash', '-c', script], env, cwd)
    lines = (out + '\n' + err).splitlines()
    asked = re.findall(r'\{own:((?:[^{}]|\{\d*,?\d*\})+)\}', command.get('evidence', ''))
    found = {pattern: next((line.strip() for line in lines if re.search(pattern, line)), None) for pattern in asked}
    return {'found': found, 'lines': len(lines)}

def expert(command, words, env, cwd, _):
    if 'options' in command:
        words = ['timeout', '2', *words]
    result = {'perf': perf(words, env, cwd), 'strace': calls(words, env, cwd), **programs(words, env, cwd), 'linking': linking(words, env, cwd)}
    if 'options' not in command:
        result['stat'] = stat(words, env, cwd)
    if 'without' in command:
        result['without'] = stat(['env', *shlex.split(expanded(command['without'], env))], env, cwd)
    if command.get('imports'):
        result['imports'] = imports(words, env, cwd)
    if command.get('cpu_profile'):
        result['cpu_profile'] = cpu_profile(words, env, cwd)
    if 'own' in command:
        result['own'] = own(command, env, cwd)
    return result

def machine(folder):
    """What the figures depend on."""
    cpu = open('/proc/cpuinfo').read()
    field = lambda name: (re.findall(rf'{name}\s*: (.*)', cpu) or ['0'])[0]
    return {'processor': field('model name'), 'processors': os.cpu_count(), 'kernel': os.uname().release, 'folder': folder}

def main():
    options = arguments()
    began = time.monotonic()
    commands = tomllib.load(open(f'{HERE}/commands.toml', 'rb'))['command']
    os.makedirs(options.results, exist_ok=True)
    place = f'{options.results}/{options.part}.json'
    done = json.load(open(place)) if os.path.exists(place) else {}
    base = environment(os.path.abspath(options.folder))
    firstbyte = os.environ.get('FIRSTBYTE') or shutil.which('firstbyte')
    cwd = f'{base["W"]}/work'
    json.dump(machine(base['W']), open(f'{options.results}/machine.json', 'w'))
    left = 0
    for command in commands:
        name = command.get('name', command['run'])
        if not re.search(options.only, name) or (name in done and not options.again and not done[name].get('error')):
            continue
        if time.monotonic() - began > options.seconds:
            left += 1
            continue
        words, env = of_command(command, base)
        absent = missing(words, env, cwd)
        measure = trace if options.part == 'trace' else expert
        done[name] = {'skipped': f'`{os.path.basename(absent)}` is not on this machine'} if absent else measure(command, words, env, cwd, firstbyte)
        print(f'{time.monotonic() - began:6.1f} s  {name}', flush=True)
        names = [c.get('name', c['run']) for c in commands]
        ordered = {n: done[n] for n in names if n in done}
        with open(place, 'w') as file:
            file.write('{\n' + ',\n'.join(f'{json.dumps(n, ensure_ascii=False)}: {json.dumps(v, ensure_ascii=False, separators=(",", ":"))}' for n, v in ordered.items()) + '\n}\n')
    if left:
        print(f'{left} are left: run it again')

main()
