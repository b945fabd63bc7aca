# Tells which of these sockets of the gate it could connect to. An abstract one begins with `@`.
import socket
import sys

for name in sys.argv[1:]:
    address = "\0" + name[1:] if name.startswith("@") else name
    for kind in [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET]:
        try:
            with socket.socket(socket.AF_UNIX, kind) as it:
                it.connect(address)
                print("connected to", name)
        except OSError:
            pass
a, b = socket.socketpair()
a.sendall(b"pairs work")
assert b.recv(16) == b"pairs work"
