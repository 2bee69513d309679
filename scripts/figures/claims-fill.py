#!/usr/bin/env python3
"""Fills the template of docs/findings.md with the figures of a claims document: claims-fill.py CLAIMS_JSON TEMPLATE > docs/findings.md"""
import json, re, sys
rows = {r['id']: r for r in json.load(open(sys.argv[1]))['results']}

def val(id, name):
    for v in rows[id]['values']:
        if v['name'] == name:
            return v['value']
    raise KeyError((id, name))
def ns(x):
    if x is None: return 'unknown'
    for unit, size in (('s', 1e9), ('ms', 1e6), ('µs', 1e3)):
        if abs(x) >= size: return f'{three(x / size)} {unit}'
    return f'{x:.0f} ns'
def three(x):
    if x is None: return 'unknown'
    a = abs(x)
    return f'{x:.0f}' if a >= 100 else f'{x:.1f}' if a >= 10 else f'{x:.2f}' if a >= 1 else f'{x:.3f}'
def pc(x): return 'unknown' if x is None else f'{100*x:.0f} %' if abs(x) >= .1 else f'{100*x:.1f} %'
def times(id, name): return three(val(id, name))
def bounds(id, name): return next(f"{three(v['low'])} to {three(v['high'])}" for v in rows[id]['values'] if v['name'] == name)
def listed(parts): return ', '.join(parts[:-1]) + ' and ' + parts[-1]
F = {}
LANGUAGES = ('Java', 'Ruby', 'JavaScript')
h = '000-hundredfold'
F['hundredfold'] = 'Java takes {}, Ruby {} and JavaScript {} times as long'.format(*(times(h, f'{l} over C') for l in LANGUAGES))
h = '000-less-work'
F['lesswork'] = 'Java makes {}, Ruby {} and JavaScript {} times as many as C'.format(*(times(h, f'{l} over C') for l in LANGUAGES))
h = '000-processes'
F['processes'] = 'Java has %.0f threads, JavaScript %.0f and Ruby %.0f' % tuple(val(h, f'{l} threads') or 0 for l in ('Java', 'JavaScript', 'Ruby'))
h = '000-shares'
F['shares'] = listed([f"{pc(val(h, f'{l} setup'))} in {l}" for l in ('C', *LANGUAGES)])
F['prints'] = ''
if '000-first-print' in rows:
    h = '000-first-print'; g = '000-ruby-prints-faster'
    F['prints'] = (f"Here, the first print of C takes {ns(val(h, 'C, first'))} and its hundredth {ns(val(g, 'C, hundredth'))}. "
      f"Ruby's first takes {ns(val(g, 'Ruby, first'))} and its hundredth {ns(val(h, 'Ruby, hundredth'))}.")
h = '000-execve-constant'
F['execve'] = f"{ns(val(h, 'C'))} for C, and {times(h, 'hello_gas32 over C')} times that"
F['saved'] = pc(val('000-66-percent', 'saved'))
names = [x for x in rows['001-order-warm']['values'] if not x.get('quiet') and x['value'] and x['unit'] == 'ns']
names.sort(key=lambda x: x['value'])
same = 'Yes.' if rows['001-order-warm']['verdict'] == 'holds' else 'Not quite.'
F['order'] = f"{same} Setup takes " + listed([f"{ns(x['value'])} in {x['name']}" for x in names]) + '.'
F['ratios'] = ', '.join(f"{x['name'].replace(' over c', '')} {three(x['value'])}" for x in rows['001-ratios-warm']['values'] if x['value'])
h = '001-no-cache-dash'; g = '001-no-cache-libc'
F['cold'] = '\n'.join([f"| dash | {times(h, 'after drop_caches over warm')} × | {times(h, 'truly cold over warm')} × |"]
  + [f"| {l} | {times(g, f'{l} after drop_caches')} × | {times(g, f'{l} truly cold')} × |" for l in ('C', 'Go')])
held = [rows[id]['verdict'] == 'holds' for id in ('001-no-cache-dash', '001-no-cache-libc')]
F['nocache'] = ('It means little here, too.' if all(held) else 'It meant something here.' if not any(held)
  else 'True for ' + ('dash' if held[0] else 'C') + ' here, not for ' + ('C.' if held[0] else 'dash.'))
