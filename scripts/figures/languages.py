#!/usr/bin/env python3
"""Measures the programs of all languages, and writes docs/languages.md from the results.

    languages.py measure FIRSTBYTE FOLDER [WARM COLD RUNS]   measures in WARM and COLD rounds, traces each program in RUNS runs
    languages.py disks FOLDER                                asks dpkg for sizes
    languages.py page FOLDER PAGE                            writes the page, and the table and the chart into the folder

What is complete in the folder is not measured again, so an interrupted `measure` goes on where it stopped.
"""
import csv
import filecmp
import glob
import json
import os
import re
import subprocess
import sys
import tomllib

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
CACHE = os.path.join(os.environ.get('FIRSTBYTE_CACHE') or os.path.expanduser('~/.cache/firstbyte'), 'corpus')
COLUMNS = ['language', 'program', 'variant', 'group', 'warm first byte', 'cold first byte', 'startup', 'setup', 'write',
           'teardown', 'system calls', 'page faults', 'processes', 'RSS', 'disk']


def manifests():
    """By name, with the shared tools that their commands name."""
    shared = tomllib.load(open(os.path.join(ROOT, 'corpus', 'tools.toml'), 'rb'))['toolchain']
    read = {}
    for file in sorted(glob.glob(os.path.join(ROOT, 'corpus', '*', 'program.toml'))):
        manifest = read[os.path.basename(os.path.dirname(file))] = tomllib.load(open(file, 'rb'))
        own = manifest.setdefault('toolchain', [])
        named = {*re.findall(r'{([a-z][a-z0-9+._-]*)}', json.dumps(manifest)), *manifest.get('tools', [])}
        own += [tool for tool in shared if tool['tool'] in named - {tool['tool'] for tool in own}]
    return read


def read(folder, name):
    with open(os.path.join(folder, f'languages{name}.json')) as file:
        return json.load(file)


def read_if_there(folder, name):
    """What was not measured is missing on the page."""
    return read(folder, name) if os.path.exists(os.path.join(folder, f'languages{name}.json')) else {}


def write(folder, name, value):
    path = os.path.join(folder, f'languages{name}.json')
    with open(path + '.part', 'w') as file:
        rows = (f'{json.dumps(key)}:{json.dumps(value[key], ensure_ascii=False)}' for key in sorted(value))
        file.write('{\n' + ',\n'.join(rows) + '\n}\n')
    os.replace(path + '.part', path)


def showdown(firstbyte, folder, cache, rounds):
    """A program that fails is a row of the document, and one that hangs is killed: neither ends the showdown."""
    file = os.path.join(folder, f'languages-{cache}.json')
    command = [firstbyte, 'showdown', '--all', '--cache', cache, '--runs', rounds, '--no-overhead', '--timeout', '60s']
    # counts hardly depend on the page cache, and cold runs take long
    command += ['--warmup', '1'] if cache == 'warm' else ['--warmup', '0', '--no-counts']
    subprocess.run(command + ['--export-json', file], stdout=subprocess.DEVNULL)
    if os.path.exists(file):
        subprocess.run([os.path.join(ROOT, 'scripts', 'figures', 'compact.py'), file], check=True)


def is_complete(folder, cache):
    return read_if_there(folder, f'-{cache}').get('partial') is False


# The time of other programs is no part of a start. Percentages of findings leave it out, too.
OTHERS = ('preempted', 'while other programs had the processor')


def traced(firstbyte, name, manifest, result, runs):
    """The essentials of the trace of a program: what it found, its parts, its longest loads and functions."""
    source = os.path.join(ROOT, 'corpus', name, 'program.toml')
    # other programs with the same name are built beside it
    built = glob.glob(os.path.join(CACHE, name, '*', 'program.toml'))
    builds = [os.path.dirname(entry) for entry in built if filecmp.cmp(entry, source, shallow=False)]
    if not builds:
        return {'error': 'it is not built'}
    environment = {'PATH': '/usr/local/bin:/usr/bin:/bin', 'HOME': '/sys/nonexistent', 'LANG': 'C.UTF-8', **manifest.get('environment', {})}
    command = ['timeout', '--kill-after=10', '600', firstbyte, 'trace', '--runs', runs, '--no-overhead', '--timeout', '60s',
               '--export-json', '-', result['command']]
    for variable in ('FIRSTBYTE_CACHE', 'XDG_CACHE_HOME'):
        environment |= {variable: os.environ[variable]} if variable in os.environ else {}
    build = max(builds, key=os.path.getmtime)
    ran = subprocess.run(command, cwd=build, env=environment, capture_output=True, text=True)
    if ran.returncode:
        return {'error': ran.stderr.strip().split('\n')[0] or f'status {ran.returncode}'}

    without_paths = ran.stdout.replace(build + '/', '').replace(os.path.expanduser('~') + '/', '~/')
    trace = json.loads(without_paths)['results'][0]
    longest = lambda rows, key: sorted(rows or [], key=lambda row: -(row.get(key) or 0))[:5]
    parts = {}
    for part in trace['attribution']:
        if part['name'] in OTHERS:
            continue
        parts[part['kind']] = parts.get(part['kind'], 0) + part['ns']
    return {'command': result['command'], 'runs': int(runs), 'total_ns': trace['total_ns'], 'parts_ns': parts,
            'findings': [{key: finding[key] for key in ('rule', 'costs_ns', 'saves_ns', 'text')} for finding in trace['findings']],
            'attribution': longest(trace['attribution'], 'ns'), 'loads': longest(trace.get('loads'), 'self_ns'),
            'user_functions': longest(trace.get('user_functions'), 'self_ns')}


