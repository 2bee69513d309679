"""Many lines, by each design."""
from results import code, paragraphs, table

OURS, POST, YES, ALONE = 'firstbyte lines', 'asm-v2', 'yes-head', '(wc -l alone)'
SINKS = ['null', 'pipe-splice', 'pipe-read', 'cat', 'wc', 'tmpfs', 'file', 'overwrite']
GOALS = {'pipe-splice': 80, 'pipe-read': 25, 'file': 6, 'tmpfs': 4, 'overwrite': 10}  # times as fast as the post's
STEPS = [('asm-v1', 'one write per line'), ('go-v2', 'a buffer of 4 KiB'), ('asm-v2', 'all in memory, one write'),
         ('c-write', 'a block of 60 KiB that stays in the cache'), ('c-writev', 'the block 1024 times in one writev'),
         ('firstbyte lines', 'pages shared by reference (pipes)')]
STEP_SINKS = ['null', 'pipe-read', 'pipe-splice', 'tmpfs']
POST_DESIGNS = {'go-v1': 'Go v1', 'asm-v1': 'ASM v1', 'go-v2': 'Go v2', 'asm-v2': 'ASM v2', 'firstbyte lines': '`firstbyte lines`'}


def tables(results):
    return paragraphs([*targets(results), terminal(results), *steps(results), *post(results), *others(results)])


def targets(results):
    rows = {(row['sink'], row['design']): row for row in results.json('throughput')['results']}
    yield '17.5 million lines, milliseconds (median of 11 interleaved runs), and how many times faster than the repaired ASM v2:'
    yield table(['target', 'ASM v2', '`yes \\| head`', 'write', 'writev', '`firstbyte lines`', '× ASM v2 (95 %)', '× `yes \\| head`', 'goal'],
                ':---|---:|---:|---:|---:|---:|---:|---:|:---', (target(results, rows, sink) for sink in SINKS if (sink, OURS) in rows))


def target(results, rows, sink):
    ours, yes, faster = rows[sink, OURS], rows.get((sink, YES)), rows[sink, OURS]['times_faster']
    over_yes = yes['median_ns'] / ours['median_ns'] if yes else None
    cells = [ms(rows.get((sink, design))) for design in (POST, YES, 'c-write', 'c-writev', OURS)]
    return [sink, *cells, f"{faster['ratio']:.1f} ({faster['low']:.1f} to {faster['high']:.1f})", f'{over_yes:.1f}' if yes else '',
            goal(results, sink, faster['ratio'], over_yes, ours, rows.get((sink, ALONE)))]


def goal(results, sink, faster, over_yes, ours, alone):
    """The goal of a target, marked if it is missed."""
    if sink in GOALS:
        wanted, met, found = f'≥ {GOALS[sink]}', faster >= GOALS[sink], f'{faster:.1f} of {GOALS[sink]}'
    elif sink == 'cat' and over_yes:
        wanted, met, found = '≥ 20 × yes', over_yes >= 20, f'{over_yes:.1f} × yes of 20'
    elif sink == 'wc' and alone:
        ratio = ours['median_ns'] / alone['median_ns']
        wanted, met, found = f'wc alone {ms(alone)} ms: {ratio:.2f} ×, ≤ 1.10', ratio <= 1.10, f'{ratio:.2f} × wc alone'
    else:
        return ''
    if not met:
        results.missed.append(f'{sink}: {found}')
    return wanted if met else f'{wanted} **missed**'


def ms(row):
    return f"{row['median_ns'] / 1e6:.2f}" if row else ''


def terminal(results):
    rows = sorted(results.json('throughput-pty')['results'], key=lambda row: row['median_ns'])
    best = min(row['median_ns'] for row in rows if row['design'] != OURS)
    ratio = next(row['median_ns'] for row in rows if row['design'] == OURS) / best
    if ratio > 1.02:
        results.missed.append(f'pty: {ratio:.3f} of the best buffered design')
    return (f"A terminal, {max(row['lines'] for row in rows)} lines: " + ', '.join(f"{row['design']} {ms(row)} ms" for row in rows)
            + f"; ours takes {ratio:.3f} of the best buffered design's time.")


def steps(results):
    rows = results.json('throughput-ladder')['results']
    times = {(row['sink'], row['design']): row for row in rows}
    yield (f"The steps, {max(row['lines'] for row in rows)} lines, milliseconds; in brackets, how many times faster than the "
           'step before:')
    yield table(['step', *STEP_SINKS], ':---|' + '|'.join(['---:'] * len(STEP_SINKS)),
                ([f'`{design}`: {what}', *(step(times, sink, place) for sink in STEP_SINKS)] for place, (design, what) in enumerate(STEPS)))


def step(times, sink, place):
    now = times.get((sink, STEPS[place][0]))
    before = next((times[sink, design] for design, _ in reversed(STEPS[:place]) if (sink, design) in times), None)
    gain = f" ({before['median_ns'] / now['median_ns']:.2f})" if now and before else ''
    return ms(now) + gain


def post(results):
    times = {(row['lines'], row['design']): row['median_ns'] for row in results.json('throughput-post')['results']}
    yield 'The table of [Response to Response](findings.md#a-response-to-response-to-hello-world), seconds, to /dev/null (`throughput-post.svg` draws it):'
    yield table(['N', *POST_DESIGNS.values()], '|'.join(['---:'] * (1 + len(POST_DESIGNS))),
                ([str(lines), *(f'{times[lines, design] / 1e9:.4f}' if (lines, design) in times else '' for design in POST_DESIGNS)]
                 for lines in sorted({lines for lines, _ in times})))


def others(results):
    if results.has('lines-uutils.txt'):  # only measured where that program is
        yield 'Compared with `yes` of uutils 0.12, which also uses `tee` and prints endlessly: 2.1 GB read by `benches/throughput/reader.c`:'
        yield code(results.lines('lines-uutils'))
    yield 'Peak resident memory while 2^63 lines are being written:'
    yield code(results.lines('lines-memory'))
