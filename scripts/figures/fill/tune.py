"""Everyday commands before and after, as `firstbyte tune` printed them."""
import glob, os
from results import ns, table as markdown


ENDS = {'first_byte': 'first byte', 'total': 'exit'}


def table(results):
    names = sorted(os.path.basename(path)[:-5] for path in glob.glob(f'{results.folder}/tune/*.json'))
    if not names:
        raise FileNotFoundError(2, 'no results', f'{results.folder}/tune')
    rows = [row for name in names for row in of_command(results.json(f'tune/{name}'))]
    head = ['command', 'plain, until its', 'way', 'ratio, 99 % interval', 'median']
    return markdown(head, ':---|---:|:---|---:|---:', rows)


def of_command(document):
    proven = [tuned for tuned in document['results'] if tuned['verdict'] == 'faster' and tuned['ratio']['ratio'] <= 0.99]
    rows = [[named(tuned), ratio(tuned['ratio']), ns(tuned['median_ns'])] for tuned in proven]
    if document['together']:
        together = document['together']
        rows.append([', '.join(f'`{name}`' for name in together['names']), ratio(together['ratio']), ns(together['median_ns'])])
    tried = ', '.join(f'`{tuned["name"]}`' for tuned in document['results'])
    rows = rows or [[f'none is proven of {tried}' if tried else 'none was tried', '-', '-']]
    command = document['command'].replace('|', '\\|')
    plain = f'{ns(document["plain_ns"])}, {ENDS[document["by"]]}' if document['plain_ns'] else '-'
    return [[f'`{command}`', plain, *row] for row in rows]


def named(tuned):
    against = f' against `{tuned["against"]}`' if 'against' in tuned else ''
    changes = ', changes what it does' if tuned['behaviour'] else ''
    return f'`{tuned["name"]}`{against}{changes}'


def ratio(figures):
    return f'{figures["ratio"]:.2f} ({figures["low"]:.2f} to {figures["high"]:.2f})'
