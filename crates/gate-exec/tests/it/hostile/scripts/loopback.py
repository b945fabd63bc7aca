# A server and its client, as a test of a web service has them.
import errno
import socket
import threading

try:
    server = socket.create_server(("127.0.0.1", 0))
except OSError as error:
    print(errno.errorcode[error.errno])
    raise SystemExit(0)


def serve():
    peer, _ = server.accept()
    peer.sendall(b"served")
    peer.close()


threading.Thread(target=serve).start()
with socket.create_connection(server.getsockname()) as client:
    print(client.recv(16).decode())
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.bind(("127.0.0.1", 0))
datagrams.sendto(b"and datagrams", datagrams.getsockname())
print(datagrams.recv(16).decode())
