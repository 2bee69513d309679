"""The basic costs of a machine."""
import statistics

from results import ns, paragraphs, table


def tables(results):
    return paragraphs([*loops(results), *overheads(results), sweeps(results)])


def loops(results):
    """The same costs by loops in C, and by others' benchmarks."""
    measured = results.json('floor-loops')['results']
    rounds = max(len(loop['floor_ns']) for loop in measured)
    yield table(['compared with', '`floor`', 'the other', 'ratio (spread)', 'target'], ':---|---:|---:|---:|:---',
                (compared(results, loop) for loop in measured))
    yield f'Medians of {rounds} rounds, both sides alternating. The spread is over the rounds (`floor-loops.json`).'


def compared(results, loop):
    name, ours, theirs, aim = loop['name'], loop['floor_ns'], loop['loop_ns'], loop['aim']
    if not ours or not theirs:
        return [name, 'not measured', '', '', '']
    pairs = [a / b for a, b in zip(ours, theirs)]
    ratio = statistics.median(ours) / statistics.median(theirs)
    within = abs(ratio - 1) <= aim
    if not within:
        results.missed.append(f'{name}: ratio {ratio:.3f}, target {aim:.0%}')
    return [name, ns(statistics.median(ours)), ns(statistics.median(theirs)), f'{ratio:.3f} ({min(pairs):.3f} to {max(pairs):.3f})',
            f"{'within' if within else '**beyond**'} {aim * 100:.0f} %"]


def overheads(results):
    measured = results.json('floor')
    clock = measured['overhead']
    if abs(clock['empty']) > max(clock['step'], 1):
        results.missed.append(f"empty region reads {clock['empty']}, step {clock['step']}")
    yield (f"The clock costs {clock['timer']:.1f} ns for two readings and steps by {clock['step']} ns; an empty timed region "
           f"reads {clock['empty']:.1f} ns.")
    for fall in measured['waterfalls']:
        yield (f"The steps of the waterfall and its floor sum to {fall['sum_ns']} of {fall['top_ns']} ns. The top has an error of "
               f"± {ns(fall['error_ns'])}, and the sum of the medians of paired differences deviates from it by "
               f"{ns(abs(fall['residual_ns']))}.")
    yield table(['print, to a terminal', 'first', 'hundredth', 'its clock', 'first, from outside', 'hundredth, from outside',
                 'calls in the first', 'faults'], ':---|---:|---:|---:|---:|---:|---:|---:', map(printed, measured['prints']))


def printed(found):
    own = [ns(found[part]['median']) for part in ('first', 'hundredth', 'clock')]
    outside = found.get('outside')
    if not outside:
        return [found['label'], *own, *['-'] * 4]
    faults = outside['first_faults']
    return [found['label'], *own, ns(outside['first']['median']), ns(outside['hundredth']['median']),
            str(len(outside['first_calls'])), '-' if faults is None else str(faults)]


def sweeps(results):
    rows = ([sweep['name'], point['how'], str(point['cpus']),
             f"{ns(point['first_byte'])} ({ns(point['low'])} to {ns(point['high'])})", str(point.get('threads', '?'))]
            for sweep in results.json('floor-cores')['sweeps'] for point in sweep['points'])
    return table(['with fewer processors', 'limited by', 'processors', 'first byte (95 % interval)', 'threads'],
                 ':---|:---|---:|---:|---:', rows)
