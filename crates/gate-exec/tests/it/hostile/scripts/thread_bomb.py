# Starts threads until there may be no more, and then says so.
import os
import threading
import time

try:
    while True:
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
except RuntimeError:
    # Longer than an init takes to look, where no kernel counts for it.
    time.sleep(1)
    os._exit(3)
