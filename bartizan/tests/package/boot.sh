# Boots Debian's systemd as the first process of a container of its own, over a lab root of which nothing changes, runs a job as one of its
# units, and prints what that says. In a mount namespace:
# boot.sh ROOT SCRATCH JOB PACKAGE NEXT
set -eu
root=$1 scratch=$2 job=$3 package=$4 next=$5
mount -t tmpfs tmpfs "$scratch"
mkdir "$scratch/upper" "$scratch/work" "$scratch/root" "$scratch/groups"
mount -t overlay overlay -o "lowerdir=$root,upperdir=$scratch/upper,workdir=$scratch/work" "$scratch/root"
cp "$job" "$scratch/root/job.sh"
cp "$package" "$scratch/root/first.deb"
cp "$next" "$scratch/root/second.deb"
cd "$scratch/root"

# The lab root has no nft: this machine's, with its libraries.
mkdir opt/nft
nft=$(command -v nft)
cp "$nft" $(ldd "$nft" | awk '/=> \// && !/\/(libc|libm|libpthread)\.so/ { print $3 }') opt/nft/
printf '#!/bin/sh\nexec env LD_LIBRARY_PATH=/opt/nft /opt/nft/nft "$@"\n' >usr/sbin/nft
chmod 0755 usr/sbin/nft

cat >etc/systemd/system/job.service <<'END'
[Unit]
SuccessAction=exit-force
FailureAction=exit-force
FailureActionExitStatus=1
[Service]
Type=oneshot
ExecStart=/bin/sh -eu /job.sh
StandardOutput=file:/job.log
StandardError=inherit
TimeoutStartSec=900
END
cat >etc/systemd/system/job.target <<'END'
[Unit]
Requires=basic.target job.service
After=basic.target
END
# Each unit of a node runs on a host of its own, which is a network namespace here.
for unit in bartizan-redirect@ bartizan-sidecar@ bartizan-guard@ bartizan-ipsec@; do
    mkdir "etc/systemd/system/$unit.service.d"
    printf '[Service]\nNetworkNamespacePath=/run/netns/%%i\n' >"etc/systemd/system/$unit.service.d/host.conf"
done

# Control groups below one of its own, which systemd takes for the top.
mount -t cgroup2 cgroup2 "$scratch/groups"
group=$scratch/groups/bartizan-test-$$
mkdir "$group"
(
    echo 0 >"$group/cgroup.procs"
    exec unshare --mount --pid --net --uts --ipc --cgroup --fork --kill-child sh -eu -c '
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=0755 tmpfs dev
for device in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 0666 "dev/${device%:*}" c 1 "${device#*:}"; done
ln -s /proc/self/fd dev/fd
mkdir dev/pts dev/shm dev/net
mknod -m 0666 dev/net/tun c 10 200
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
mount -t tmpfs tmpfs dev/shm
mount -t tmpfs -o mode=0755 tmpfs run
mount -t tmpfs tmpfs tmp
mkdir run/before
pivot_root . run/before
exec chroot . sh -eu -c "umount -l /run/before
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=job.target --log-target=console --log-level=warning --show-status=false"
' </dev/null >"$scratch/console.log" 2>&1
) || status=$?
cat job.log 2>/dev/null || :
[ "${status:-0}" = 0 ] || { echo "== console"; cat "$scratch/console.log"; }
find "$group" -depth -type d -exec rmdir {} + || :
exit "${status:-0}"