def trace_all(firstbyte, folder, runs):
    """Each trace is kept as soon as it is made."""
    known, traces = manifests(), read_if_there(folder, '-traces')
    for result in read(folder, '-warm')['results']:
        name = result['name']
        if 'findings' not in traces.get(name, {}):
            traces[name] = traced(firstbyte, name, known[name], result, runs)
            write(folder, '-traces', traces)
    return {name: trace['error'] for name, trace in traces.items() if 'error' in trace}


def installed_packages():
    """Of each package that dpkg knows: its size in kB, its priority, and what it depends on."""
    fields = '${Package}\t${Installed-Size}\t${Priority}\t${Depends}, ${Pre-Depends}\t${Provides}\n'
    lines = subprocess.run(['dpkg-query', '--show', f'--showformat={fields}'], capture_output=True, text=True, check=True).stdout
    packages, provided = {}, {}
    for line in lines.splitlines():
        name, size, priority, needs, provides = line.split('\t')
        words = lambda text: [re.split(r'[ :(|]', part.strip())[0] for part in text.split(',') if part.strip()]
        packages[name] = (int(size or 0), priority, words(needs))
        provided.update({word: name for word in words(provides)})
    return packages, provided


def disk(manifest, packages, provided):
    """What must be installed to build and run a program, in bytes, without what every Debian has; None if dpkg does not know."""
    wanted = [*manifest.get('packages', []), *(p for tool in manifest.get('toolchain', []) for p in tool.get('packages', []))]
    if any(tool.get('install') for tool in manifest.get('toolchain', [])):
        return None
    seen = set()
    while wanted:
        name = wanted.pop()
        name = name if name in packages else provided.get(name)
        if name and name not in seen and packages[name][1] not in ('required', 'important'):
            seen.add(name)
            wanted += packages[name][2]
    return sum(packages[name][0] for name in seen) * 1024


def measure(firstbyte, folder, warm='10', cold='3', runs='3'):
    os.makedirs(folder, exist_ok=True)
    missing = []
    for cache, rounds in (('warm', warm), ('cold', cold)):
        if not is_complete(folder, cache):
            showdown(firstbyte, folder, cache, rounds)
        missing += [] if is_complete(folder, cache) else [f'the {cache} runs are not complete']
    files = [os.path.join(folder, f'languages-{cache}.json') for cache in ('warm', 'cold')]
    if not os.path.exists(files[0]):
        sys.exit('languages.py: nothing was measured')
    there = [file for file in files if os.path.exists(file)]
    subprocess.run([firstbyte, 'report', *there, '-o', os.path.join(folder, 'languages.html')], stdout=subprocess.DEVNULL)
    missing += [f'no trace of {name}: {error}' for name, error in trace_all(firstbyte, folder, runs).items()]
    disks(folder)
    for what in missing:
        print(f'languages.py: {what}', file=sys.stderr)


def disks(folder):
    """Can be run by itself."""
    known, (packages, provided) = manifests(), installed_packages()
    names = [result['name'] for result in read(folder, '-warm')['results']]
    write(folder, '-disk', {name: disk(known[name], packages, provided) for name in names})


def time(nanoseconds):
    for unit, size in (('s', 1e9), ('ms', 1e6), ('µs', 1e3)):
        if nanoseconds is not None and nanoseconds >= size:
            return f'{nanoseconds / size:.3g} {unit}' if nanoseconds < 999.5 * size else f'{nanoseconds / size:.0f} {unit}'
    return '' if nanoseconds is None else f'{nanoseconds:.0f} ns'


def size(number):
    for unit, large in (('GB', 1e9), ('MB', 1e6), ('kB', 1e3)):
        if number is not None and number >= large:
            return f'{number / large:.3g} {unit}'
    return '' if not number else f'{number} B'


