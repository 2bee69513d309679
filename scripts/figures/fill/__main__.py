"""python3 -B scripts/figures/fill [FOLDER | --check]: writes figures from results into README and docs.

A place for figures names itself and the results that it was last filled from:

    <!-- figures: NAME, FOLDER… -->
    …
    <!-- end of figures -->

Without FOLDER, each place is filled again from its own results. With FOLDER, the first place of each name on a page is filled
from there if the files are there; the names of machines in the text around it are changed by hand. With --check, nothing is
written, and the exit status is 1 if something would change. Prints the targets that were missed."""
import contextlib, glob, re, sys

import accuracy, bench, demonstration, floor, growth, promises, runtime, showdown, stops, throughput, trace, tune, watch, why
from results import Results

FIGURES = {
    'showdown': showdown.table,
    'counts': showdown.counts,
    'core': bench.core,
    'bench-check': bench.check,
    'verdicts': bench.verdicts,
    'beside': bench.beside,
    'cold': bench.cold,
    'demonstration': demonstration.table,
    'demonstration-summary': demonstration.summary,
    'floor': floor.tables,
    'growth': growth.tables,
    'throughput': throughput.tables,
    'inspect': accuracy.counts,
    'elf': runtime.elf,
    'hello': runtime.hello,
    'copy': runtime.copy,
    'filters': runtime.filters,
    'level0': runtime.level0,
    'level0-user': runtime.level0_user,
    'promises': promises.table,
    'scores': runtime.scores,
    'residence': runtime.residence,
    'stops-cost': stops.cost,
    'trace': trace.tables,
    'tune': tune.table,
    'watch-cost': watch.cost,
    'why': why.table,
}
PICTURES = {'demonstration-summary': ('docs/plots/demonstration.svg', demonstration.picture)}

PLACE = re.compile(r'<!-- figures: ([\w-]+)((?:, [\w./-]+)*) -->\n.*?<!-- end of figures -->', re.S)


def filled(page, place, folders, missed):
    """The place with the figures of these folders, or as it is if they lack a file."""
    name = place[1]
    results = [Results(folder) for folder in folders]
    try:
        text = FIGURES[name](*results)
    except FileNotFoundError as error:
        print(f'{page}: {name}: unchanged, there is no {error.filename}')
        return place[0]
    missed += [f'{page}: {name}: missed: {target}' for result in results for target in result.missed]
    mark = ', '.join(['<!-- figures: ' + name, *folders])
    return f'{mark} -->\n{text}\n<!-- end of figures -->'


def outputs(folder, missed):
    """Each page and picture, with its new text."""
    for page in ['README.md', *sorted(glob.glob('docs/*.md'))]:
        used = {}

        def new(place):
            folders = [folder] if folder and place[1] not in used else place[2].split(', ')[1:]
            used[place[1]] = folders
            return filled(page, place, folders, missed) if folders else place[0]

        yield page, PLACE.sub(new, read(page))
        for name in PICTURES.keys() & used.keys():
            path, draw = PICTURES[name]
            with contextlib.suppress(FileNotFoundError):
                yield path, draw(*map(Results, used[name]))


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def main():
    option = sys.argv[1] if len(sys.argv) > 1 else ''
    checked, missed = option == '--check', []
    stale = [(path, text) for path, text in outputs('' if checked else option.rstrip('/'), missed) if text != read(path)]
    for path, text in stale:
        print(f'{path}: {"other figures than its results" if checked else "written"}')
        if not checked:
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text)
    if not checked:
        print('\n'.join(missed) or 'every target met')
    sys.exit(checked and bool(stale))


main()
