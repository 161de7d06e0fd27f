#!/bin/busybox sh
# The first process of a guest, in the kernel's initramfs: makes this machine's files its root, and goes on there.
b=/bin/busybox
$b mount -t proc proc /proc
for module in /modules/*; do
    $b insmod "$module" || echo "the guest cannot be made ready: insmod $module"
done
for word in $($b cat /proc/cmdline); do
    case $word in
        bartizan.root=*) root=${word#*=} ;;
        bartizan.libraries=*) libraries=${word#*=} ;;
        bartizan.loader=*) loader=${word#*=} ;;
        bartizan.kernel=*) kernel=${word#*=} ;;
        bartizan.release=*) release=${word#*=} ;;
        bartizan.line=*) line=${word#*=} ;;
    esac
done
# This guest alone writes to what it sees, while it runs: it may keep what it has read.
if $b mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288,cache=loose machine /root; then
    $b umount /proc
    exec $b switch_root /root "$loader" --library-path "$libraries" "$root/usr/bin/bash" "$root/dev/shm/main" \
        "$root" "$libraries" "$loader" "$kernel" "$release" "$line"
fi
echo "the guest cannot be made ready: this machine's files cannot be mounted"
echo o >/proc/sysrq-trigger
$b sleep 60
