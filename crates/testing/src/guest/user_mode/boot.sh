# Boots a guest kernel in the mount and process namespaces that `unshare` has made, and ends as the program in it ended.
# arguments: ROOT RELEASE LIBRARIES LOADER MEMORY(MiB) LINE(yes|no) WITHOUT MAIN RELAY PROGRAM [ARGUMENT...]
set -eu
umask 077
root=$1 release=$2 libraries=$3 loader=$4 memory=$5 line=$6 without=$7 main=$8 relay=$9
shift 9
ulimit -c 0

# All that a guest needs while it runs, its memory too, is in a file system that passes with the mount namespace.
place=$root/dev/shm
mount -t tmpfs -o "size=$((memory + 64))m,mode=0700" tmpfs "$place"
mount --rbind /proc "$root/proc"
# The kernel runs inside the root, for its libraries; the files it shows are those of this machine.
mount --rbind / "$root/mnt"

printf '%s\0' "$@" >"$place/arguments"
env -0 >"$place/environment"
printf '%s\0' "$PWD" >"$place/directory"
printf '%s' "$main" >"$place/main"
printf '%s' "$relay" >"$place/relay"
cat >"$place/init" <<END
#!/bin/sh
exec '$loader' --library-path '$libraries' '$root/usr/bin/bash' '$place/main' '$root' '$release' '$libraries' '$loader' '$line' '$without'
END
chmod 0700 "$place/init"

way=null
[ "$line" = no ] || way=fd:0,fd:0
# Standard output belongs to the program; the kernel speaks to standard error, until it says that it is turned off as it was asked.
mkfifo "$place/console"
sed -u -e 's/\r$//' -e '/^sysrq: Power Off/,$d' -e "/Kernel panic/w $place/panic" <"$place/console" >&2 &
console=$!
exec 3>&1 4>&2 5>"$place/console"
status=0
# The kernel and each program in it are processes of this machine that wait for each other at every system call. On one processor that is a
# switch of context; on two the other one has to be woken, eight times as long, and which it is changes while the guest runs. Interrupts
# prefer the first processor, so a guest has the last one; guests that run at once are spread, each holding a lock while it runs.
processors=$(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | while IFS=- read -r first last; do seq "$first" "${last:-$first}"; done | sort -rn)
processor=
for candidate in $processors; do
    lock=$root/tmp/guest-on-$candidate.lock
    { : >>"$lock"; } 2>/dev/null || continue
    exec 9>>"$lock"
    if flock --nonblock 9; then
        processor=$candidate
        break
    fi
done
[ -n "$processor" ] || processor=$(echo "$processors" | head -n 1)
# Programs in the guest are stopped by seccomp where it can be, and by ptrace elsewhere: a system call costs a third less.
# Folders of this machine that its environment names are not where the kernel runs.
HOME=/dev/shm TMPDIR=/dev/shm taskset -c "$processor" chroot "$root" setarch -R linux.uml seccomp=auto quiet loglevel=3 "mem=${memory}M" rw rootfstype=hostfs rootflags=/mnt bartizan.guest uml_dir=/dev/shm/ \
    con=null con0=null,fd:5 ssl=null ssl0=null,fd:3 ssl1=$way ssl2=null,fd:4 "init=$place/init" >&5 2>&5 || status=$?
exec 5>&-
# A kernel that was killed leaves processes that hold its console open; they pass with the namespace.
patience=20
while [ "$patience" -gt 0 ] && kill -0 "$console" 2>/dev/null; do
    sleep 0.05
    patience=$((patience - 1))
done
if [ -s "$place/status" ]; then
    read -r status <"$place/status"
    exit "$status"
fi
echo "the guest's kernel ended (status $status) before the program in it: $(head -n 1 "$place/panic" 2>/dev/null || :)" >&2
exit 125
