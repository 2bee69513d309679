#!/usr/bin/env python3
"""Fills docs/findings.md from results/2026-11-22-epyc-kvm/claims.json: claims-fill.py CLAIMS_JSON TEMPLATE > docs/findings.md"""
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
F = {}
h = '000-hundredfold'
F['hundredfold'] = f"Java takes {times(h,'Java over C')}, Ruby {times(h,'Ruby over C')}, JavaScript {times(h,'JavaScript over C')} times as long"
h = '000-less-work'
F['lesswork'] = f"Java makes {times(h,'Java over C')}, Ruby {times(h,'Ruby over C')}, JavaScript {times(h,'JavaScript over C')} times as many as C"
h = '000-processes'
F['processes'] = "Java has %.0f threads, JavaScript %.0f, Ruby %.0f" % tuple(val(h, f'{l} threads') or 0 for l in ('Java', 'JavaScript', 'Ruby'))
h = '000-shares'
F['shares'] = "Of the total %s in C, %s in Java, %s in Ruby, %s in JavaScript (the post: 87, 96, 99, 96 %%)" % tuple(pc(val(h, f'{l} setup')) for l in ('C', 'Java', 'Ruby', 'JavaScript'))
F['prints'] = prints = ''
if '000-first-print' in rows:
    h = '000-first-print'; g = '000-ruby-prints-faster'
    F['prints'] = f"The first print of C takes {ns(val(h,'C, first'))} here and its hundredth {ns(val(g,'C, hundredth'))}; Ruby's first takes {ns(val(g,'Ruby, first'))}, its hundredth {ns(val(h,'Ruby, hundredth'))}."
h = '000-execve-constant'
F['execve'] = f"it takes {ns(val(h,'C'))} for C, and {three(val(h,'hello_gas32 over C'))} times that for the static program"
F['saved'] = pc(val('000-66-percent', 'saved'))
v = rows['001-order-warm']['verdict']
names = [x for x in rows['001-order-warm']['values'] if not x.get('quiet') and x['value']]
names.sort(key=lambda x: x['value'])
F['order'] = ('is the same here' if v == 'holds' else 'is not quite the same here') + ': ' + ', '.join(f"{x['name']} {ns(x['value'])}" for x in names) + ' of setup'
F['ratios'] = ', '.join(f"{x['name'].replace(' over c','')} {three(x['value'])}" for x in rows['001-ratios-warm']['values'] if x['value'])
h = '001-no-cache-dash'; g = '001-no-cache-libc'
F['cold'] = (f"dash takes {times(h,'after drop_caches over warm')} times as long after drop_caches as warm, and {times(h,'truly cold over warm')} times when its files "
  f"are not in memory; C {times(g,'C after drop_caches')} and {times(g,'C truly cold')} times, Go {times(g,'Go after drop_caches')} and {times(g,'Go truly cold')} times.")
held = [rows[id]['verdict'] == 'holds' for id in ('001-no-cache-dash', '001-no-cache-libc')]
F['nocache'] = 'True here, too.' if all(held) else 'It meant something here.' if not any(held) else 'True for ' + ('dash' if held[0] else 'C') + ' here, not for ' + ('C.' if held[0] else 'dash.')
g = next((x['value'] for x in rows['001-go-cores']['values'] if 'over one' in x['name']), None)
F['go'] = (f"On the two processors of this machine Go is {'sooner' if rows['001-go-slow']['verdict'] != 'holds' else 'later'} than C++, bash and zsh at its first byte. "
  + (f"With both it takes {three(g)} times as long as with one: {'so there is something in it' if rows['001-go-cores']['verdict'] == 'holds' else 'that explains little'}. " if g else '') + "The post's server had ten.")
F['entry'] = ns(val('001-footnote-1', 'c')) + ' for C'
h = '001-footnote-3'
F['overhead'] = f"Observed by tracepoints, C takes {times(h,'tracepoints over nothing')} times as long as unobserved; stopped at each system call, {times(h,'ptrace stops over tracepoints')} times"
h = '002-buffered-assembly-faster'; g = '002-table-buffered'; k = '002-unbuffered-same'
F['buffered'] = (f"Its time over Go's is {times(h,'assembly over Go, 1M')} for a million lines and {times(h,'assembly over Go, 5M')} for five million (the post: 0.66). "
  f"With one write a line it is {times(k,'assembly over Go, 5M')} of Go's, where the post saw no difference.")
h = '003-no-exit-saves'
F['noexit'] = f"It does the opposite: {ns(val(h,'without'))} against {ns(val(h,'with exit'))}. A program that runs on behind its last instruction faults, and dying by a signal costs more than a system call."
h = '003-echo-48-times'; g = '003-loop-16-us'
F['shell'] = (f"Here it is {times(h,'program over echo')} times with the post's loop. A turn of the loop costs {ns(val(g,'a turn'))}; what the post took for it is the `>/dev/null` "
  f"inside the loop, which is opened and closed at each turn and costs {ns(val(g,'the redirection'))}. With the redirection outside, the builtin is {times(h,'the same without the redirection')} times as fast as a program.")
h = '003-write-is-the-floor'
F['floor'] = (f"No: a system call that does nothing takes {times(h,'getppid over write')} (getppid) and {times(h,'no such call over write')} (a call that does not exist) of the {ns(val(h,'write to /dev/null'))} "
  "of a write to /dev/null. Most of the \"floor\" is the way into the kernel and back.")
h = '004-empty-9-ms'; g = '004-tenfold'; k = '004-tenfold-strace'
F['empty'] = (f"Here it takes {ns(val(h,'under stops'))} when each of its system calls stops as under strace, and {ns(val(h,'without'))} when none does. The stub without a C library is "
  f"{times(k,'empty C over stub')} times faster under stops, {times(g,'empty C over stub')} times without.")
h = '004-no-libc-helps-most'
F['static'] = f"Dynamic {ns(val(h,'dynamic'))}, static {ns(val(h,'static'))}, none {ns(val(h,'none'))}: from static to none saves {times(h,'second saving over first')} times what static linking saves."
h = '004-five-calls'; g = '004-a-tenth'
if val(h, 'without libc'):
    F['level0'] = (f"A solution of our own, with an exact dictionary where the post's Bloom filter let most wrong words pass, makes {val(h,'without libc'):.0f} system calls and takes {ns(val(g,'without libc'))}; "
      f"the same source against glibc makes {val(h,'glibc'):.0f} and takes {ns(val(g,'glibc'))}: {times(g,'without libc over glibc')} of it ([level0.md](level0.md)).")
else:
    F['level0'] = 'See [level0.md](level0.md).'
text = open(sys.argv[2]).read()
text = re.sub(r'\{\{(\w+)\}\}', lambda m: F[m.group(1)], text)
# paragraphs are filled again to 120 columns
import textwrap
out = []
for block in text.split('\n\n'):
    if block.startswith(('#', '- ')): out.append(block)
    else: out.append(textwrap.fill(' '.join(block.split()), 120, break_long_words=False, break_on_hyphens=False))
print('\n\n'.join(out).rstrip())
