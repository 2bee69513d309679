"""Time and memory of firstbyte against the size of what it observes."""
from results import table


def tables(results):
    rows = results.json('growth')
    tasks = [row for row in rows if not row['name'].startswith('system calls')]
    calls = [row for row in rows if row['name'].startswith('system calls')]
    return '\n\n'.join(by_size(kind) for kind in [tasks, calls] if kind)


def by_size(rows):
    sizes = sorted({int(size) for row in rows for size in row['sizes']})
    lines = [[row['name'], *(cell(row['sizes'].get(str(size))) for size in sizes)] for row in rows]
    return table(['', *(f'{size:,}' for size in sizes)], '|'.join(['---'] * (len(sizes) + 1)), lines)


def cell(at):
    if at is None or 'failed' in at:
        return '–' if at is None else at['failed']
    processor = f" ({at['processor']:.2f} s)" if 'processor' in at else ''
    return f"{at['seconds']:.2f} s{processor}, {memory(at['mib'])}"


# The peak memory that wait4(2) reports begins with that of the Python process which started the command.
PYTHON_MIB = 15


def memory(mib):
    return f'{mib:.0f} MiB' if mib >= PYTHON_MIB else f'below {PYTHON_MIB} MiB'
