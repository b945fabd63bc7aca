# Tells which doors of the kernel were not closed to it: each call must be refused with EPERM.
import ctypes
import errno
import os
import platform
import socket
import struct
import time

libc = ctypes.CDLL(None, use_errno=True)
X86, ARM = 0, 1
machine = {"x86_64": X86, "aarch64": ARM}.get(platform.machine())
NEWUSER, NEWNS, SIGCHLD = 0x10000000, 0x20000, 17
zeros = ctypes.create_string_buffer(256)


def tell(what, result, refused=errno.EPERM):
    error = ctypes.get_errno()
    if result != -1:
        print(what, "was allowed")
    elif error != refused:
        print(what, "was refused with", errno.errorcode.get(error, error))


def by_number(what, numbers, *args, refused=errno.EPERM):
    if machine is None:
        return
    args = [it if isinstance(it, ctypes.Array) else ctypes.c_long(it) for it in args]
    result = libc.syscall(ctypes.c_long(numbers[machine]), *args)
    if result == 0 and what.startswith("clone"):
        os._exit(0)
    tell(what, result, refused)


by_number("io_uring_setup", (425, 425), 8, zeros)
by_number("io_uring_enter", (426, 426), 0, 0, 0, 0, 0, 0)
by_number("keyctl", (250, 219), 0, -3, 0)
by_number("add_key", (248, 217), zeros, zeros, zeros, 0, -3)
by_number("request_key", (249, 218), zeros, zeros, zeros, -3)
by_number("bpf", (321, 280), 0, zeros, 128)
by_number("userfaultfd", (323, 282), 1)
by_number("perf_event_open", (298, 241), zeros, 0, -1, -1, 0)
by_number("open_by_handle_at", (304, 265), -100, zeros, 0)
by_number("fanotify_init", (300, 262), 0, 0)
by_number("clone into a user namespace", (56, 220), NEWUSER | SIGCHLD, 0, 0, 0, 0)
by_number("clone into a mount namespace", (56, 220), NEWNS | SIGCHLD, 0, 0, 0, 0)
by_number("clone3", (435, 435), zeros, 88, refused=errno.ENOSYS)
by_number("fsopen", (430, 430), zeros, 0)
by_number("open_tree", (428, 428), -100, zeros, 1)
by_number("mount_setattr", (442, 442), -100, zeros, 0, zeros, 32)
by_number("pivot_root", (155, 41), zeros, zeros)
by_number("umount2", (166, 39), zeros, 2)
by_number("kexec_load", (246, 104), 0, 0, zeros, 0)
by_number("init_module", (175, 105), zeros, 0, zeros)
by_number("swapon", (167, 224), zeros, 0)
by_number("syslog", (103, 116), 3, zeros, 256)
tell("mount", libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))
tell("chroot", libc.chroot(b"/"))
tell("sethostname", libc.sethostname(b"hostile", 7))
for name in ["user", "mnt", "net", "pid"]:
    try:
        tell(f"setns to {name}", libc.setns(os.open(f"/proc/self/ns/{name}", os.O_RDONLY), 0))
    except OSError:
        pass
tell("unshare of users", libc.unshare(NEWUSER))
tell("unshare of mounts", libc.unshare(NEWNS))
now = struct.pack("qq", int(time.time()), 0)
tell("clock_settime", libc.clock_settime(0, now))
tell("settimeofday", libc.settimeofday(now, None))
if machine == X86:
    tell("the other numbers of x32", libc.syscall(ctypes.c_long(0x40000000 | 321), 0, zeros, 128))
    tell("iopl", libc.iopl(3))
families = {"VSOCK": 40, "ALG": 38, "PACKET": 17, "XDP": 44, "BLUETOOTH": 31, "KEY": 15, "TIPC": 30}
for name, family in families.items():
    for kind in [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW]:
        tell(f"a socket of the family {name}", libc.socket(family, kind, 0))
tell("a raw socket", libc.socket(socket.AF_INET, socket.SOCK_RAW, 1))
try:
    import fcntl
    import pty

    _, terminal = pty.openpty()
    fcntl.ioctl(terminal, 0x5412, b"x")
    print("TIOCSTI was allowed")
except OSError:
    pass
