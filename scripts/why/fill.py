#!/usr/bin/env python3
"""fill.py TRACE [EXPERT…]: writes the table of docs/why.md from TRACE/trace.json, EXPERT/expert.json and commands.toml. EXPERT is
TRACE if it is not given. If several have a command, the last one counts.

In `evidence` these are filled from the measurement:
  {time} {without}     wall time, and that of the command without its cause (`perf stat -r`)
  {perf:FILE}          samples in files that match, in percent (`perf record -e cpu-clock`, `perf report --sort dso`)
  {sym:FUNCTION}       samples in functions that match (`perf report --sort sym`)
  {calls:NAME}         how often a system call is made (`strace -f -c`); {calls}: all
  {prog:NAME}          a program, from its exec to its end (`strace -f -e execve -ttt`)
  {links}              relocations, with the relative ones (`LD_DEBUG=statistics`)
  {imports} {import:M} all imports, one with all that it imports (`python -X importtime`)
  {js:PACKAGE}         samples whose stack has code of the package (`node --cpu-prof`)
  {own:PATTERN}        the first line of the runtime's own report that matches

A finding that matches `names` names the cause. The verdict is "agrees" if it is the first one, "partly" if others come before it."""
import json, os, re, sys, tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
DOC = f'{HERE}/../../docs/why.md'
LONG = 20e6  # ns: shorter commands need no finding
SHOWN = 3    # findings

def ns(time):
    for unit, size in (('s', 1e9), ('ms', 1e6), ('µs', 1e3)):
        if time >= size: return f'{time / size:.3g} {unit}' if time < 1000 * size else f'{time / size:.0f} {unit}'
    return f'{time:.0f} ns'

def cut(text, most):
    if len(text) <= most: return text
    text = text[:most].rsplit(' ', 1)[0].rstrip(' ,;:')
    return text + ('`' if text.count('`') % 2 else '') + ' …'

class Evidence:
    """The figures of one command."""
    def __init__(self, expert): self.data = expert

    def time(self, _): return ns(self.data['stat'][0])
    def without(self, _): return ns(self.data['without'][0])

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
            try: return getattr(self, {'import': 'import_'}.get(kind, kind))(argument)
            except (KeyError, StopIteration, TypeError, IndexError): missing.append(match[0]); return '?'
        return re.sub(r'\{(\w+(?::(?:[^{}]|\{\d*,?\d*\})+)?)\}', value, text)

def findings(trace):
    rows = []
    for number, finding in enumerate(trace['findings'][:SHOWN], 1):
        cost, text = finding['text'].split(': ', 1)
        share = re.search(r'([\d.]+ %)$', cost)
        rows.append(f'{number}. {ns(finding["ns"])}, {share[1] if share else "?"}: {cut(text, 230 if number == 1 else 110)}')
    return '<br>'.join(rows) or 'no finding'

def verdict(command, trace):
    """The word, and the place of the finding that names the cause."""
    places = [n for n, finding in enumerate(trace['findings']) if re.search(command['names'], f'{finding["rule"]}: {finding["text"]}')]
    if 'verdict' in command: return command['verdict']
    if not trace['findings']: return 'no finding'
    if not places: return 'wrong'
    return 'agrees' if places[0] == 0 else 'partly'

def shown(text, folder):
    """Without the folders of this machine."""
    folders = {os.path.realpath(f'{folder}/{part}') for part in ('', 'npm', 'venv')} | {folder, os.path.expanduser('~')}
    for path in sorted(folders, key=len, reverse=True):
        text = text.replace(path, '…')
    return text.replace('|', '\\|')

missing = []
def main():
    traced, asked = sys.argv[1], sys.argv[2:] or sys.argv[1:]
    commands = tomllib.load(open(f'{HERE}/commands.toml', 'rb'))['command']
    trace, facts = (json.load(open(f'{traced}/{file}.json')) for file in ('trace', 'machine'))
    expert = {}
    for folder in asked: expert |= json.load(open(f'{folder}/expert.json'))
    counts, rows, short, absent = {}, [], [], []
    for command in commands:
        name = command.get('name', command['run'])
        title = f'`{name.replace("$W/venv/bin/", "")}`' if 'name' not in command or ' ' not in name else name
        own = trace.get(name)
        if own is None or 'skipped' in own:
            absent.append(title); continue
        if 'error' in own:
            rows.append(f'| {title} | | `trace` failed: {own["error"]} | | wrong |'); counts['wrong'] = counts.get('wrong', 0) + 1; continue
        time = own['first_byte_ns'] if 'options' in command and own['first_byte_ns'] else own['total_ns']
        if time < LONG:
            first = own['findings'][0] if own['findings'] else None
            short.append(f'| {title} | {ns(time)} | {findings({"findings": own["findings"][:1]})} |'); continue
        evidence = Evidence(expert.get(name, {}))
        if 'cause' not in command:
            print(f'{name}: no cause written', file=sys.stderr); continue
        word = verdict(command, own)
        counts[word] = counts.get(word, 0) + 1
        note = f'<br>{evidence.filled(command["note"])}' if 'note' in command else ''
        rows.append(f'| {title} | {ns(time)} | {findings(own)} | {evidence.filled(command["cause"])}. {evidence.filled(command["evidence"])} | **{word}**{note} |')
    order = ('agrees', 'partly', 'wrong', 'no finding')
    total = sum(counts.values())
    out = [f'{total} commands take over 20 ms: ' + ', '.join(f'**{counts[w]}** {w.replace("agrees", "agree")}' for w in order if w in counts) + '.', '',
           '| command | time | what `trace` says | an expert says | verdict |', '|:---|---:|:---|:---|:---|', *rows, '']
    if short: out += ['These take less than 20 ms. Their first finding:', '', '| command | time | first finding |', '|:---|---:|:---|', *short, '']
    if absent: out += [f'Skipped, because they are not on this machine: {", ".join(absent)}.', '']
    document = open(DOC).read()
    text = shown('\n'.join(out).strip(), facts['folder']).replace('\\|', '|')
    assert '<!-- table -->' in document
    document = re.sub(r'<!-- table -->.*<!-- end of table -->', lambda _: f'<!-- table -->\n{text}\n<!-- end of table -->', document, flags=re.S)
    open(DOC, 'w').write(document)
    print(counts)
    if missing: print('not measured:', ' '.join(missing), file=sys.stderr)

main()
