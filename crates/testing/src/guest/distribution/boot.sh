# Boots a distribution's kernel under QEMU in the mount and process namespaces that `unshare` has made, and ends as the program in it ended.
# arguments: ROOT LIBRARIES LOADER KERNEL RELEASE IMAGE MEMORY(MiB) PROCESSORS LINE(yes|no) WITHOUT MAIN PROGRAM [ARGUMENT...]
set -eu
umask 077
root=$1 libraries=$2 loader=$3 kernel=$4 release=$5 image=$6 memory=$7 processors=$8 line=$9
shift 9
without=$1 main=$2
shift 2
ulimit -c 0
command -v qemu-system-x86_64 >/dev/null || {
    echo "the program qemu-system-x86_64 is not installed: apt-get install --no-install-recommends qemu-system-x86 seabios" >&2
    exit 125
}

# What passes between this machine and the guest is in a file system that passes with the mount namespace.
place=$root/dev/shm
mount -t tmpfs -o size=64m,mode=0700 tmpfs "$place"
printf '%s\0' "$@" >"$place/arguments"
env -0 >"$place/environment"
printf '%s\0' "$PWD" >"$place/directory"
printf '%s' "$main" >"$place/main"
printf '%s' "$without" >"$place/without"

# Standard output belongs to the program; the kernel writes to standard error, until it turns itself off as it was asked.
mkfifo "$place/console"
sed -u -e 's/\r$//' -e '/sysrq: Power Off$/,$d' -e "/Kernel panic/w $place/panic" <"$place/console" >&2 &
console=$!
exec 3>&1 4>&2 5>"$place/console"
way=null,id=line
[ "$line" = no ] || way=socket,id=line,fd=0
status=0
# One thread for all processors: with one for each (QEMU 7.2, MTTCG), a processor ran code that another had patched as it was before, and the
# kernel died of an int3. `panic=-1`, `oops=panic` and `-no-reboot`: a kernel that dies ends the guest. An emulated machine needs no mitigations
# against its neighbours.
# On a machine that is busy enough the emulated timer misses the ticks by which the kernel looks whether it works, and the kernel panics: `no_timer_check`.
HOME=/ TMPDIR=$place qemu-system-x86_64 -accel tcg,thread=single -cpu max -smp "$processors" -m "$memory" \
    -display none -nodefaults -no-user-config -no-reboot -kernel "$image" -initrd "$kernel/initramfs" \
    -append "console=ttyS0 quiet loglevel=3 panic=-1 oops=panic mitigations=off no_timer_check random.trust_cpu=on bartizan.guest \
bartizan.root=$root bartizan.libraries=$libraries bartizan.loader=$loader bartizan.kernel=$kernel bartizan.release=$release bartizan.line=$line" \
    -chardev file,id=console,path=/proc/self/fd/5 -serial chardev:console \
    -chardev file,id=out,path=/proc/self/fd/3 -chardev file,id=err,path=/proc/self/fd/4 -chardev "$way" \
    -device virtio-serial-pci -device virtserialport,chardev=out,nr=1 -device virtserialport,chardev=err,nr=2 \
    -device virtserialport,chardev=line,nr=3 \
    -virtfs local,path=/,mount_tag=machine,security_model=none,multidevs=remap >&5 2>&5 || status=$?
exec 5>&-
# An emulator that was killed leaves nothing behind; what holds the console passes with the namespace.
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
