# Takes two GiB and touches every page.
blocks = []
for _ in range(128):
    blocks.append(b"x" * (16 << 20))
