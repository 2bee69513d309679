"""What `trace` says about everyday commands, and what an expert says.

The findings are those of the first folder. Where several folders have the evidence of a command, the first one counts.

In `evidence` of commands.toml these are filled from the measurement:
  {time} {without}     wall time, and that of the command without its cause (`perf stat -r`)
  {perf:FILE}          samples in files that match, in percent (`perf record -e cpu-clock`, `perf report --sort dso`)
  {sym:FUNCTION}       samples in functions that match (`perf report --sort sym`)
  {calls:NAME}         how often a system call is made (`strace -f -c`); {calls}: all
  {prog:NAME}          a program, from its exec to its end (`strace -f -e execve -ttt`)
  {links}              relocations, with the relative ones (`LD_DEBUG=statistics`)
  {imports} {import:M} all imports, one with all that it imports (`python -X importtime`)
  {js:PACKAGE}         samples whose stack has code of the package (`node --cpu-prof`)
  {own:PATTERN}        the first line of the runtime's own report that matches

A finding that matches `names` names the cause. The verdict is "agrees" if it is the first one, "partly" if others come
before it."""
import collections, os, re, tomllib

from results import ns, table as markdown

COMMANDS = f'{os.path.dirname(os.path.abspath(__file__))}/../why/commands.toml'
LONG = 20e6  # ns: shorter commands need no finding
SHOWN = 3    # findings
VERDICTS = {'agrees': 'agree', 'partly': 'partly', 'wrong': 'wrong', 'no finding': 'no finding'}


class Evidence:
    """The figures of one command."""

    def __init__(self, expert, missing):
        self.data, self.missing = expert, missing

    def time(self, _):
        return ns(self.data['stat'][0])

    def without(self, _):
        return ns(self.data['without'][0])

    def perf(self, pattern):
        rows = [row for row in self.data['perf']['modules'] if re.search(pattern, row[2])]
        return f'{sum(row[0] for row in rows):.0f} %'

    def sym(self, pattern):
        return f'{sum(row[0] for row in self.data["perf"]["functions"] if re.search(pattern, row[2])):.0f} %'

    def calls(self, name):
        strace = self.data['strace']
        count = next((row[1] for row in strace['calls'] if row[0] == name), None) if name else strace['all']
        return f'{count:,}'

    def prog(self, name):
        return ns(sum(row[2] for row in self.data['programs'] if row[0] == name))

    def links(self, _):
        linking = self.data['linking']
        return f'{linking["relocations"] + linking["relative"]:,} relocations'

    def imports(self, _):
        return f'{ns(self.data["imports"]["us"] * 1e3)} in {self.data["imports"]["modules"]} modules'

    def import_(self, name):
        return ns(next(row[1] for row in self.data['imports']['longest'] if row[0] == name) * 1e3)

    def js(self, name):
        return f'{next(row[1] for row in self.data["cpu_profile"]["packages"] if row[0] == name):.0f} %'

    def own(self, pattern):
        return f'`{re.sub(r" +", " ", self.data["own"]["found"][pattern] or "-")}`'

    def filled(self, text):
        def value(match):
            kind, _, argument = match[1].partition(':')
            try:
                return getattr(self, {'import': 'import_'}.get(kind, kind))(argument)
            except (KeyError, StopIteration, TypeError, IndexError):
                self.missing.append(f'not measured: {match[0]}')
                return '?'

        return re.sub(r'\{(\w+(?::(?:[^{}]|\{\d*,?\d*\})+)?)\}', value, text)


def table(traced, *others):
    with open(COMMANDS, 'rb') as file:
        commands = tomllib.load(file)['command']
    trace, expert = traced.json('why/trace'), {}
    for folder in reversed([traced, *others]):
        expert |= folder.json('why/expert')

    counts, rows, short, absent = collections.Counter(), [], [], []
    for command in commands:
        name = command.get('name', command['run'])
        found = trace.get(name, {'skipped': ''})
        if 'skipped' in found:
            absent.append(title(command))
        elif 'error' in found:
            counts['wrong'] += 1
            rows.append([title(command), '', f'`trace` failed: {found["error"]}', '', 'wrong'])
        elif time(command, found) < LONG:
            short.append([title(command), ns(time(command, found)), findings(found['findings'][:1])])
        elif 'cause' not in command:
            traced.missed.append(f'{name}: no cause written')
        else:
            counts[verdict(command, found)] += 1
            rows.append(judged(command, found, Evidence(expert.get(name, {}), traced.missed)))
    return shown('\n\n'.join(parts(counts, rows, short, absent)), traced.json('why/machine')['folder'])


def parts(counts, rows, short, absent):
    yield (f'{counts.total()} commands take over 20 ms: '
           + ', '.join(f'**{counts[word]}** {text}' for word, text in VERDICTS.items() if word in counts) + '.')
    yield markdown(['command', 'time', 'what `trace` says', 'an expert says', 'verdict'], ':---|---:|:---|:---|:---', rows)
    if short:
        yield 'These take less than 20 ms. Their first finding:'
        yield markdown(['command', 'time', 'first finding'], ':---|---:|:---', short)
    if absent:
        yield f'Skipped, because they are not on this machine: {", ".join(absent)}.'


def title(command):
    name = command.get('name', command['run'])
    return name if 'name' in command and ' ' in name else f'`{name.replace("$W/venv/bin/", "")}`'


def time(command, found):
    """A program that does not end by itself is measured until its first byte."""
    return found['first_byte_ns'] if 'options' in command and found['first_byte_ns'] else found['total_ns']


def findings(found):
    rows = []
    for number, finding in enumerate(found[:SHOWN], 1):
        cost, text = finding['text'].split(': ', 1)
        share = re.search(r'([\d.]+ %)$', cost)
        rows.append(f'{number}. {ns(finding["costs_ns"] if "costs_ns" in finding else finding["ns"])}, {share[1] if share else "?"}: {cut(text, 230 if number == 1 else 110)}')
    return '<br>'.join(rows) or 'no finding'


def cut(text, most):
    if len(text) <= most:
        return text
    text = text[:most].rsplit(' ', 1)[0].rstrip(' ,;:')
    return text + ('`' if text.count('`') % 2 else '') + ' …'


def judged(command, found, evidence):
    note = f'<br>{evidence.filled(command["note"])}' if 'note' in command else ''
    return [title(command), ns(time(command, found)), findings(found['findings']),
            f'{evidence.filled(command["cause"])}. {evidence.filled(command["evidence"])}', f'**{verdict(command, found)}**{note}']


def verdict(command, found):
    if 'verdict' in command:
        return command['verdict']
    if not found['findings']:
        return 'no finding'
    places = [place for place, finding in enumerate(found['findings'])
              if re.search(command['names'], f'{finding["rule"]}: {finding["text"]}')]
    return 'wrong' if not places else 'partly' if places[0] else 'agrees'


def shown(text, folder):
    """Without the folders of the machine."""
    folders = {os.path.realpath(f'{folder}/{part}') for part in ('', 'npm', 'venv')} | {folder, os.path.expanduser('~')}
    for path in sorted(folders, key=len, reverse=True):
        text = text.replace(path, '…')
    return text
