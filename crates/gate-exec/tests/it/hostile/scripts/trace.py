# Tells whose memory it could read or stop: those of its init, of the gate, of everybody it sees.
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
ATTACH, DETACH, SEIZE = 16, 17, 0x4206
buffer = ctypes.create_string_buffer(8)


class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


here = Part(ctypes.cast(buffer, ctypes.c_void_p), 8)
there = Part(ctypes.cast(buffer, ctypes.c_void_p), 8)
own = os.getpid()
seen = {int(it) for it in os.listdir("/proc") if it.isdigit()} - {own}
for pid in seen | {os.getppid(), int(os.environ["GATE_PID"]), 1}:
    for how in [SEIZE, ATTACH]:
        if libc.ptrace(how, pid, None, None) == 0:
            print("traced", pid)
            libc.ptrace(DETACH, pid, None, None)
    if libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0:
        print("read memory of", pid)
    for name in ["mem", "environ", "maps", "auxv", "syscall", "stack"]:
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                if name == "mem":
                    file.seek(id(buffer))
                if file.read(1):
                    print("read", name, "of", pid)
        except OSError:
            pass
    for name in ["root", "cwd", "exe", "ns/mnt"] + [f"fd/{it}" for it in range(20)]:
        try:
            print("saw", name, "of", pid, os.readlink(f"/proc/{pid}/{name}"))
        except OSError:
            pass