g = next((x['value'] for x in rows['001-go-cores']['values'] if 'over one' in x['name']), None)
F['go'] = (f"On the two processors of this machine, Go reaches its first byte {'before' if rows['001-go-slow']['verdict'] != 'holds' else 'after'} C++, bash and zsh."
  + (f" With both processors it takes {three(g)} times as long as with one, which explains {'a part' if rows['001-go-cores']['verdict'] == 'holds' else 'little'}." if g else ''))
F['entry'] = ns(val('001-footnote-1', 'c')) + ' for C'
h = '001-footnote-3'
F['overhead'] = (f"Observed by tracepoints, C takes {times(h, 'tracepoints over nothing')} times as long as unobserved. "
  f"Stopped at each system call, it takes {times(h, 'ptrace stops over tracepoints')} times as long as with tracepoints.")
h = '002-buffered-assembly-faster'; g = '002-table-buffered'; k = '002-unbuffered-same'
over = 'assembly over Go, '
F['buffered'] = f"{times(h, over + '1M')} for one million and {times(h, over + '5M')} for five million"
F['buffered17'] = f"{times(g, 'Go over assembly, 17.5M')}, with an interval from {bounds(g, 'Go over assembly, 17.5M')}"
F['unbuffered'] = (f"{times(k, over + '1M')} for a million lines ({bounds(k, over + '1M')}) "
  f"and {times(k, over + '5M')} for five million ({bounds(k, over + '5M')})")
h = '003-no-exit-saves'
F['noexit'] = f"{ns(val(h, 'without'))} without the exit against {ns(val(h, 'with exit'))} with it"
h = '003-echo-48-times'; g = '003-loop-16-us'
F['echo'] = times(h, 'program over echo')
F['inside'] = times(h, 'the same without the redirection')
F['turn'], F['redirection'] = ns(rows[g]['values'][0]['value']), ns(val(g, 'the redirection'))
h = '003-write-is-the-floor'
F['floor'] = (f"Of the {ns(val(h, 'write to /dev/null'))} of a write to /dev/null, a system call that does nothing takes {times(h, 'getppid over write')} (getppid), "
  f"and a call that does not exist takes {times(h, 'no such call over write')}.")
h = '004-empty-9-ms'; g = '004-tenfold'; k = '004-tenfold-strace'
F['empty'] = (f"Here the program takes {ns(val(h, 'under stops'))} if each of its system calls stops as under strace, and {ns(val(h, 'without'))} if none does. "
  f"The stub without a C library is {times(k, 'empty C over stub')} times faster with stops and {times(g, 'empty C over stub')} times without.")
h = '004-no-libc-helps-most'
F['static'] = (f"Dynamic takes {ns(val(h, 'dynamic'))}, static {ns(val(h, 'static'))}, and no C library {ns(val(h, 'none'))}. "
  f"Going from static to none saves {times(h, 'second saving over first')} times as much as going from dynamic to static.")
h = '004-five-calls'; g = '004-a-tenth'
F['level0'] = 'See [level0.md](level0.md).'
if val(h, 'without libc'):
    F['level0'] = (f"Our own solution makes {val(h, 'without libc'):.0f} system calls and takes {ns(val(g, 'without libc'))}. "
      f"The same source against glibc makes {val(h, 'glibc'):.0f} and takes {ns(val(g, 'glibc'))}, so ours takes {times(g, 'without libc over glibc')} of that ([level0.md](level0.md)).")
text = open(sys.argv[2]).read()
text = re.sub(r'\{\{(\w+)\}\}', lambda m: F[m.group(1)], text)
# wraps paragraphs and list items again at 100 columns; does not break between a number and its unit, or within code and links
import textwrap
KEPT = '\0'
def wrapped(words, first='', rest=''):
    words = re.sub(r'`[^`]+`|\[[^\]]{1,60}\]\([^)]*\)', lambda m: m[0].replace(' ', KEPT), ' '.join(words.split()))
    words = re.sub(r'(\d) (?=(?:µs|ns|ms|s|[KMG]i?B|%|×|bytes?)(?:\W|$))', lambda m: m[1] + KEPT, words)
    return textwrap.fill(words, 100, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False).replace(KEPT, ' ')
def block(text):
    if text.startswith(('#', '|', '```')): return text
    if text.startswith('- '): return '\n'.join(wrapped(item, '- ', '  ') for item in re.split(r'^- ', text, flags=re.M)[1:])
    return wrapped(text)
print('\n\n'.join(map(block, text.rstrip().split('\n\n'))))
