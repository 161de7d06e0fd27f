# The first process in a guest: makes it like a machine that has just started, runs one program, and turns it off.
# arguments: ROOT RELEASE LIBRARIES LOADER LINE(yes|no) WITHOUT(modules)
root=$1 release=$2 libraries=$3 loader=$4 line=$5 without=$6 place=$1/dev/shm

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
grep -q ' /dev devtmpfs ' /proc/mounts || must tool mount -t devtmpfs devtmpfs /dev
# The machine's own sockets, locks and network namespaces are there.
must tool mount -t tmpfs -o mode=0755 tmpfs /run
must tool mkdir -p /dev/pts /dev/shm /run/lock /run/bartizan/lib/modules /run/bartizan/modprobe.d
must tool mount -t devpts -o ptmxmode=0666 devpts /dev/pts
must tool mount -t tmpfs tmpfs /dev/shm
must tool stty -F /dev/console raw -echo
# The number of a machine's copies, of which there is none here. Where it is, AWS-LC takes the kernel's chance and none from the processor's jitter,
# which an emulated one gathers for a second in each process.
printf '\0\0\0\0' >/dev/sysgenid

must tool ln -s "$root/usr/lib/uml/modules/$release" "/run/bartizan/lib/modules/$release"
for module in $without; do
    echo "install $module /bin/false"
done >/run/bartizan/modprobe.d/without.conf
# What the kernel asks for by itself, an algorithm or a kind of device, comes from there as well.
cat >/run/bartizan/modprobe <<END
#!/bin/sh
exec '$loader' --library-path '$libraries' --argv0 modprobe '$root/usr/bin/kmod' -C /run/bartizan/modprobe.d -d /run/bartizan "\$@"
END
must tool chmod 0755 /run/bartizan/modprobe
echo /run/bartizan/modprobe >/proc/sys/kernel/modprobe
# Newer kernels have it built in.
[ -d /proc/sys/net/ipv6 ] || must tool modprobe -d /run/bartizan ipv6
must tool modprobe -d /run/bartizan -a sctp esp4 esp6 xfrm_user veth dummy sch_netem tun macsec \
    authenc cbc ctr gcm ccm chacha20poly1305 seqiv echainiv
must tool ip link set lo up
echo guest >/proc/sys/kernel/hostname

for tty in /dev/ttyS0 /dev/ttyS2; do
    must tool stty -F "$tty" raw -echo
done
exec 5>/dev/ttyS0 6>/dev/ttyS2
mapfile -d '' -t directory <"$place/directory"
mapfile -d '' -t environment <"$place/environment"
mapfile -d '' -t arguments <"$place/arguments"
kept=()
for variable in "${environment[@]}"; do
    # The owner is a process of the machine, of which there is none here.
    [[ $variable == BARTIZAN_OWNER=* ]] || kept+=("$variable")
done
cd "${directory[0]}" || cd /
if [ "$line" = yes ]; then
    # Kept open, or what is set here would be forgotten.
    exec 7<>/dev/ttyS1
    must tool stty -F /dev/ttyS1 raw -echo
    must tool mkfifo -m 0600 /run/bartizan/to /run/bartizan/from
    tool perl "$place/relay" /dev/ttyS1 /run/bartizan/to /run/bartizan/from 7>&- &
    relay=$!
    tool env -i "${kept[@]}" "${arguments[@]}" </run/bartizan/to >/run/bartizan/from 2>&6 7>&- &
else
    tool env -i "${kept[@]}" "${arguments[@]}" </dev/null >&5 2>&6 &
fi
wait $!
status=$?
# What the program left running may hold the pipe, and is not waited for.
[ "$line" = no ] || for patience in {1..50}; do
    kill -0 "$relay" 2>/dev/null || break
    tool sleep 0.02
done
# Setting a line waits until it has passed on what was written to it.
for tty in /dev/ttyS0 /dev/ttyS1 /dev/ttyS2; do
    tool stty -F "$tty" raw -echo
done
echo "$status" >"$place/status"
off
