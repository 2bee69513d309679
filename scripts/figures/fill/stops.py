"""What it costs programs to be stopped for samples."""
from results import table

USERS = ['root', 'nobody']


def cost(results):
    found = results.json('stops-cost')
    for name, program in found['programs'].items():
        for user, figures in program['users'].items():
            ratio = figures.get('overhead')
            if ratio and ratio['low'] > found['goal']:
                results.missed.append(f"{name}, {user}: {ratio['ratio']:.3f} over {found['goal']}")
    rows = [[f"{name} {program['version']}", *(cell(program['users'].get(user)) for user in USERS)]
            for name, program in found['programs'].items()]
    return table(['program', 'as root', 'as nobody'], ' :--- | ---: | ---: ', rows)


def cell(figures):
    if not figures or 'missing' in figures:
        return '-'
    ratio = figures['overhead']
    return f"{ratio['ratio']:.3f} ({ratio['low']:.3f} to {ratio['high']:.3f}), {figures['period_ns'] / 1e6:.1f} ms"
