#!/usr/bin/env python3
"""promises.py FIRSTBYTE RESULTS [--only REGEX] [--runs N] [--again]

Measures whether findings keep their word: for each case of promises.toml it traces the command `with` the cause, and then
measures, in alternating runs, the command with the cause and the one `without` it. RESULTS gets promises.json: what the
finding promises (`saves_ns`), what it costs, and what removing the cause saved. Cases that are in there already are left
out, so an interrupted measurement continues where it stopped."""
import argparse, json, os, re, shutil, statistics, subprocess, sys, tempfile, tomllib

HERE = os.path.dirname(os.path.abspath(__file__))

def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument('firstbyte')
    parser.add_argument('results')
    parser.add_argument('--only', default='')
    parser.add_argument('--runs', type=int, default=40)
    parser.add_argument('--again', action='store_true')
    return parser.parse_args()

def environment(folder):
    """A small one, so that the caller's variables are no causes."""
    path = ':'.join(part for part in os.environ['PATH'].split(':') if '.pyenv' not in part)
    python = os.environ.get('PYTHON') or shutil.which('python3', path=path) or sys.executable
    return {'PATH': path, 'HOME': folder, 'LANG': 'C.UTF-8', 'D': folder, 'PYTHON': python,
            'NAMED_PYTHON': os.environ.get('NAMED_PYTHON', python)}

def document(words, env, cwd):
    with tempfile.NamedTemporaryFile(suffix='.json') as file:
        done = subprocess.run([*words[:2], '--export-json', file.name, *words[2:]], env=env, cwd=cwd,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
        text = open(file.name).read()
    if not text:
        raise RuntimeError(f'{words}: {done.stderr.strip()[-400:]}')
    return json.loads(text)

def expanded(text, env):
    return re.sub(r'\$(\w+)', lambda found: env.get(found[1], found[0]), text)

def of_side(case, side, env):
    """The command of a side. Its variables are set by `env`'s own exec only if the case says so; else they are firstbyte's."""
    variables = {name: expanded(value, env) for name, value in case.get(f'{side}_env', {}).items()}
    return expanded(case[side], env), variables

def traced(firstbyte, case, env, cwd):
    import shlex
    command, variables = of_side(case, 'with', env)
    result = document([firstbyte, 'trace', '--', *shlex.split(command)], env | variables, cwd)['results'][0]
    wanted = lambda it: it['rule'] in case['rule'].split() and re.search(case.get('about', ''), it['text'])
    kept = lambda it, *more: {key: it.get(key) for key in ('rule', 'costs_ns', 'saves_ns', 'within', *more)}
    finding = next(filter(wanted, result['findings']), None)
    return result['total_ns'], finding and kept(finding, 'text'), [kept(it) for it in result['findings']]

def saved(firstbyte, case, env, cwd, runs):
    """The differences of the rounds' totals and of their processor time, ns: medians, and the quartiles of the totals'.
    Nothing is attached: a tracer would make each system call of both programs longer."""
    sides = [of_side(case, side, env) for side in ('with', 'without')]
    commands = []
    for command, variables in sides:
        words = ''.join(f'{name}={subprocess.list2cmdline([value])} ' for name, value in variables.items())
        commands.append(f'env {words}{command}' if any(variables for _, variables in sides) else command)
    results = document([firstbyte, 'bench', '--runs', str(runs), '--no-counts', '--backend', 'pipe', '--output', 'null', '--', *commands], env, cwd)['results']
    totals = [result['phases']['total']['samples'] for result in results]
    cpu = [result['summary']['time_cpu']['median'] * 1e9 for result in results]
    differences = sorted(a - b for a, b in zip(*totals))
    quarter = len(differences) // 4
    return {'with_ns': statistics.median(totals[0]), 'without_ns': statistics.median(totals[1]),
            'saved_ns': statistics.median(differences), 'quartiles_ns': [differences[quarter], differences[-1 - quarter]],
            'saved_cpu_ns': cpu[0] - cpu[1]}

def measured(case, firstbyte, runs):
    folder = tempfile.mkdtemp(prefix='promise-')
    try:
        env = environment(folder)
        for part in [case.get('setup', '')]:
            subprocess.run(['bash', '-euc', part], cwd=folder, env=env, check=True, capture_output=True, text=True)
        total, finding, every = traced(firstbyte, case, env, folder)
        return {'total_ns': total, 'finding': finding, 'findings': every, **saved(firstbyte, case, env, folder, runs)}
    except subprocess.CalledProcessError as error:
        return {'error': error.stderr[-400:]}
    except (RuntimeError, IndexError, statistics.StatisticsError, subprocess.TimeoutExpired) as error:
        return {'error': str(error)[-400:]}
    finally:
        shutil.rmtree(folder, ignore_errors=True)

def verdict(row):
    """What is promised over what was saved; None: nothing is promised."""
    promise = (row.get('finding') or {}).get('saves_ns')
    return promise / row['saved_ns'] if promise and row.get('saved_ns', 0) > 0 else None

def line(name, row):
    if 'error' in row:
        return f'{name}: {row["error"].splitlines()[-1] if row["error"] else "failed"}'
    ms = lambda ns: f'{ns / 1e6:.2f}' if ns is not None else '-'
    finding, ratio = row.get('finding') or {}, verdict(row)
    kept = '' if ratio is None else 'kept' if 0.75 <= ratio <= 1.33 else 'NOT KEPT'
    return (f'{name:32} {ms(row["with_ns"]):>8} -> {ms(row["without_ns"]):>8} saved {ms(row["saved_ns"]):>8} (CPU {ms(row["saved_cpu_ns"]):>8})  '
            f'{finding.get("rule", "no finding"):18} costs {ms(finding.get("costs_ns")):>8} saves {ms(finding.get("saves_ns")):>8} '
            f'{"" if ratio is None else f"{ratio:.2f}"} {kept}')

def main():
    args = arguments()
    cases = tomllib.load(open(f'{HERE}/promises.toml', 'rb'))['case']
    path = f'{args.results}/promises.json'
    os.makedirs(args.results, exist_ok=True)
    rows = json.load(open(path)) if os.path.exists(path) else {}
    for case in cases:
        name = case['name']
        if not re.search(args.only, name) or (name in rows and not args.again):
            continue
        rows[name] = measured(case, os.path.abspath(args.firstbyte), args.runs)
        with open(f'{path}.new', 'w') as file:
            json.dump(rows, file, indent=1)
        os.replace(f'{path}.new', path)
        print(line(name, rows[name]), flush=True)
    ratios = [ratio for row in rows.values() if (ratio := verdict(row)) is not None]
    kept = sum(0.75 <= ratio <= 1.33 for ratio in ratios)
    print(f'{len(rows)} cases, {len(ratios)} promises, {kept} within 0.75 to 1.33')

if __name__ == '__main__':
    main()
