# SPDX-License-Identifier: LGPL-2.1-or-later
# jumped.py: what a Python program does with texts, numbers, threads, a database and exceptions.
import hashlib, json, re, zlib, threading, sqlite3, random, decimal
r=random.Random(5)
d={str(i):[r.random() for _ in range(5)] for i in range(500)}
s=json.dumps(d); print(hashlib.sha256(s.encode()).hexdigest(), len(zlib.compress(s.encode())))
print(len(re.findall(r'0\.\d*5', s)), sum(sorted(len(x) for x in s.split(','))))
c=sqlite3.connect(':memory:'); c.execute('create table t(a,b)'); c.executemany('insert into t values(?,?)',[(i,i*i%97) for i in range(3000)])
print(c.execute('select sum(a),count(distinct b) from t where b%3=1').fetchall())
out=[]
def f(n):
    out.append(sum(decimal.Decimal(i)/7 for i in range(n)))
ts=[threading.Thread(target=f,args=(300+i,)) for i in range(8)]
[t.start() for t in ts]; [t.join() for t in ts]
print(sorted(out)[-1])
class A(Exception): pass
def g(n):
    if n==0: raise A('x')
    try: g(n-1)
    except A as e: raise A(str(n)) from e
try: g(50)
except A as e: print(e)
try:
    def h(): return h()
    h()
except RecursionError: print('rec')
