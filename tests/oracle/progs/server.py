# SPDX-License-Identifier: LGPL-2.1-or-later
import http.server
import os

h = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
open("port.tmp", "w").write(str(h.server_port))
os.rename("port.tmp", "port")
h.handle_request()
h.handle_request()
