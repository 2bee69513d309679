"""Programs with our C runtime and with other libraries."""
import statistics

from results import ns, table

EMPTY = 'an empty `_start`'
LIBRARIES = {'firstbyte': 'this runtime', 'nolibc': "the kernel's nolibc 6.12", 'dietlibc': 'dietlibc 0.34',
             'musl-static': 'musl 1.2.3, static', 'glibc-static': 'glibc 2.36, static', 'glibc': 'glibc 2.36, dynamic'}
EXECUTABLES = {'assembler': 'assembler, static', 'elf-plain': 'plain', 'elf-packed': 'packed', 'elf-i386-plain': 'plain, i386',
               'elf-i386-packed': 'packed, i386', 'c-printf': 'C, printf, dynamic glibc'}
SOLUTIONS = {'empty-start': EMPTY, 'firstbyte': 'this runtime', 'musl-static': 'musl, static, the same table',
             'dietlibc': 'dietlibc, the same table', 'glibc-static': 'glibc, static, the same table',
             'glibc': 'glibc, dynamic, the same table', 'glibc-hash-from-file': 'glibc, hash table filled from the file',
             'python-set': 'Python, set', 'ruby-set': 'Ruby, Set'}
FILTERS = ['cat', 'wc', 'tr', 'head', 'base64', 'json']


def elf(results):
    return programs(results, 'elf', 'assembler', EXECUTABLES, 'first_byte')


def hello(results):
    return programs(results, 'hello', 'assembler', {'assembler': 'assembler, static', **LIBRARIES}, 'first_byte')


def copy(results):
    return programs(results, 'copy', 'firstbyte', LIBRARIES, 'total')


def measured(results, name):
    return {result.get('name') or result['command']: result for result in results.json(f'runtime/{name}')['results']}


def counted(results, name):
    """Bytes, system calls and page faults of each program."""
    rows = (line.split() for line in results.lines(f'runtime/{name}-counts')[1:])
    return {row[0]: row[1:] for row in rows}


def median(result, phase):
    return (result['phases'].get(phase) or {}).get('median')


def programs(results, name, reference, names, phase):
    found, counts = measured(results, name), counted(results, name)
    rows = ([label, f'{int(counts[key][0]):,}', *counts[key][1:3], ns(median(found[key], 'first_byte')), ns(median(found[key], 'total')),
             spread(found[key], phase), ratio(found[key], found[reference], phase)] for key, label in names.items() if key in found)
    title = f"{phase.replace('_', ' ')} / {names[reference]}"
    return table(['program', 'bytes', 'system calls', 'page faults', 'first byte', 'total', 'spread', title],
                 '|'.join(['---'] * 8), rows)


def spread(result, phase):
    samples = (result['phases'].get(phase) or result['phases']['total']).get('samples')
    if not samples:
        return '-'
    middle = statistics.median(samples)
    return f'{148.26 * statistics.median(abs(sample - middle) for sample in samples) / middle:.0f} %'


def ratio(result, reference, phase):
    a, b = median(result, phase), median(reference, phase)
    if not a or not b:
        return '-'
    return f'{a / b:.3f}' if a / b < 2 else f'{a / b:.1f}' if a / b < 100 else f'{a / b:.0f}'


def filters(results):
    return table(['filter', 'bytes', 'system calls', 'page faults', 'first byte', 'the same by glibc', 'first byte, glibc / ours'],
                 '|'.join(['---'] * 7), (compared(name, measured(results, name), counted(results, name)) for name in FILTERS))


def compared(name, found, counts):
    size, calls, faults = counts['firstbyte'][:3]
    ours, theirs = found['firstbyte'], found['glibc']
    return [name, f'{int(size):,}', calls, faults, ns(median(ours, 'first_byte')),
            f"{counts['glibc'][1]} system calls, {counts['glibc'][2]} page faults, {ns(median(theirs, 'first_byte'))}",
            ratio(theirs, ours, 'first_byte')]


def level0(results):
    small, slow, large = (measured(results, name) for name in ('level0', 'level0-slow', 'level0-large'))
    counts = counted(results, 'level0') | counted(results, 'level0-slow')
    base = median(small['empty-start'], 'total')
    scale = median(small['firstbyte'], 'total') / median(slow['firstbyte'], 'total')  # slow ones ran in another series
    rows = (solution(label, small.get(key) or slow[key], counts.get(key), large.get(key), base if key in small else base / scale)
            for key, label in SOLUTIONS.items() if key in small or key in slow)
    return table(['', 'system calls', 'page faults', 'first byte', 'processor time', 'total', f'total / empty `_start`', '100 MB, total'],
                 '|'.join(['---'] * 8), rows)


def solution(label, result, counts, large, base):
    own = result['counts']
    calls, faults = counts[1:3] if counts else (str(int(own.get('syscalls', 0))), str(int(own.get('page_faults', 0))))
    total = median(result, 'total')
    times = total / base
    return [label, calls, faults, ns(median(result, 'first_byte')), ns(processor_time(result)), ns(total),
            f'{times:.2f}' if times < 100 else f'{times:.0f}', ns(median(large, 'total')) if large else '-']


def processor_time(result):
    """Mean, in nanoseconds. Files of older versions have only its parts by ticks, whose sum is exact."""
    seconds = result.get('cpu')
    return (result['user'] + result['system'] if seconds is None else seconds) * 1e9


def level0_user(results):
    found = {result['name']: result for result in results.json('level0-user')['results']}
    base = found['empty-start']['processor']['user']['median']
    rows = ([label, ns(found[key]['processor']['user']['median']), ns(processor_time(found[key])),
             f"{found[key]['processor']['user']['median'] / base:.0f}"] for key, label in SOLUTIONS.items() if key in found)
    return table(['', 'user time', 'processor time', f'user time / {EMPTY}'], '|'.join(['---'] * 4), rows)


WAYS = {'alone': 'works itself', 'waits': 'waits for a child that works', 'sleeps': 'sleeps instead',
        'daemon': 'has a daemon work, and reads its output', 'outlived': 'exits while its child works',
        'outlived-cat': 'the same, in a shell that pipes it to `cat`'}


def scores(results):
    found = {result['name']: result['processor'] for result in results.json('scores')['results']}
    rows = ([label, *(ns(found[key][time]['median']) for time in ('user', 'scored', 'burnt'))] for key, label in WAYS.items())
    return table(['a program that', 'user', 'scored', 'burnt'], '|'.join(['---'] * 4), rows)


STATES = [('nothing (warm)', 'dropped', 'warm'), ('`drop_caches`', 'dropped', 'cold'), ('`--cache cold`', 'copies', 'cold')]
ROLES = ['script', 'interpreter', 'executable', 'loader', 'libc']


def residence(results):
    rows = (resident(label, results.json(f'residence-{name}')['results'], program, cache)
            for program in ('dash', 'c') for label, name, cache in STATES)
    return table(['', 'before each run', 'script', 'interpreter or executable', 'loader', 'libc', 'faults that waited for the disk'],
                 '|'.join(['---'] * 7), rows)


def resident(label, found, program, cache):
    result = next(result for result in found if (result['name'], result['cache']) == (program, cache))
    pages = {part['role']: f"{part['resident']} of {part['pages']}" for part in result['resident']}
    script, interpreter, executable, loader, libc = (pages.get(role, '-') for role in ROLES)
    faults = statistics.median((result.get('cold') or {}).get('major_faults') or [0])
    program = {'dash': 'dash', 'c': 'C, `printf`'}[program]
    return [program, label, script, interpreter if executable == '-' else executable, loader, libc, f'{faults:g}']
