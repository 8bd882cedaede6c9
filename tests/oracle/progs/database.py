# SPDX-License-Identifier: LGPL-2.1-or-later
import sqlite3
d = sqlite3.connect("x.db")
d.execute("create table t(a, b)")
d.executemany("insert into t values(?, ?)", [(i, "v%d" % i) for i in range(100)])
d.commit()
print(d.execute("select count(*) from t").fetchall())
