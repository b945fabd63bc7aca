# Leaves what is hard to remove: depth, names, modes.
import os

for name in [b"new\nline", b"-rf", b"\xff\xfe", b" ", b"\x1b[31m", b"x" * 255]:
    os.mkdir(name)
    os.close(os.open(name + b"/" + name, os.O_CREAT | os.O_WRONLY))
os.symlink("/etc", "link")
os.symlink("loop", "loop")
os.mkfifo("pipe")
os.link("pipe", "second name")
os.makedirs("closed/inner")
top = os.getcwd()
for _ in range(1_500):
    os.mkdir("d")
    os.chdir("d")
os.chmod(".", 0)
os.chmod(f"{top}/closed/inner", 0)
os.chmod(f"{top}/closed", 0)
os.chmod(top, 0)
