# The first process in a guest once it has its root: makes it like a machine that has just started, runs one program, and turns it off.
# arguments: ROOT LIBRARIES LOADER KERNEL RELEASE LINE(yes|no)
root=$1 libraries=$2 loader=$3 kernel=$4 release=$5 line=$6 place=$1/dev/shm

# A program of the lab root, whatever this machine has.
tool() {
    local name=$1 file=$1
    shift
    [ "$name" != modprobe ] || file=kmod
    "$loader" --library-path "$libraries" --argv0 "$name" "$root/usr/bin/$file" "$@"
}

off() {
    tool sync
    echo o >/proc/sysrq-trigger
    # Turning off is asked for, and comes.
    while :; do tool sleep 1; done
}

must() {
    "$@" && return
    echo "the guest cannot be made ready: $*"
    echo 125 >"$place/status"
    off
}

must tool mount -t proc proc /proc
must tool mount -t sysfs sysfs /sys
must tool mount -t devtmpfs devtmpfs /dev
# The machine's own sockets, locks and network namespaces are there.
must tool mount -t tmpfs -o mode=0755 tmpfs /run
must tool mkdir -p /dev/pts /dev/shm /run/lock /run/bartizan/tmp /run/bartizan/lib/modules /run/bartizan/modprobe.d
must tool mount -t devpts -o ptmxmode=0666 devpts /dev/pts
must tool mount -t tmpfs tmpfs /dev/shm
must tool ln -s /proc/self/fd /dev/fd
# The number of a machine's copies, of which there is none here. Where it is, AWS-LC takes the kernel's chance and none from the processor's jitter,
# which an emulated one gathers for a second in each process.
printf '\0\0\0\0' >/dev/sysgenid
must tool ln -s "$kernel/lib/modules/$release" "/run/bartizan/lib/modules/$release"
for module in $(<"$place/without"); do
    echo "install $module /bin/false"
done >/run/bartizan/modprobe.d/without.conf
# What the kernel asks for by itself, an algorithm or a kind of device, comes from there as well.
cat >/run/bartizan/modprobe <<END
#!/bin/sh
exec '$loader' --library-path '$libraries' --argv0 modprobe '$root/usr/bin/kmod' -C /run/bartizan/modprobe.d -d /run/bartizan "\$@"
END
must tool chmod 0755 /run/bartizan/modprobe
echo /run/bartizan/modprobe >/proc/sys/kernel/modprobe
# Without a device manager nothing else would make /dev/net/tun.
must tool modprobe -d /run/bartizan -a tun
must tool ip link set lo up
echo guest >/proc/sys/kernel/hostname

exec 5>/dev/vport0p1 6>/dev/vport0p2
mapfile -d '' -t directory <"$place/directory"
mapfile -d '' -t environment <"$place/environment"
mapfile -d '' -t arguments <"$place/arguments"
kept=()
for variable in "${environment[@]}"; do
    # The owner is a process of the machine, of which there is none here.
    [[ $variable == BARTIZAN_OWNER=* ]] || kept+=("$variable")
done
# Sockets and files that are open while they are removed belong in memory, not in a file system that the machine serves.
kept+=(TMPDIR=/run/bartizan/tmp)
cd "${directory[0]}" || cd /
if [ "$line" = yes ]; then
    exec 7<>/dev/vport0p3
    tool env -i "${kept[@]}" "${arguments[@]}" <&7 >&7 2>&6 7>&- 5>&- &
else
    tool env -i "${kept[@]}" "${arguments[@]}" </dev/null >&5 2>&6 &
fi
wait $!
status=$?
echo "$status" >"$place/status"
off
