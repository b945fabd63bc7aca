# Takes a GiB of anonymous memory that children would share, and stays.
import mmap
import time

block = mmap.mmap(-1, 1 << 30)
for page in range(0, len(block), 4096):
    block[page] = 1
time.sleep(30)