def rows(folder):
    cold = {result['name']: result for result in read_if_there(folder, '-cold').get('results', [])}
    disks, known = read(folder, '-disk'), manifests()
    for result in read(folder, '-warm')['results']:
        name, counts = result['name'], result['counts']
        median = lambda of, phase: (of.get('phases', {}).get(phase) or {}).get('median')
        manifest = known[name]
        yield dict(zip(COLUMNS, [
            manifest['language'], name, manifest.get('variant', ''), manifest.get('group', 'core'),
            median(result, 'first_byte'), median(cold.get(name, {}), 'first_byte'),
            *(median(result, phase) for phase in ('startup', 'setup', 'write', 'teardown')),
            counts.get('syscalls'), counts.get('page_faults') or (counts.get('minor_faults') or 0) + (counts.get('major_faults') or 0) or None,
            counts.get('processes'), counts.get('max_rss') or counts.get('rss') or counts.get('peak_rss'), disks.get(name)]))


def times_of(ratio):
    return f'{ratio:.0f} times' if ratio >= 9.5 else f'{ratio:.1f} times'


PARTS = {'kernel_exec': 'exec', 'syscall': 'system calls', 'fault': 'page faults', 'user': 'user code', 'waiting': 'waiting'}


def sentence(text):
    """With a capital letter, and without its full stop."""
    text = text.rstrip().removesuffix('.').replace('|', '/')
    return text[:1].upper() + text[1:]


def findings(trace):
    """Without what a warm run reads from disk, because something else needed the memory."""
    return [sentence(finding['text']) for finding in trace.get('findings', []) if finding['rule'] != 'from-disk']


def where(trace):
    """Where the time of a trace goes, in one line: its parts, and its first finding."""
    total = sum(trace['parts_ns'].values())
    parts = sorted(trace['parts_ns'].items(), key=lambda part: -part[1])
    shares = ', '.join(f'{PARTS.get(kind, kind)} {100 * ns / total:.0f} %' for kind, ns in parts if 100 * ns >= 5 * total)
    return '. '.join([shares, *findings(trace)[:1]])


def cold_reads(result):
    """What cold runs of a program read."""
    cold = result['cold']
    faults = sorted(cold.get('major_faults') or [0])
    some = lambda number, what: f"{number} {what}{'' if number == 1 else 's'}"
    return f"{some(cold['files'], 'file')} of {size(cold['bytes'])}, {some(faults[len(faults) // 2], 'major page fault')}"


# Programs that the five posts and their readers wondered about.
WONDERED_ABOUT = ('haskell', 'gccgo', 'scala', 'r')


def outstanding(table):
    """The programs that need an explanation, and why they do: the ten slowest, the ten that are furthest from the fastest of
    their language, the ten for which a cold page cache changes most, and those that were wondered about."""
    warm, best, reasons = 'warm first byte', {}, {}
    for row in table:
        best.setdefault(row['language'], row)
    distance = lambda row: row[warm] / best[row['language']][warm]
    chill = lambda row: row['cold first byte'] / row[warm]
    add = lambda row, reason: reasons.setdefault(row['program'], []).append(reason)

    for row in table[:-11:-1]:
        add(row, 'one of the ten slowest')
    for row in sorted(table, key=distance)[:-11:-1]:
        add(row, f"{times_of(distance(row))} `{best[row['language']]['program']}`")
    for row in sorted((row for row in table if row['cold first byte']), key=chill)[:-11:-1]:
        add(row, f'cold {times_of(chill(row))} warm')
    for row in table:
        if row['program'] in WONDERED_ABOUT:
            reasons.setdefault(row['program'], [])
    return reasons


def explanations(table, traces, cold):
    """One paragraph for each program that stands out, from its figures and its trace."""
    rows = {row['program']: row for row in table}
    for name, reasons in outstanding(table).items():
        row, trace = rows[name], traces.get(name, {})
        text = f"- **`{name}`**, {', '.join([time(row['warm first byte']), *reasons])}."
        if row['cold first byte'] and name in cold:
            text += f" Cold, {time(row['cold first byte'])}: {cold_reads(cold[name])}."
        text += ''.join(f' {finding}.' for finding in findings(trace)[:3])
        yield text + '\n'


