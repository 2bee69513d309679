"""What tracing costs, whether accounts are complete, and how long a difference takes."""
import json, re

from results import code, paragraphs, table

TARGETS = {'c-printf': 1.12, 'go': 1.20, 'python3': 1.05, 'ruby': 1.05, 'node': 1.05}


def tables(results):
    lines = results.lines('trace')
    raw = {found['program']: found for found in (json.loads(line) for line in lines if line.startswith('{'))}
    first = next(iter(raw.values()))
    runs = (f'Medians of {len(first["traced"])} runs each, in {first["overhead"]["pairs"]} pairs of alternating short blocks '
            '(`trace.txt`, with the raw wall times).')
    return paragraphs([
        table(['program', 'untraced', 'traced / untraced (95 % interval)', 'target', 'corrected', '`strace -f`', 'lost'],
              ':---|---:|---:|---:|---:|---:|---:', overheads(results, lines, raw)), runs,
        'Each class of program, traced once (`trace-classes.txt`):', code(classes(results)),
        'Alignment of recordings, including the time to read them (`trace-diff.txt`):', code(alignments(results))])


def overheads(results, lines, raw):
    for words in (line.split() for line in lines):
        if len(words) < 11 or words[0] not in TARGETS:
            continue
        name, ratio, corrected, lost = words[0], float(words[5]), float(words[9]), raw[words[0]]['lost_events']
        if ratio > TARGETS[name]:
            results.missed.append(f'{name}: {ratio} over {TARGETS[name]}')
        if round(abs(corrected - 1), 3) > .05:
            results.missed.append(f'{name}: corrected {corrected}')
        if lost:
            results.missed.append(f'{name}: lost {lost}')
        yield [name, f'{float(words[1]):.0f} µs', f'**{ratio:.3f}** ({words[6]} to {words[8]})', f'{TARGETS[name]:.2f}',
               f'{corrected:.3f}', words[10], str(lost)]


def classes(results):
    lines = results.lines('trace-classes')
    results.missed += [line for line in lines[1:] if ' NO ' in line or not line.endswith(' 0')]
    return lines


def alignments(results):
    lines = results.lines('trace-diff')
    for line in lines:
        found = re.search(r': ([\d.]+) s', line)
        if found and float(found[1]) >= 1:
            results.missed.append(line)
    return lines
