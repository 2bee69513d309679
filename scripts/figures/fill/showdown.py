"""Tables of the showdown and of counts."""
from results import code, table as markdown

BARS = ['floor-elf', 'c-printf', 'go', 'python', 'node']
ROWS = ['floor-elf', 'asm-i386-int80', 'c-musl', 'c-static', 'c-printf', 'dash', 'rust', 'lua', 'go', 'cpp-iostream',
        'bash', 'perl', 'zsh', 'python-isolated', 'java', 'python', 'ruby', 'node']

COUNTS = [('processes', 'processes'), ('threads', 'threads'), ('execs', 'execs'), ('system calls', 'syscalls'),
          ('page faults', 'page_faults'), ('major faults', 'major_faults'), ('files opened', 'files_opened'),
          ('failed opens', 'failed_opens'), ('bytes read', 'bytes_read'), ('writes', 'writes'),
          ('peak memory, MiB', 'max_rss')]


def table(results):
    """Some bars and rows of what `firstbyte showdown` printed in 80 columns."""
    lines = results.lines('showdown')
    rule = next(n for n, line in enumerate(lines) if line.startswith('──'))
    rows = lines[rule + 1:lines.index('', rule)]
    phases = next(n for n, line in enumerate(lines) if line.startswith('Phases, medians'))
    legend = next(n for n, line in enumerate(lines) if n > phases and 'startup' in line)

    bars = [line for line in lines[phases + 1:legend] if name(line) in BARS]
    return code([*bars, lines[legend], '', *lines[rule - 2:rule + 1], *(row for row in rows if name(row) in ROWS)])


def name(line):
    """A `*` marks a row that something outside of the program slows down."""
    return line.split(' ')[0].rstrip('*')


def counts(results):
    measured = results.json('counts')['results']
    rows = [[title, *(cell(result, count) for result in measured)] for title, count in COUNTS]
    return markdown(['', 'C `printf`', 'Python 3.11', 'Node 20', 'Go 1.26'], '---|---|---|---|---', rows)


def cell(result, count):
    low, high = (shown(value, count) for value in result['varying'].get(count, [result['counts'][count]] * 2))
    return low if low == high else f'{low} to {high}'


def shown(value, count):
    return f'{value / 2**20:.2f}' if count == 'max_rss' else str(value)
