# Looks for secrets of the gate and of another run, by every way it can think of, and tells what it found.
# A secret says so: whatever is read is searched for its first words.
import ctypes
import mmap
import os
import signal
import socket
import time

PATTERN = b"THE-SECRET" + b"-OF-"
own = os.getpid()
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
gate = int(os.environ["GATE_PID"])
paths = os.environ["PATHS"].split(":")
seen = {int(it) for it in os.listdir("/proc") if it.isdigit()} | {gate, os.getppid(), 1}
seen -= {own}


def look(path, most=1 << 20):
    try:
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
        file = os.open(path, flags)
    except OSError:
        return
    try:
        if PATTERN in os.read(file, most):
            print("read", path)
    except OSError:
        pass
    finally:
        os.close(file)


# Its own environment and descriptors.
look("/proc/self/environ")
for name in os.listdir("/proc/self/fd"):
    if int(name) > 2:
        try:
            print("has inherited", os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            pass
    try:
        os.lseek(int(name), 0, os.SEEK_SET)
        look(f"/proc/self/fd/{name}")
        if PATTERN in os.read(int(name), 1 << 20):
            print("read its descriptor", name)
    except OSError:
        pass

# Files, by ways around.
os.symlink("/", "root")
os.symlink("../../../../../../../../..", "up")
ways = ["", "root", "up", "/proc/self/root", "/proc/self/root/..", "/proc/self/cwd/up", "/proc/thread-self/root"]
ways += [f"/proc/{pid}/{it}" for pid in seen for it in ["root", "cwd/../../../../../../../../.."]]
for path in paths + ["/etc/shadow"]:
    for way in ways:
        look(way + path)
        try:
            # These are directories of all, in which each has its own files.
            if path not in ["/etc/shadow", "/dev/shm/the-neighbours-secret", "/tmp/the-neighbours-secret"]:
                if os.listdir(os.path.dirname(way + path)):
                    print("listed", os.path.dirname(way + path))
        except OSError:
            pass
for it in ["/etc/shadow", "root/etc/shadow", "up/etc/shadow", "/proc/1/root/etc/shadow"]:
    try:
        with open(it, "rb") as file:
            print("read", len(file.read()), "bytes of", it)
    except OSError:
        pass
skipped = {"/usr", "/proc", "/sys", "/bin", "/sbin", "/lib", "/lib64"}
give_up = time.monotonic() + 3
for directory, below, names in os.walk("/"):
    if time.monotonic() > give_up:
        break
    below[:] = [it for it in below if os.path.join(directory, it) not in skipped]
    for name in names:
        if "secret" in name:
            look(os.path.join(directory, name))

# Other processes.
for pid in seen:
    for name in ["environ", "cmdline", "mem", "auxv"]:
        look(f"/proc/{pid}/{name}")
    try:
        with open(f"/proc/{pid}/maps") as maps:
            if maps.read():
                print("read the maps of", pid)
    except OSError:
        pass
    for number in range(64):
        look(f"/proc/{pid}/fd/{number}")
    # None that harms whoever has no walls around it.
    for it in [0, signal.SIGCONT]:
        try:
            os.kill(pid, it)
            print("could signal", pid)
        except OSError:
            pass
    try:
        os.close(os.pidfd_open(pid))
        signal.pidfd_send_signal(os.pidfd_open(pid), 0)
        print("could signal by descriptor", pid)
    except (OSError, AttributeError):
        pass

# Sockets.
port, other_port = int(os.environ["PORT"]), int(os.environ["NEIGHBOURS_PORT"])
for family, address in [
    (socket.AF_INET, ("127.0.0.1", port)),
    (socket.AF_INET, ("127.0.0.1", other_port)),
    (socket.AF_UNIX, os.environ["SOCKET"]),
    (socket.AF_UNIX, "\0" + os.environ["ABSTRACT"]),
    (socket.AF_UNIX, "\0" + os.environ["NEIGHBOURS_ABSTRACT"]),
] + [(socket.AF_UNIX, f"{os.path.dirname(it)}/the-neighbours-socket") for it in paths]:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as it:
            it.connect(address)
            print("connected to", address)
    except OSError:
        pass

# What the kernel keeps for all of a namespace.
key = int(os.environ["IPC_KEY"])
shared = libc.shmget(key, 0, 0)
if shared >= 0:
    print("found shared memory")
    at = libc.shmat(shared, None, 0o10000)
    if at != ctypes.c_void_p(-1).value and PATTERN in ctypes.string_at(at, 256):
        print("read shared memory")
if libc.semget(key, 0, 0) >= 0:
    print("found semaphores")
if libc.msgget(key, 0) >= 0:
    print("found a message queue")
if libc.mq_open(f"/gate-exec-{key}".encode(), os.O_RDONLY) >= 0:
    print("found a message queue by its name")
for line in open("/proc/keys") if os.access("/proc/keys", os.R_OK) else []:
    if "gate" in line:
        print("sees keys", line)
