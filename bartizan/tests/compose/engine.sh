# A machine for containers, in mount, network, process, host name and IPC namespaces that `unshare` has made: the root that scripts/compose has made, in memory
# over which what is written goes, as the root of these namespaces (`docker exec` finds the containers' by leaving ours), and control groups of the machine.
# arguments: ROOT SCRATCH CONTROL-GROUP
set -eu
exec 2>&1
PATH=$PATH:/usr/sbin:/sbin
root=$1 scratch=$2 group=$3
mkdir "$scratch/memory"
mount -t tmpfs -o size=4g tmpfs "$scratch/memory"
cd "$scratch/memory"
mkdir upper work root
mount -t overlay overlay -o "lowerdir=$root,upperdir=upper,workdir=work" root
mount -t proc proc root/proc
mount -t sysfs sysfs root/sys
mount --rbind /sys/fs/cgroup root/sys/fs/cgroup
mount --rbind /dev root/dev
mount -t tmpfs tmpfs root/run
mkdir -p root/job root/var/lib/docker
# Layers of images lie over each other, and cannot lie in such a file system.
mount -t tmpfs -o size=3g tmpfs root/var/lib/docker
mount --bind "$scratch/job" root/job
ip link set lo up
cd root
pivot_root . mnt
cd /
umount --lazy /mnt
exec env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root bash /job/steps.sh "$group"
