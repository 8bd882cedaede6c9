# SPDX-License-Identifier: LGPL-2.1-or-later
import array
import os
import select
import socket



def wait(sock):  # what is sent arrives at once, or when the kernel gets to it
    p = select.poll()
    p.register(sock, select.POLLIN)
    p.poll(60000)


s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", 0))
s.listen(3)
c = socket.create_connection(s.getsockname())
a, who = s.accept()
c.sendall(b"hello" * 20)
print(a.recv(1000))
a.setblocking(False)
try:
    a.recv(1)
except BlockingIOError:
    pass
c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
c.settimeout(60)
c.shutdown(socket.SHUT_WR)
wait(a)
print(a.recv(1))
u, v = socket.socketpair()
r, w = os.pipe()
u.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [r, w]))])
print(len(v.recvmsg(10, socket.CMSG_LEN(8))[1]))
d = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
d.bind(("127.0.0.1", 0))
d.sendto(b"dgram", d.getsockname())
print(d.recvfrom(100)[0])
x = socket.socket(socket.AF_UNIX)
name = "\0oracle-abstract-%d" % os.getpid()
x.bind(name)
x.listen()
y = socket.socket(socket.AF_UNIX)
y.connect(name)
server = x.accept()[0]
print(server.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12) != b"")
six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
six.bind(("::1", 0))
print(six.getsockname()[0])
p = select.poll()
p.register(v, select.POLLIN | select.POLLOUT)
print(len(p.poll(100)))
e = select.epoll()
e.register(v, select.EPOLLOUT)
print(len(e.poll(1)))
e.close()
print(socket.getaddrinfo("127.0.0.1", 80, type=socket.SOCK_STREAM)[0][4])
