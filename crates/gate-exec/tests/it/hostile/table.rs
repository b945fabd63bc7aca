//! The hostile commands, as data: what each does, and what must come of it in each tier.
//!
//! What a command prints is what it could do and should not have been able to; so most print nothing.
//! `None` in a tier's column: the tier promises nothing there, and the command is not run in it.

use super::row::{
    EXITS_0, Ends, PYTHON, ProcessLimit, Row, Run, TIMED_OUT, Want, cut, everywhere, needs, walled,
};

/// The files of the workspace in which they run.
pub(super) const FILES: &[(&str, &str)] = &[
    ("plain", "echo"),
    ("strange", "#!/no/such/interpreter\n"),
    ("calls.py", include_str!("scripts/calls.py")),
    ("deep.py", include_str!("scripts/deep.py")),
    ("fork_bomb.py", include_str!("scripts/fork_bomb.py")),
    ("hog.py", include_str!("scripts/hog.py")),
    ("loopback.py", include_str!("scripts/loopback.py")),
    ("many_files.py", include_str!("scripts/many_files.py")),
    ("network.py", include_str!("scripts/network.py")),
    ("reserve.py", include_str!("scripts/reserve.py")),
    ("shared_memory.py", include_str!("scripts/shared_memory.py")),
    ("shared_hog.py", include_str!("scripts/shared_hog.py")),
    ("thread_bomb.py", include_str!("scripts/thread_bomb.py")),
    ("trace.py", include_str!("scripts/trace.py")),
    ("unix_sockets.py", include_str!("scripts/unix_sockets.py")),
];

