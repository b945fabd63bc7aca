# Another run at the same time: it has secrets of every kind, and tells at its end whether anybody came near it.
import ctypes
import os
import signal
import socket

SECRET = os.environ["NEIGHBOURS_SECRET"].encode()
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p

signals = []
for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM}:
    try:
        signal.signal(number, lambda it, _: signals.append(it))
    except (OSError, ValueError):
        pass
for directory in [".", os.environ["HOME"], os.environ["TMPDIR"], "/tmp", "/dev/shm"]:
    try:
        with open(f"{directory}/the-neighbours-secret", "wb") as file:
            file.write(SECRET)
        # Shared memory is made for its owner alone; what lies in its own directories is open to all there.
        os.chmod(f"{directory}/the-neighbours-secret", 0o600 if directory == "/dev/shm" else 0o666)
    except OSError:
        pass
try:
    held = os.memfd_create("the-neighbours-secret")
    os.write(held, SECRET)
except OSError:
    # Refused where nothing counts such memory.
    pass

listeners = []
for family, address in [
    (socket.AF_INET, ("127.0.0.1", int(os.environ["NEIGHBOURS_PORT"]))),
    (socket.AF_UNIX, "\0" + os.environ["NEIGHBOURS_ABSTRACT"]),
    (socket.AF_UNIX, "the-neighbours-socket"),
]:
    try:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.bind(address)
        listener.listen()
        listener.setblocking(False)
        listeners.append(listener)
    except OSError:
        pass
key = int(os.environ["IPC_KEY"])
CREATE = 0o1000 | 0o666
shared = libc.shmget(key, 4096, CREATE)
if shared >= 0:
    ctypes.memmove(libc.shmat(shared, None, 0), SECRET, len(SECRET))
libc.semget(key, 1, CREATE)
libc.msgget(key, CREATE)
queue = libc.mq_open(f"/gate-exec-{key}".encode(), os.O_CREAT | os.O_RDWR, 0o666, None)
if queue >= 0:
    libc.mq_send(queue, SECRET, len(SECRET), 1)

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
# By this name the gate sees that it is ready, and lets the others begin.
libc.prctl(15, b"ready", 0, 0, 0)
signal.sigwait({signal.SIGTERM})
for listener in listeners:
    try:
        print("somebody connected:", listener.accept())
    except OSError:
        pass
for number in signals:
    print("somebody sent", number)
print("done, with", len(listeners), "listeners")
