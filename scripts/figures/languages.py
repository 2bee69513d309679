#!/usr/bin/env python3
"""Measures the programs of all languages, and writes docs/languages.md from the results.

    languages.py measure FIRSTBYTE FOLDER [WARM COLD]   measures (in WARM and COLD rounds), traces each program, and asks for sizes
    languages.py disks FOLDER                           asks dpkg for sizes
    languages.py page FOLDER PAGE                       writes the page, and the table as FOLDER/languages.csv
"""
import csv
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
    files = sorted(glob.glob(os.path.join(ROOT, 'corpus', '*', 'program.toml')))
    return {manifest['name']: manifest for manifest in (tomllib.load(open(file, 'rb')) for file in files)}


def read(folder, name):
    with open(os.path.join(folder, f'languages{name}.json')) as file:
        return json.load(file)


def read_if_there(folder, name):
    """What was not measured is missing on the page."""
    return read(folder, name) if os.path.exists(os.path.join(folder, f'languages{name}.json')) else {}


def write(folder, name, value):
    with open(os.path.join(folder, f'languages{name}.json'), 'w') as file:
        json.dump(value, file, indent=0, sort_keys=True)
        file.write('\n')


def showdown(firstbyte, folder, cache, rounds):
    file = os.path.join(folder, f'languages-{cache}.json')
    command = [firstbyte, 'showdown', '--all', '--cache', cache, '--runs', rounds, '--warmup', '1', '--no-overhead', '--timeout', '60s']
    pictures = ['--html', os.path.join(folder, 'languages.html')] if cache == 'warm' else []
    subprocess.run(command + ['--export-json', file] + pictures, stdout=subprocess.DEVNULL)
    subprocess.run([os.path.join(ROOT, 'scripts', 'figures', 'compact.py'), file], check=True)


def finding(firstbyte, name, manifest, result):
    """The first finding of a trace: where the most time goes."""
    builds = [entry for entry in glob.glob(os.path.join(CACHE, name, '*')) if os.path.isdir(entry)]
    if not builds:
        return None
    environment = {'PATH': '/usr/local/bin:/usr/bin:/bin', 'HOME': '/proc/nonexistent', 'LANG': 'C.UTF-8', **manifest.get('environment', {})}
    command = [firstbyte, 'trace', '--runs', '3', '--no-overhead', '--timeout', '60s', '--export-json', '-', result['command']]
    for variable in ('FIRSTBYTE_CACHE', 'XDG_CACHE_HOME'):
        environment |= {variable: os.environ[variable]} if variable in os.environ else {}
    traced = subprocess.run(command, cwd=max(builds, key=os.path.getmtime), env=environment, capture_output=True, text=True)
    if traced.returncode:
        return None
    findings = json.loads(traced.stdout)['results'][0]['findings']
    return {'rule': findings[0]['rule'], 'text': findings[0]['text']} if findings else None


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


def measure(firstbyte, folder, warm='10', cold='3'):
    os.makedirs(folder, exist_ok=True)
    showdown(firstbyte, folder, 'warm', warm)
    showdown(firstbyte, folder, 'cold', cold)
    known = manifests()
    results = {result['name']: result for result in read(folder, '-warm')['results']}
    write(folder, '-findings', {name: finding(firstbyte, name, known[name], result) for name, result in results.items()})
    disks(folder)


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


def bar(nanoseconds, largest):
    """A bar of at most 24 cells, on a logarithmic scale from 50 µs."""
    from math import log
    return '█' * max(1, round(24 * log(max(nanoseconds, 50e3) / 50e3) / log(largest / 50e3)))


def page(folder, path):
    table = sorted(rows(folder), key=lambda row: row['warm first byte'] or 0)
    with open(os.path.join(folder, 'languages.csv'), 'w', newline='') as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator='\n')
        writer.writeheader()
        writer.writerows(table)
    findings = read_if_there(folder, '-findings')
    printing = [row for row in table if row['warm first byte']]
    largest = max(row['warm first byte'] for row in printing)
    relative = os.path.relpath(folder, os.path.dirname(path))
    languages = {row['language'] for row in table}
    sorting = os.path.join(relative, 'languages.html')
    sorting = f', and as [a page that sorts and filters]({sorting})' if os.path.exists(os.path.join(folder, 'languages.html')) else ''
    cold = any(row['cold first byte'] for row in table)
    times = [name for name in COLUMNS[4:10] if cold or name != 'cold first byte']
    heads = ['program', 'language', *(name.replace('warm first byte', 'first byte, warm') for name in times), *COLUMNS[10:]]
    text = f'''# What it costs to start each language

Look up what a program in a language costs until its first byte. The table has {len(table)} programs in
{len(languages)} languages, each written as its language's documentation writes hello world.

`make corpus-all` installs all tools, checks and measures all programs, and writes this page. `firstbyte
showdown --language NAME` measures one language on your machine. The [data]({relative}/languages.csv) are
also there as [JSON]({relative}/languages-warm.json){sorting}.
[How the figures were measured, on which machine, and what else ran there]({relative}/README.md).

"First byte" is the median time from `execve` to the first byte of output. The phases sum to the total ([the words](measurement.md#words)). "Disk" is what Debian
installs to build and run the program, without what every Debian has. RSS is the peak.

| {' | '.join(heads)} |
|---|---|{'---:|' * (len(heads) - 2)}
'''
    number = lambda value: '' if value is None else f'{value:.0f}'
    for row in table:
        cells = [time(row[name]) for name in times]
        counts = [number(row[name]) for name in ('system calls', 'page faults', 'processes')]
        label = ', '.join(part for part in (row['language'], row['variant']) if part)
        text += f"| `{row['program']}` | {label} | " + ' | '.join([*cells, *counts, size(row['RSS']), size(row['disk'])]) + ' |\n'
    text += '\n## First byte, warm, on a logarithmic scale\n\n```\n'
    text += ''.join(f"{row['program']:<22} {time(row['warm first byte']):>8} {bar(row['warm first byte'], largest)}\n" for row in printing)
    text += '```\n'
    if findings:
        text += '\n## Where the time goes\n\nThe first finding of `firstbyte trace` for each program:\n\n| program | finding |\n|---|---|\n'
    for row in table:
        found = findings.get(row['program'])
        if found:
            text += f"| `{row['program']}` | {found['text'].replace('|', '/')} |\n"
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