pub(super) const ROWS: &[Row] = &[
    // How a command ends, whatever it does against that.
    cut(everywhere(1, "sleeps for ever", Run::Words(&["sleep", "1000"]), TIMED_OUT)),
    cut(everywhere(
        1,
        "is deaf to signals",
        Run::Sh("trap '' TERM INT HUP QUIT; while :; do sleep 0.1; done"),
        TIMED_OUT,
    )),
    cut(everywhere(2, "stops itself", Run::Sh("kill -STOP 0"), TIMED_OUT)),
    // Its shell stays for a while, without a process more.
    cut(everywhere(
        3,
        "a fork bomb of a shell",
        Run::Sh(
            "b() { b | b & }; b 2>/dev/null; i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done",
        ),
        Want::process_limit(
            &[Ends::Exits(0), Ends::TimedOut, Ends::Killed(9)],
            ProcessLimit::ToldWhereCounted,
        ),
    )),
    needs(
        PYTHON,
        cut(everywhere(
            4,
            "a fork bomb that leaves its session",
            Run::Python("fork_bomb.py", &[]),
            // A hundred interpreters may also be too much memory, before its time is up.
            Want::process_limit(
                &[Ends::TimedOut, Ends::OutOfMemory, Ends::Killed(9)],
                ProcessLimit::ToldWhereCounted,
            ),
        )),
    ),
    needs(
        PYTHON,
        everywhere(
            5,
            "a thread bomb",
            Run::Python("thread_bomb.py", &[]),
            Want::process_limit(&[Ends::Exits(3), Ends::Killed(9)], ProcessLimit::Told),
        ),
    ),
    everywhere(6, "a flood of text", Run::Words(&["yes"]), Want::ends(&[Ends::OutputLimit])),
    everywhere(
        7,
        "a flood of zeros",
        Run::Words(&["dd", "if=/dev/zero", "bs=1M", "count=2048"]),
        Want::ends(&[Ends::OutputLimit]),
    ),
    everywhere(
        8,
        "a daemon",
        Run::Sh("setsid sh -c 'exec <&- >&- 2>&-; exec sleep 777' & exit 0"),
        Want::stragglers(b"", 1),
    ),
    everywhere(
        9,
        "grandchildren that hold the output",
        Run::Sh("(setsid sleep 778 &) ; sleep 779 & echo done"),
        Want::stragglers(b"done\n", 2),
    ),
    // What it may use.
    needs(
        PYTHON,
        everywhere(
            10,
            "a memory hog",
            Run::Python("hog.py", &[]),
            Want::ends(&[Ends::OutOfMemory]),
        ),
    ),
    needs(
        PYTHON,
        everywhere(
            10,
            "memory hogs that are small each",
            Run::Sh(
                r#"
                for it in 1 2 3 4 5 6 7 8; do
                    python3 -c 'import time; it = b"x" * (60 << 20); time.sleep(30)' & all="$all $!"
                done
                for it in $all; do wait $it || exit 1; done"#,
            ),
            Want::ends(&[Ends::OutOfMemory]),
        ),
    ),
    needs(
        PYTHON,
        everywhere(
            10,
            "a hog of memory that is meant to be shared",
            Run::Python("shared_hog.py", &[]),
            Want::ends(&[Ends::OutOfMemory]),
        ),
    ),
    needs(
        PYTHON,
        everywhere(
            10,
            "children that share their parent's memory",
            Run::Python("shared_memory.py", &[]),
            EXITS_0,
        ),
    ),
    needs(PYTHON, everywhere(11, "reserves 64 GiB", Run::Python("reserve.py", &[]), EXITS_0)),
    needs(&["java"], everywhere(11, "java starts", Run::Words(&["java", "-version"]), EXITS_0)),
    needs(&["node"], everywhere(11, "node starts", Run::Words(&["node", "-e", "1"]), EXITS_0)),
    everywhere(
        12,
        "a file of 4 GiB",
        Run::Words(&["dd", "if=/dev/zero", "of=big", "bs=1M", "count=4096"]),
        Want::ends(&[Ends::DiskLimit]),
    ),
    Row {
        namespace: Want::ends(&[Ends::DiskLimit]),
        landlock: Want::ends(&[Ends::Exits(1)]),
        ..walled(13, "fills /tmp", Run::Sh("dd if=/dev/zero of=/tmp/$MARK bs=1M count=4096"))
    },
    Row {
        namespace: Want::ends(&[Ends::DiskLimit]),
        landlock: Want::ends(&[Ends::Exits(1)]),
        ..walled(
            13,
            "fills shared memory",
            Run::Sh("dd if=/dev/zero of=/dev/shm/$MARK bs=1M count=4096"),
        )
    },
    needs(
        PYTHON,
        Row {
            namespace: Want::ends(&[Ends::DiskLimit]),
            landlock: TIMED_OUT,
            ..cut(walled(14, "a million files", Run::Python("many_files.py", &[])))
        },
    ),
    // What it may touch.
    walled(
        15,
        "writes to the system",
        Run::Sh(
            r#"
            for it in / /etc /usr /usr/bin /bin /lib /root /home /var /var/tmp/.. /boot /dev /sys /proc "$VICTIM"; do
                (: > "$it/gate-exec-hostile") 2>/dev/null && echo "wrote to $it"
            done
            for it in /etc/passwd /etc/hosts /usr/bin/env "$VICTIM/kept"; do
                (: >> "$it") 2>/dev/null && echo "opened $it to write"
            done
            :"#,
        ),
    ),
    Row {
        namespace: Want::ends(&[Ends::Exits(0), Ends::TimedOut]),
        landlock: Want::ends(&[Ends::Exits(0), Ends::TimedOut]),
        ..cut(walled(
            15,
            "removes everything",
            Run::Sh(
                r#"
                [ "$(id -u)" -ne 0 ] || exit 9
                rm -rf --no-preserve-root "$VICTIM" 2>/dev/null
                rm -rf --no-preserve-root /* 2>/dev/null
            :"#,
            ),
        ))
    },
    walled(
        16,
        "reads secrets of the system",
        Run::Sh(
            r#"
            for it in /etc/shadow /etc/gshadow /etc/sudoers /etc/ssh/ssh_host_ed25519_key /root/.bashrc /proc/kcore /dev/mem "$VICTIM/secret"; do
                head -c 1 "$it" > it 2>/dev/null && [ -s it ] && echo "read $it"
            done
            cat /etc/passwd > /dev/null"#,
        ),
    ),
    Row {
        namespace: Want::prints(b"0\n"),
        landlock: Want::prints(b"0\n"),
        ..walled(
            17,
            "looks for the gate's secret in environments",
            Run::Sh(
                r#"
            for it in /proc/[0-9]*/environ; do tr '\0' '\n' < "$it"; done 2>/dev/null |
                grep -c '^GATE_EXEC_TEST_SECRET='
            env | grep GATE_EXEC_TEST_SECRET
            grep -q GATE_PID= /proc/self/environ"#,
            ),
        )
    },
    needs(PYTHON, walled(18, "reaches out to the network", Run::Python("network.py", &[]))),
    needs(
        PYTHON,
        Row {
            namespace: Want::prints(b"served\nand datagrams\n"),
            landlock: Want::prints(b"EPERM\n"),
            process: Want::prints(b"served\nand datagrams\n"),
            ..walled(19, "uses loopback", Run::Python("loopback.py", &[]))
        },
    ),
    needs(
        PYTHON,
        walled(
            20,
            "connects to sockets of the gate",
            Run::Sh(r#"python3 unix_sockets.py "$SOCKET" "@$ABSTRACT""#),
        ),
    ),
    needs(
        PYTHON,
        Row {
            // As root they are fenced by file permissions only: a known gap, which is told.
            landlock: None,
            landlock_as_user: Want::prints(b""),
            ..walled(
                20,
                "connects to a socket that everybody may use",
                Run::Sh(r#"python3 unix_sockets.py "$OPEN_SOCKET""#),
            )
        },
    ),
    needs(PYTHON, walled(21, "tries what the kernel offers", Run::Python("calls.py", &[]))),
    Row {
        namespace: Want::prints(b"alive\n"),
        landlock: Want::prints(b"alive\n"),
        ..walled(
            22,
            "kills its init, the gate, and everybody",
            Run::Sh(
                r#"
                [ "$(id -u)" -ne 0 ] || exit 9
                for it in $PPID $GATE_PID 1; do
                    kill -KILL $it; kill -STOP $it; kill -TERM -$it
                done 2>/dev/null
                kill -KILL -1 2>/dev/null
                sleep 0.1
                echo alive"#,
            ),
        )
    },
    needs(PYTHON, walled(23, "looks into other processes", Run::Python("trace.py", &[]))),
    walled(
        24,
        "wants to be more than it is",
        Run::Sh(
            r#"
            [ "$(id -u)" -ne 0 ] || exit 9
            try() { "$@" < /dev/null > /dev/null 2>&1 && echo "could: $*"; }
            try date -s "@$(date +%s)"
            try mount -t tmpfs none /tmp
            try mount --bind / /tmp
            try umount -l /proc
            try su -c true
            try sudo -n true
            try unshare -Ur true
            try unshare -m true
            try chroot / true
            try hostname hostile
            try mknod block b 8 0
            [ "$(nice -n -5 nice 2>/dev/null)" = -5 ] && echo "could run before others"
            cp "$(command -v id)" own-id && chmod 6755 own-id && chown 0 own-id 2>/dev/null && echo "could give away"
            :"#,
        ),
    ),
    walled(
        25,
        "goes out over links",
        Run::Sh(
            r#"
            ln -s / root; ln -s "$VICTIM" victim; ln -s /proc/self/root proc; ln -s ../../../../../.. up
            for it in root/etc/shadow victim/secret "proc$VICTIM/secret" "up$VICTIM/secret" "root$VICTIM/secret"; do
                head -c 1 "$it" > it 2>/dev/null && [ -s it ] && echo "read $it"
            done
            for it in victim root/etc root/usr proc/etc up/etc "up$VICTIM"; do
                (: > "$it/gate-exec-hostile") 2>/dev/null && echo "wrote to $it"
            done
            :"#,
        ),
    ),
    // How it ends by itself.
    everywhere(26, "a fault", Run::Sh("kill -SEGV $$"), Want::ends(&[Ends::Killed(11)])),
    everywhere(26, "kills itself", Run::Sh("kill -KILL $$"), Want::ends(&[Ends::Killed(9)])),
    everywhere(
        26,
        "aborts and wants a core",
        Run::Sh("ulimit -c unlimited 2>/dev/null; kill -ABRT $$"),
        Want::ends(&[Ends::Killed(6)]),
    ),
    everywhere(
        26,
        "leaves no core",
        Run::Sh(
            r"
            sh -c 'ulimit -c unlimited; kill -ABRT $$' 2>/dev/null
            ls -d core* 2>/dev/null
            ulimit -c",
        ),
        Want::prints(b"0\n"),
    ),
    everywhere(
        27,
        "no such program",
        Run::Words(&["no-such-program"]),
        Want::ends(&[Ends::NotFound]),
    ),
    everywhere(
        27,
        "a shell without such a program",
        Run::Sh("no-such-program"),
        Want::ends(&[Ends::Exits(127)]),
    ),
    everywhere(
        27,
        "no permission to execute",
        Run::Words(&["./plain"]),
        Want::ends(&[Ends::NotExecutable(libc::EACCES)]),
    ),
    everywhere(
        27,
        "no such interpreter",
        Run::Words(&["./strange"]),
        Want::ends(&[Ends::NotExecutable(libc::ENOENT)]),
    ),
    everywhere(
        27,
        "just-written scripts",
        Run::Sh(
            r"
            for it in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
                printf '#!/bin/sh\nexit 5\n' > s$it; chmod +x s$it; ./s$it
                [ $? -eq 5 ] || echo no
            done",
        ),
        Want::prints(b""),
    ),
    everywhere(
        28,
        "reads its input",
        Run::Sh(r#"cat; read x; echo "read said $?""#),
        Want::prints(b"read said 1\n"),
    ),
    everywhere(
        29,
        "looks for a terminal",
        Run::Sh(
            r"
            tty > /dev/null && echo a tty
            stty > /dev/null 2>&1 && echo stty works
            test -t 0 -o -t 1 -o -t 2 && echo a terminal
            (echo x > /dev/tty) 2>/dev/null && echo a controlling terminal
            :",
        ),
        Want::prints(b""),
    ),
    needs(
        PYTHON,
        everywhere(30, "leaves what is hard to remove", Run::Python("deep.py", &[]), EXITS_0),
    ),
    everywhere(
        30,
        "removes the ground under it",
        Run::Sh(
            r#"rm -rf -- "$PWD"/* "$PWD"/.[!.]* "$HOME" "$TMPDIR" 2>/dev/null; rmdir "$PWD" 2>/dev/null; :"#,
        ),
        EXITS_0,
    ),
    everywhere(
        31,
        "prints what is not text",
        Run::Words(&["printf", r"\377\376\033[31m\000\r\n"]),
        Want::prints(b"\xff\xfe\x1b[31m\0\r\n"),
    ),
    needs(
        PYTHON,
        everywhere(
            32,
            "lists its descriptors",
            Run::Words(&[
                "python3",
                "-c",
                "import os; print(os.readlink('/proc/self/fd/0'), *sorted(os.listdir('/proc/self/fd')))",
            ]),
            // The last is the directory that is listed.
            Want::prints(b"/dev/null 0 1 2 3\n"),
        ),
    ),
    cut(everywhere(
        33,
        "a hundred busy loops",
        Run::Sh("i=0; while [ $i -lt 100 ]; do (while :; do :; done) & i=$((i+1)); done; wait"),
        TIMED_OUT,
    )),
    Row {
        cpu_seconds: 1,
        ..everywhere(
            33,
            "more time of the processor than it may have",
            Run::Sh("(while :; do :; done) & (while :; do :; done) & wait"),
            Want::ends(&[Ends::CpuLimit]),
        )
    },
    needs(
        &["git"],
        everywhere(
            35,
            "uses git in its workspace",
            Run::Sh("git init -q . && git add plain && git status --short plain"),
            Want::prints(b"A  plain\n"),
        ),
    ),
];
