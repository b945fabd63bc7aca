# A server that loads once and then forks its workers: 100 MiB that all of them share.
import os
import time

loaded = b"x" * (100 << 20)
children = []
for _ in range(8):
    child = os.fork()
    if child == 0:
        # Longer than an init takes to look.
        time.sleep(1.5)
        os._exit(0)
    children.append(child)
raise SystemExit(max(os.waitpid(it, 0)[1] for it in children))
