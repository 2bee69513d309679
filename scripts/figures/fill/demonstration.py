"""Two programs that differ by 3 %, compared by three tools: a table, a summary and a picture."""
from results import table as markdown, wrapped

TOOLS = ['hyperfine 1.20 -N', 'hyperfine 2.0.0', 'firstbyte']
OURS = TOOLS[-1]
STATES = {'quiet': 'nothing else running', 'busy': 'beside two busy loops'}


class Demonstration:
    def __init__(self, results):
        found = results.json('hyperfine-demonstration')['results']
        numbers = [trial['trial'] for trial in found['trials']]
        # a trial that was interrupted has not every tool in both states
        self.trials = [trial for trial in found['trials'] if numbers.count(trial['trial']) == len(TOOLS) * len(STATES) * 2]
        self.spin = found['spin_ns']
        # the spin always takes as long; the program does not, if the speed of the machine changes
        self.truths = sorted(1 + self.spin / trial['base_ns'] for trial in self.of(OURS, 'quiet'))

    def of(self, tool, state, kind=None):
        trials = [trial for trial in self.trials if (trial['tool'], trial['state']) == (tool, state) and kind in (None, trial['kind'])]
        return sorted(trials, key=lambda trial: trial['trial'])

    def truth(self):
        return f'{self.truths[0]:.3f} to {self.truths[-1]:.3f}'

    def slower_by(self):
        return f'{(self.truths[0] - 1) * 100:.1f} to {(self.truths[-1] - 1) * 100:.1f} %'


def span(trials, key, digits):
    values = [trial[key] for trial in trials]
    return f'{min(values):.{digits}f} to {max(values):.{digits}f}'


def said_slower(trials):
    return sum(trial['low'] > 1 for trial in trials)


def wrong_sign(trials):
    return sum(trial['ratio'] < 1 for trial in trials)


def table(results):
    shown = Demonstration(results)
    return markdown(['tool, with its defaults', 'machine', 'ratio found', '"slower"', 'wrong sign', 'a program with itself', 'false alarms',
                     'seconds'], ':---|:---|---:|---:|---:|---:|---:|---:',
                    (compared(shown, tool, state) for state in STATES for tool in TOOLS))


def compared(shown, tool, state):
    slower, same = shown.of(tool, state, 'slower'), shown.of(tool, state, 'same')
    alarms = sum(trial['low'] > 1 or trial['high'] < 1 for trial in same)
    return [tool, STATES[state], span(slower, 'ratio', 3), f'{said_slower(slower)} of {len(slower)}',
            f'{wrong_sign(slower)} of {len(slower)}', span(same, 'ratio', 3), f'{alarms} of {len(same)}', span(slower, 'seconds', 1)]


def summary(results):
    shown = Demonstration(results)
    slower = [trial for trial in shown.trials if trial['kind'] == 'slower']
    ours = [trial for trial in slower if trial['tool'] == OURS]
    theirs = [trial for trial in slower if trial['tool'] != OURS]
    found = {(tool, state): span(shown.of(tool, state, 'slower'), 'ratio', 3 if tool == OURS else 2) for tool in TOOLS for state in STATES}

    text = (f'The second program spins for {shown.spin / 1e3:.0f} µs more, which makes it {shown.slower_by()} slower, depending on the '
            f'speed of this machine. With nothing else running, hyperfine 1.20 found ratios of {found[TOOLS[0], "quiet"]}, hyperfine '
            f'2.0.0 {found[TOOLS[1], "quiet"]}, and firstbyte {found[OURS, "quiet"]}. Beside two busy loops they were '
            f'{found[TOOLS[0], "busy"]}, {found[TOOLS[1], "busy"]} and {found[OURS, "busy"]}. {wrong_sign(theirs)} of hyperfine\'s '
            f'{len(theirs)} ratios have the wrong sign; firstbyte said "slower" in {said_slower(ours)} of {len(ours)}, with 99 % '
            'intervals. Each tool ran with its defaults; [docs/bench.md](docs/bench.md) says how, and counts false alarms.')
    return '![Comparisons of two programs that differ by 3 %, by each tool](docs/plots/demonstration.svg)\n\n' + wrapped(text)


