#!/usr/bin/env python3
"""Draws docs/plots/demonstration.svg from the JSON of `cargo bench --bench hyperfine -- --only demonstration`, and fills
the tables of README.md and docs/bench.md. Run it in the checkout: demonstration.py results/…/hyperfine-demonstration.json"""
import json, re, sys, textwrap

source = sys.argv[1]
data = json.load(open(source))['results']
trials, spin = data['trials'], data['spin_ns']
TOOLS = ['hyperfine 1.20 -N', 'hyperfine 2.0.0', 'firstbyte']
STATES = [('quiet', 'nothing else running'), ('busy', 'beside two busy loops')]

# A trial that was interrupted has not every tool, or not in every state.
numbers = [t['trial'] for t in trials]
trials = [t for t in trials if numbers.count(t['trial']) == len(TOOLS) * len(STATES) * 2]

def of(tool, state, kind):
    found = [t for t in trials if (t['tool'], t['state'], t['kind']) == (tool, state, kind)]
    return sorted(found, key=lambda t: t['trial'])

# The spin is always as long; the program is not, where the speed of the machine changes.
truths = sorted(1 + spin / t['base_ns'] for t in trials if t['tool'] == 'firstbyte' and t['state'] == 'quiet')
truth = f'{truths[0]:.3f} to {truths[-1]:.3f}'
slower_by = f'{(truths[0] - 1) * 100:.1f} to {(truths[-1] - 1) * 100:.1f} %'

def table():
    rows = ['| tool, with its defaults | machine | ratio found | "slower" | wrong sign | a program with itself | false alarms | seconds |',
            '|:---|:---|---:|---:|---:|---:|---:|---:|']
    for state, name in STATES:
        for tool in TOOLS:
            slower, same = of(tool, state, 'slower'), of(tool, state, 'same')
            n, m = len(slower), len(same)
            span = lambda all, key, digits: f'{min(t[key] for t in all):.{digits}f} to {max(t[key] for t in all):.{digits}f}'
            said = sum(t['low'] > 1 for t in slower)
            wrong = sum(t['ratio'] < 1 for t in slower)
            alarms = sum(t['low'] > 1 or t['high'] < 1 for t in same)
            rows.append(f'| {tool} | {name} | {span(slower, "ratio", 3)} | {said} of {n} | {wrong} of {n} '
                        f'| {span(same, "ratio", 3)} | {alarms} of {m} | {span(slower, "seconds", 1)} |')
    return '\n'.join(rows)

def svg():
    count = max(len(of(tool, state, 'slower')) for tool in TOOLS for state, _ in STATES)
    pitch, group, top, left, panel, gap = 5, count * 5 + 34, 74, 16, 400, 32
    low, high = 0.4, 1.6
    width, height = left * 2 + panel * 2 + gap, top + group * len(TOOLS) + 40
    x = lambda ratio, at: at + (min(max(ratio, low), high) - low) / (high - low) * panel
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           'role="img" aria-labelledby="t d" font-family="system-ui, sans-serif" font-size="13">',
           '<title id="t">How firstbyte and hyperfine compare two programs that differ by 3 %</title>',
           f'<desc id="d">For each of {count} comparisons by each tool: the ratio that it found, with its interval. '
           f'The true ratio is {truth}.</desc>',
           '<style>text{fill:#24292f}.m{fill:#57606a}.i{stroke:#8c959f;stroke-width:1.5}.r{fill:#0969da}.w{fill:#cf222e}'
           '.one{stroke:#8c959f;stroke-dasharray:3 3}.true{fill:#1a7f37;fill-opacity:.35}.tt{fill:#1a7f37}.wt{fill:#cf222e}'
           '@media(prefers-color-scheme:dark){text{fill:#e6edf3}.m{fill:#9198a1}.i{stroke:#7d8590}.r{fill:#58a6ff}'
           '.w,.wt{fill:#ff7b72}.one{stroke:#7d8590}.true{fill:#3fb950}.tt{fill:#3fb950}}</style>',
           f'<text x="{left}" y="20" font-weight="600">The second program is {slower_by} slower. '
           f'What {count} comparisons by each tool found, with their intervals</text>']
    for place, (state, name) in enumerate(STATES):
        at = left + place * (panel + gap)
        out.append(f'<text x="{at}" y="46" class="m">{name}</text>')
        bottom = top + group * len(TOOLS) - 8
        for n, tool in enumerate(TOOLS):
            y = top + group * n
            slower = of(tool, state, 'slower')
            wrong = sum(t['ratio'] < 1 for t in slower)
            said = sum(t['low'] > 1 for t in slower)
            note = f'“slower” {said} of {len(slower)}' + (f', wrong sign {wrong}' if wrong else '')
            out.append(f'<text x="{at}" y="{y}" font-weight="600">{tool}</text>')
            out.append(f'<text x="{at + panel}" y="{y}" text-anchor="end" class="{"wt" if wrong else "m"}">{note}</text>')
            rows = f'y1="{y + 6}" y2="{y + 12 + pitch * count}"'  # not through the words
            width_of_truth = max(x(truths[-1], at) - x(truths[0], at), 2)
            out.append(f'<rect class="true" x="{x(truths[0], at):.1f}" width="{width_of_truth:.1f}" y="{y + 6}" height="{6 + pitch * count}"/>')
            out.append(f'<line class="one" x1="{x(1, at):.1f}" x2="{x(1, at):.1f}" {rows}/>')
            for line, t in enumerate(slower):
                v = y + 12 + line * pitch
                out.append(f'<line class="i" x1="{x(t["low"], at):.1f}" x2="{x(t["high"], at):.1f}" y1="{v}" y2="{v}"/>')
                kind = 'w' if t['ratio'] < 1 else 'r'
                out.append(f'<circle class="{kind}" cx="{x(t["ratio"], at):.1f}" cy="{v}" r="2.2"/>')
        for tick in (0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6):
            out.append(f'<text x="{x(tick, at):.1f}" y="{bottom + 18}" text-anchor="middle" class="m" font-size="11">{tick:.1f}</text>')
        out.append(f'<text x="{x(truths[0], at) - 4:.1f}" y="{bottom + 34}" class="tt" font-size="11">true ratio {truth}</text>')
    return '\n'.join(out + ['</svg>', ''])

