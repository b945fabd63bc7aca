# Tells what it could reach: services of the gate's machine, the cloud's metadata, the world.
import os
import socket


def reaches(family, kind, address):
    try:
        with socket.socket(family, kind) as it:
            it.settimeout(2)
            it.connect(address)
            return True
    except OSError:
        return False


port, udp_port = int(os.environ["PORT"]), int(os.environ["UDP_PORT"])
STREAM, DATAGRAM = socket.SOCK_STREAM, socket.SOCK_DGRAM
for family, kind, address in [
    (socket.AF_INET, STREAM, ("127.0.0.1", port)),
    (socket.AF_INET, STREAM, ("127.0.0.2", port)),
    (socket.AF_INET, STREAM, ("0.0.0.0", port)),
    (socket.AF_INET6, STREAM, ("::ffff:127.0.0.1", port)),
    (socket.AF_INET, STREAM, ("169.254.169.254", 80)),
    (socket.AF_INET6, STREAM, ("fd00:ec2::254", 80)),
    (socket.AF_INET, DATAGRAM, ("192.0.2.1", 53)),
    (socket.AF_INET, STREAM, (os.environ["HOST_ADDRESS"], port)),
]:
    if reaches(family, kind, address):
        print("reached", address)
# Whether a datagram arrives is seen by the gate.
for address in ["127.0.0.1", os.environ["HOST_ADDRESS"]]:
    try:
        with socket.socket(socket.AF_INET, DATAGRAM) as it:
            it.sendto(b"from a sandbox", (address, udp_port))
    except OSError:
        pass
