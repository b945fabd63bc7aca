# Reserves 64 GiB of addresses without using any, as a JVM or a sanitizer does.
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
PROT_NONE, PRIVATE, ANONYMOUS, NORESERVE = 0, 2, 0x20, 0x4000
at = libc.mmap(None, 64 << 30, PROT_NONE, PRIVATE | ANONYMOUS | NORESERVE, -1, 0)
raise SystemExit(1 if at == ctypes.c_void_p(-1).value else 0)
