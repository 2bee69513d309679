import subprocess,json,statistics
O='./before'; N='./after'
import os
progs=[p for p in ['./hello','./chello','./gohello'] if os.path.exists(p)]
res={}
def run(c): return json.loads(subprocess.run(c,stdout=subprocess.PIPE,stderr=subprocess.DEVNULL).stdout)
for r in range(5):
    for name,F in ([('before',O),('after',N)] if r%2==0 else [('after',N),('before',O)]):
        d=run([F,'bench','-N','--runs','600','--no-counts','--backend','bpf','--export-json','-',*progs])
        for o in d['tool']['observer_overhead']: res.setdefault(('phases',o['name'],name),[]).append(o['ratio'])
        for p in progs:
            d=run([F,'trace','-r','60','--no-samples','--no-runtimes','--backend','bpf','--export-json','-','--',p])
            for o in d['tool']['observer_overhead']: res.setdefault(('trace',p,name),[]).append(o['ratio'])
for k in sorted(res): print(*k, round(statistics.median(res[k]),3), [round(x,3) for x in sorted(res[k])])
json.dump({'|'.join(k):v for k,v in res.items()},open('overhead.json','w'))
