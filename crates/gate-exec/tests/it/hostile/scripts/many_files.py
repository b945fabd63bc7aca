# A million files.
import os

os.mkdir("many")
for index in range(1_000_000):
    os.close(os.open(f"many/{index}", os.O_CREAT | os.O_WRONLY))
