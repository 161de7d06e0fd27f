# Runs in a guest: two namespaces with a cable, and each protocol between them. Says what came of it as `name: value`.
# arguments: ROOT, for ping and sctp_test
root=$1
PATH=$PATH:/usr/sbin:/sbin
echo "release: $(uname -r)"
for n in a b; do ip netns add $n; ip -n $n link set lo up; done
ip link add eth0 netns a type veth peer name eth0 netns b
ip -n a address add 10.77.0.1/24 dev eth0
ip -n b address add 10.77.0.2/24 dev eth0
for n in a b; do ip -n $n link set eth0 up; done
in_a() { ip netns exec a chroot "$root" "$@"; }
in_b() { ip netns exec b chroot "$root" "$@"; }
received() { sed -n 's/.* \([0-9]* received\).*/\1/p'; }

echo "pings without netem: $(in_a ping -c 3 -i 0.2 10.77.0.2 | received)"

in_b sctp_test -H 10.77.0.2 -P 36421 -l >/dev/null 2>&1 &
listener=$!
tries=0
until ip netns exec b grep -q 36421 /proc/net/sctp/eps; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || { echo "nothing listens for SCTP" >&2; exit 1; }
    sleep 0.1
done
in_a sctp_test -H 10.77.0.1 -P 5000 -h 10.77.0.2 -p 36421 -s -x 2 -c 1 >/dev/null 2>&1
kill $listener
counter() { ip netns exec b awk -v name="$1" '$1 == name { print $2 }' /proc/net/sctp/snmp; }
echo "sctp associations accepted: $(counter SctpPassiveEstabs)"
echo "sctp data chunks received: $(($(counter SctpInOrderChunks) + $(counter SctpInUnorderChunks)))"

key=0x0102030405060708090a0b0c0d0e0f1011121314
for n in a b; do
    ip -n $n xfrm state add src 10.77.0.1 dst 10.77.0.2 proto esp spi 0x1000 mode transport aead 'rfc4106(gcm(aes))' $key 128
    ip -n $n xfrm state add src 10.77.0.2 dst 10.77.0.1 proto esp spi 0x2000 mode transport aead 'rfc4106(gcm(aes))' $key 128
done
ip -n a xfrm policy add src 10.77.0.1 dst 10.77.0.2 dir out tmpl proto esp mode transport
ip -n a xfrm policy add src 10.77.0.2 dst 10.77.0.1 dir in tmpl proto esp mode transport
ip -n b xfrm policy add src 10.77.0.2 dst 10.77.0.1 dir out tmpl proto esp mode transport
ip -n b xfrm policy add src 10.77.0.1 dst 10.77.0.2 dir in tmpl proto esp mode transport
in_a ping -q -c 4 -i 0.2 10.77.0.2 >/dev/null
echo "esp cipher: $(ip -n b xfrm state | grep -m 1 aead | cut -c1-40)"
# Bytes and packets of each state, as the receiver counts them.
echo "esp packets each way: $(ip -n b -s xfrm state get src 10.77.0.1 dst 10.77.0.2 proto esp spi 0x1000 |
    sed -n '/lifetime current/{n;s/.*, \([0-9]*\)(packets).*/\1/p}')"
for n in a b; do ip -n $n xfrm policy flush; ip -n $n xfrm state flush; done

key_a=000102030405060708090a0b0c0d0e0f key_b=0f0e0d0c0b0a09080706050403020100
mac() { ip -n "$1" -o link show eth0 | sed 's/.*link.ether \([0-9a-f:]*\).*/\1/'; }
macsec() { # NAMESPACE OWN-KEY ITS-ID PEER PEER-KEY ITS-ID ADDRESS
    ip -n "$1" link add link eth0 name macsec0 type macsec encrypt on
    ip -n "$1" macsec add macsec0 tx sa 0 pn 1 on key "$3" "$2"
    ip -n "$1" macsec add macsec0 rx port 1 address "$(mac "$4")"
    ip -n "$1" macsec add macsec0 rx port 1 address "$(mac "$4")" sa 0 pn 1 on key "$6" "$5"
    ip -n "$1" link set macsec0 up
    ip -n "$1" address add "$7" dev macsec0
}
macsec a $key_a 01 b $key_b 02 10.78.0.1/24
macsec b $key_b 02 a $key_a 01 10.78.0.2/24
echo "pings over macsec: $(in_a ping -c 4 -i 0.2 10.78.0.2 | received)"
echo "macsec frames that were in order: $(ip -n b -s macsec show macsec0 | awk '/stats: InPktsOK/ { getline; print $1 }')"

for n in a b; do ip netns exec $n tc qdisc add dev eth0 root netem delay 25ms; done
echo "shortest round trip under netem, ms: $(in_a ping -q -c 5 -i 0.2 10.77.0.2 | sed -n 's/^rtt .* = \([0-9.]*\)\/.*/\1/p')"
