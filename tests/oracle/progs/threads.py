# SPDX-License-Identifier: LGPL-2.1-or-later
import queue
import threading

q = queue.Queue()
def work():
    for i in range(50):
        q.put(i)
ts = [threading.Thread(target=work) for _ in range(4)]
for t in ts:
    t.start()
for t in ts:
    t.join()
print(q.qsize())