def chart(printing):
    """A picture of all first bytes on a logarithmic scale: a filled circle is warm, an empty one is cold."""
    from math import log10
    left, width, step = 190, 620, 13
    place = lambda nanoseconds: left + width * (log10(max(nanoseconds, 3e4)) - log10(3e4)) / (log10(3e10) - log10(3e4))
    height = 40 + step * len(printing)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 20}" height="{height}" font-family="sans-serif" font-size="10">',
             '<title>First byte of each program, warm and cold</title>', '<rect width="100%" height="100%" fill="#fff"/>']
    for power in range(5, 11):
        at = place(10 ** power)
        lines.append(f'<path d="M{at:.1f} 24V{height - 8}" stroke="#ddd"/><text x="{at:.1f}" y="16" text-anchor="middle">{time(10 ** power)}</text>')
    for number, row in enumerate(printing):
        y, warm, cold = 34 + step * number, place(row['warm first byte']), row['cold first byte']
        lines.append(f'<text x="{left - 8}" y="{y + 3}" text-anchor="end">{row["program"]}</text>')
        if cold:
            lines.append(f'<path d="M{warm:.1f} {y}H{place(cold):.1f}" stroke="#bbb"/><circle cx="{place(cold):.1f}" cy="{y}" r="3" fill="#fff" stroke="#1f5fa8"/>')
        lines.append(f'<circle cx="{warm:.1f}" cy="{y}" r="3.5" fill="#1f5fa8"/>')
    return '\n'.join(lines + ['</svg>', ''])


def page(folder, path):
    table = sorted(rows(folder), key=lambda row: row['warm first byte'] or 0)
    with open(os.path.join(folder, 'languages.csv'), 'w', newline='') as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator='\n')
        writer.writeheader()
        writer.writerows(table)
    printing = [row for row in table if row['warm first byte']]
    with open(os.path.join(folder, 'languages.svg'), 'w') as file:
        file.write(chart(printing))
    traces = {name: trace for name, trace in read_if_there(folder, '-traces').items() if 'findings' in trace}
    cold = {result['name']: result for result in read_if_there(folder, '-cold').get('results', [])}
    relative = os.path.relpath(folder, os.path.dirname(path))
    languages = {row['language'] for row in table}
    there = lambda name: os.path.exists(os.path.join(folder, name))
    documents = ' and '.join(f'[{cache}]({relative}/languages-{cache}.json)' for cache in ('warm', 'cold') if there(f'languages-{cache}.json'))
    times = [name for name in COLUMNS[4:10] if cold or name != 'cold first byte']
    heads = ['program', 'language', *(name.replace('warm first byte', 'first byte, warm') for name in times), *COLUMNS[10:]]
    text = f'''# What it costs to start each language

Look up what a program in a language costs until its first byte. The table has {len(table)} programs in
{len(languages)} languages, each written as its language's documentation writes hello world.

`make corpus-all` installs all tools, checks and measures all programs, and writes this page. `firstbyte
showdown --language NAME` measures one language on your machine. The data are available as
[CSV]({relative}/languages.csv) and as JSON ({documents}). `firstbyte report FILE.json…` turns the JSON into a page
that sorts and filters. [How the figures were measured]({relative}/README.md), on which machine, and what else ran there.

"First byte" is the median time from `execve` to the first byte of output. The phases sum to the total
([the words](measurement.md#words)). "Disk" is what Debian installs to build and run the program, without what every
Debian has. RSS is the peak.

| {' | '.join(heads)} |
|---|---|{'---:|' * (len(heads) - 2)}
'''
    number = lambda value: '' if value is None else f'{value:.0f}'
    for row in table:
        cells = [time(row[name]) for name in times]
        counts = [number(row[name]) for name in ('system calls', 'page faults', 'processes')]
        label = ', '.join(part for part in (row['language'], row['variant']) if part)
        text += f"| `{row['program']}` | {label} | " + ' | '.join([*cells, *counts, size(row['RSS']), size(row['disk'])]) + ' |\n'
    empty = ' An empty circle is cold.' if cold else ''
    text += f'\n## First byte, on a logarithmic scale\n\n![First byte of each program]({relative}/languages.svg)\n\nA filled circle is warm.{empty}\n'
    if traces:
        text += f'''
## Where the time goes

The parts of each start, and the first finding of its trace, until the exit. [What was kept of the traces]({relative}/languages-traces.json).

| program | where the time goes |
|---|---|
'''
        text += ''.join(f"| `{row['program']}` | {where(traces[row['program']])} |\n" for row in table if row['program'] in traces)
        text += '''
## What stands out

The ten slowest programs, the ten that are furthest from the fastest of their language, the ten for which a cold page
cache changes most, and what others wondered about: their figures, and the first findings of their traces.

'''
        text += ''.join(explanations(printing, traces, cold))
    measured = {row['program'] for row in table}
    missing = sorted(name for name, manifest in manifests().items() if name not in measured and not manifest.get('optional'))
    text += f'''
## Not measured there

Their tools were not installed, or they do not run on that machine: {', '.join(f'`{name}`' for name in missing)}.
'''
    with open(path, 'w') as file:
        file.write(text)


if __name__ == '__main__':
    {'measure': measure, 'disks': disks, 'page': page}[sys.argv[1]](*sys.argv[2:])
