    mv "files/$file" .mv files/usr/lib/modules/* lib/modules/# Fetches packages of a Debian suite and unpacks the kernel in them; runs in mount and process namespaces of its own.
# arguments: ROOT PLACE SUITE KEEP PACKAGE...
# ROOT: the lab root whose programs, keys and mirror are used. KEEP: a regular expression of modules that are kept, by their paths; a package
# that depends on the newest kernel's stands for that one.
set -eu
root=$1 place=$2
shift 2
mount --bind "$place" "$root/mnt"
[ ! -s /etc/resolv.conf ] || mount --bind /etc/resolv.conf "$root/etc/resolv.conf"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
exec chroot "$root" sh -euc '
suite=$1 keep=$2
shift 2
cd /mnt
mkdir lists lists/partial cache cache/partial packages files
sed -n "s/^\(deb [^ ]*\) .*/\1 $suite main/p" /etc/apt/sources.list | head -n 1 >sources.list
apt() {
    command="$1"
    shift
    # Signatures are checked; that a mirror lags behind is no reason to have no kernel, as it is none for debootstrap.
    "apt-$command" -o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=false -o Dir::Cache=/mnt/cache -o Dir::State::lists=/mnt/lists \
        -o Dir::Etc::sourcelist=/mnt/sources.list -o Dir::Etc::sourceparts=- "$@"
}
echo "I: reading the list of packages of $suite"
apt get update
for package in "$@"; do
    newest=$(apt cache depends "$package" | sed -n "s/^ *Depends: \(linux-image-.*\)/\1/p" | head -n 1)
    echo "I: fetching ${newest:-$package}"
    (cd packages && apt get download "${newest:-$package}")
done
for package in packages/*.deb; do
    echo "I: unpacking $(basename "$package")"
    dpkg-deb -x "$package" files
done
mkdir -p lib/modules
mv files/usr/lib/modules/* lib/modules/ 2>/dev/null || mv files/usr/lib/uml/modules/* lib/modules/
release=$(ls lib/modules)
echo "I: modules of $release"
(
    cd "lib/modules/$release/kernel"
    find . -type f | grep -vE "^[.]/($keep)" | xargs -r rm -f
    find . -type d -empty -delete
    find . -name "*.xz" -exec /mnt/files/usr/bin/busybox unxz {} +
)
depmod -b /mnt "$release"
for file in usr/bin/busybox "boot/vmlinuz-$release"; do
    [ ! -e "files/$file" ] || mv "files/$file" .
done
echo "$release" >release
ls packages >packages.list
rm -rf files packages cache lists sources.list
' build "$@"
