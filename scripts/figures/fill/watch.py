"""What watching costs."""
from results import table

TOOLS = ['firstbyte watch', 'firstbyte watch --first-output', 'firstbyte watch --backend ptrace', 'strace -f -c', 'perf trace -s',
         'execsnoop (bcc)', 'execsnoop (bpftrace)']


def cost(results):
    works = results.json('watch-cost')['work']
    for name, work in works.items():
        figures = work['summary'].get(TOOLS[0])
        if work['limit'] and figures and figures['ratio'] > work['limit']:
            results.missed.append(f"{name}: {figures['ratio']:.3f} over {work['limit']}")

    works = list(works.values())
    summaries = [work['summary'] for work in works]
    rows = [['nothing', *(f"{summary['alone']['median_ns'] / 1e9:.2f} s" for summary in summaries)]]
    rows += [[f'`{tool}`', *(ratio(of(summary, tool)) for summary in summaries)]
             for tool in TOOLS if any(of(summary, tool) for summary in summaries)]
    rows += [['limit for `firstbyte watch`', *(str(work['limit'] or '-') for work in works)],
             ['rounds', *(rounds(work) for work in works)]]
    return table(['watched by', *results.json('watch-cost')['work']], ' | '.join([' :---', *['---:'] * len(works)]) + ' ', rows)


def of(summary, tool):
    """`-a` watches the whole machine."""
    return summary.get(tool) or summary.get(f'{tool} -a')


def ratio(figures):
    return f"{figures['ratio']:.2f} ({figures['interval'][0]:.2f} to {figures['interval'][1]:.2f})" if figures else '-'


def rounds(work):
    """Slow tools have fewer."""
    counts = sorted({sum(tool in one for one in work['rounds']) for tool in work['summary'] if tool != 'alone'})
    return ' or '.join(map(str, counts))
