# SPDX-License-Identifier: LGPL-2.1-or-later
import subprocess
print(subprocess.run(["/bin/echo", "hi"], capture_output=True).stdout)
print(subprocess.run("exit 3", shell=True).returncode)
p = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(p.communicate(b"data"))
