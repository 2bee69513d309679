"""What the benches of firstbyte printed, with their targets checked."""
import importlib.machinery, importlib.util, pathlib, re

from results import code, table


def core(results):
    return code(line for line in results.lines('core') if not line.startswith('measuring: '))


def verdicts(results):
    alike, slower = results.lines('verdicts-self'), results.lines('verdicts-slower')
    for line in alike:
        found = re.search(r': ([\d.]+) %, at most ([\d.]+) %', line)
        if found and float(found[1]) > float(found[2]):
            results.missed.append(line)
    for line in slower:
        found = re.search(r'(\d+) of (\d+) saw .* at least (\d+) %', line)
        if found and 100 * int(found[1]) < int(found[3]) * int(found[2]):
            results.missed.append(line)
    return code(alike + slower)


def beside(results):
    """All but what belongs to cold runs."""
    lines = [line for line in results.lines('hyperfine') if not is_cold(line)]
    results.missed += [line for line in lines if float(re.search(r': ([\d.]+) x$', line)[1]) > 1]
    return code(lines)


def cold(results):
    lines = [line for line in results.lines('hyperfine') if is_cold(line)]
    factor, least, pages = re.search(r': ([\d.]+) x, at least (\d+); (\d+) pages', lines[0]).groups()
    if float(factor) < float(least) or int(pages):
        results.missed.append(lines[0])
    return code(lines)


def is_cold(line):
    return line.startswith(('cold', ' '))


def bench_check():
    """The module of scripts/bench-check, which has the goals."""
    path = str(pathlib.Path(__file__).resolve().parents[2] / 'bench-check')
    loader = importlib.machinery.SourceFileLoader('bench_check', path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('bench_check', loader))
    loader.exec_module(module)
    return module


def check(results):
    readings, rows = results.json('bench-check')['readings']['now'], []
    module = bench_check()
    for name, goal, less in module.GOALS:
        low, middle, high, misses = module.compared(readings[name], goal, less)
        if misses:
            results.missed.append(f'{name}: {middle:.3f}, goal {goal}')
        rows.append([name, str(goal), f'{middle:.3f}', f'{low:.3f} to {high:.3f}'])
    return table(['', 'goal', 'median', 'middle half'], '---|---|---|---', rows)