PITCH, TOP, LEFT, PANEL, GAP = 5, 74, 16, 400, 32  # of the picture, in pixels
LOW, HIGH = 0.4, 1.6  # ratios
TICKS = (0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6)


def picture(results):
    shown = Demonstration(results)
    count = max(len(shown.of(tool, state, 'slower')) for tool in TOOLS for state in STATES)
    group = count * PITCH + 34
    bottom = TOP + group * len(TOOLS) - 8
    out = opening(shown, count, LEFT * 2 + PANEL * 2 + GAP, bottom + 48)

    for place, (state, name) in enumerate(STATES.items()):
        at = LEFT + place * (PANEL + GAP)
        out.append(f'<text x="{at}" y="46" class="m">{name}</text>')
        for n, tool in enumerate(TOOLS):
            out += comparisons(shown, shown.of(tool, state, 'slower'), tool, at, TOP + group * n, count)
        out += [f'<text x="{x(tick, at):.1f}" y="{bottom + 18}" text-anchor="middle" class="m" font-size="11">{tick:.1f}</text>'
                for tick in TICKS]
        out.append(f'<text x="{x(shown.truths[0], at) - 4:.1f}" y="{bottom + 34}" class="tt" font-size="11">'
                   f'true ratio {shown.truth()}</text>')
    return '\n'.join([*out, '</svg>', ''])


def x(ratio, at):
    return at + (min(max(ratio, LOW), HIGH) - LOW) / (HIGH - LOW) * PANEL


def opening(shown, count, width, height):
    return [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'role="img" aria-labelledby="t d" font-family="system-ui, sans-serif" font-size="13">',
            '<title id="t">How firstbyte and hyperfine compare two programs that differ by 3 %</title>',
            f'<desc id="d">For each of {count} comparisons by each tool: the ratio that it found, with its interval. '
            f'The true ratio is {shown.truth()}.</desc>',
            '<style>text{fill:#24292f}.m{fill:#57606a}.i{stroke:#8c959f;stroke-width:1.5}.r{fill:#0969da}.w{fill:#cf222e}'
            '.one{stroke:#8c959f;stroke-dasharray:3 3}.true{fill:#1a7f37;fill-opacity:.35}.tt{fill:#1a7f37}.wt{fill:#cf222e}'
            '@media(prefers-color-scheme:dark){text{fill:#e6edf3}.m{fill:#9198a1}.i{stroke:#7d8590}.r{fill:#58a6ff}'
            '.w,.wt{fill:#ff7b72}.one{stroke:#7d8590}.true{fill:#3fb950}.tt{fill:#3fb950}}</style>',
            f'<text x="{LEFT}" y="20" font-weight="600">The second program is {shown.slower_by()} slower. '
            f'What {count} comparisons by each tool found, with their intervals</text>']


def comparisons(shown, trials, tool, at, y, count):
    """Those of one tool: its name, what it said, the true ratio, and each ratio with its interval."""
    wrong = wrong_sign(trials)
    note = f'“slower” {said_slower(trials)} of {len(trials)}' + (f', wrong sign {wrong}' if wrong else '')
    yield f'<text x="{at}" y="{y}" font-weight="600">{tool}</text>'
    yield f'<text x="{at + PANEL}" y="{y}" text-anchor="end" class="{"wt" if wrong else "m"}">{note}</text>'

    left = x(shown.truths[0], at)
    width = max(x(shown.truths[-1], at) - left, 2)
    yield f'<rect class="true" x="{left:.1f}" width="{width:.1f}" y="{y + 6}" height="{6 + PITCH * count}"/>'
    yield f'<line class="one" x1="{x(1, at):.1f}" x2="{x(1, at):.1f}" y1="{y + 6}" y2="{y + 12 + PITCH * count}"/>'

    for line, trial in enumerate(trials):
        v = y + 12 + line * PITCH
        yield f'<line class="i" x1="{x(trial["low"], at):.1f}" x2="{x(trial["high"], at):.1f}" y1="{v}" y2="{v}"/>'
        yield f'<circle class="{"w" if trial["ratio"] < 1 else "r"}" cx="{x(trial["ratio"], at):.1f}" cy="{v}" r="2.2"/>'