def put(page, body):
    text = open(page).read()
    pattern = r'<!-- figures: demonstration -->.*?<!-- end of figures -->'
    assert re.search(pattern, text, re.S), page
    filled = f'<!-- figures: demonstration -->\n{body}\n<!-- end of figures -->'
    open(page, 'w').write(re.sub(pattern, lambda _: filled, text, count=1, flags=re.S))

def paragraph():
    span = lambda tool, state: '{:.2f} to {:.2f}'.format(*(pick(t['ratio'] for t in of(tool, state, 'slower')) for pick in (min, max)))
    fine = lambda state: '{:.3f} to {:.3f}'.format(*(pick(t['ratio'] for t in of('firstbyte', state, 'slower')) for pick in (min, max)))
    theirs = [t for t in trials if t['tool'] != 'firstbyte' and t['kind'] == 'slower']
    ours = [t for t in trials if t['tool'] == 'firstbyte' and t['kind'] == 'slower']
    text = (f'The second program spins for {spin / 1e3:.0f} µs more, which makes it {slower_by} slower, depending on the speed of this machine. With nothing else running, hyperfine 1.20 found '
            f'ratios of {span(TOOLS[0], "quiet")}, hyperfine 2.0.0 {span(TOOLS[1], "quiet")}, and firstbyte {fine("quiet")}. Beside two '
            f'busy loops they were {span(TOOLS[0], "busy")}, {span(TOOLS[1], "busy")} and {fine("busy")}. '
            f'{sum(t["ratio"] < 1 for t in theirs)} of hyperfine\'s {len(theirs)} ratios have the wrong sign; firstbyte said '
            f'"slower" in {sum(t["low"] > 1 for t in ours)} of {len(ours)}, with 99 % intervals. Each tool ran with its '
            'defaults; [docs/bench.md](docs/bench.md) says how, and counts false alarms.')
    picture = '![Comparisons of two programs that differ by 3 %, by each tool](docs/plots/demonstration.svg)'
    return picture + '\n\n' + textwrap.fill(text, 100, break_on_hyphens=False)

open('docs/plots/demonstration.svg', 'w').write(svg())
put('docs/bench.md', table())
put('README.md', paragraph())
print(table())
quiet, busy = (of('firstbyte', state, 'slower') for state in ('quiet', 'busy'))
print(f'truth {truth}; firstbyte quiet {min(t["ratio"] for t in quiet):.3f} to {max(t["ratio"] for t in quiet):.3f}, busy '
      f'{min(t["ratio"] for t in busy):.3f} to {max(t["ratio"] for t in busy):.3f}')
