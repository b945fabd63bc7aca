# Ends the shared test server when nobody uses it any more.
#
# Each test process holds the FIFO open for writing as long as it lives, and writes a byte when it joins. So a read ends
# when the last of them is gone, in whatever way it went.
base=$1 fifo=$2 cluster=$3 grace_seconds=$4

exec 3<"$base/$fifo" || exit 1
cat <&3 >/dev/null
# Between two test binaries there may be nobody for a while.
while
    sleep "$grace_seconds"
    [ "$(cat <&3 | wc -c)" -gt 0 ]
do :; done
# From here on nobody can join. Whoever did so in the last moment is waited for.
rm -f "$base/$fifo"
cat <&3 >/dev/null
# Another server may have taken this one's place, with a watchdog of its own.
[ "$(cat "$base/current")" = "$fifo" ] || exit 0
read -r pid <"$cluster/postmaster.pid" && kill -INT "$pid"
