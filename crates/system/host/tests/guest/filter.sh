# Runs in a guest: nftables counts what kernel ESP protects between two namespaces, and what is on the wire is captured.
# arguments: ROOT, for ping and tcpdump; writes wire.pcap in this directory
root=$1
PATH=$PATH:/usr/sbin:/sbin
echo "processors: $(nproc)"
for n in c d; do ip netns add $n; ip -n $n link set lo up; done
ip link add eth0 netns c type veth peer name eth0 netns d
ip -n c address add 10.87.0.1/24 dev eth0
ip -n d address add 10.87.0.2/24 dev eth0
for n in c d; do ip -n $n link set eth0 up; done
key=0x0102030405060708090a0b0c0d0e0f1011121314
for n in c d; do
    ip -n $n xfrm state add src 10.87.0.1 dst 10.87.0.2 proto esp spi 0x1000 mode transport aead 'rfc4106(gcm(aes))' $key 128
    ip -n $n xfrm state add src 10.87.0.2 dst 10.87.0.1 proto esp spi 0x2000 mode transport aead 'rfc4106(gcm(aes))' $key 128
done
for pair in "c 1 2 out" "c 2 1 in" "d 2 1 out" "d 1 2 in"; do
    set -- $pair
    ip -n $1 xfrm policy add src 10.87.0.$2 dst 10.87.0.$3 dir $4 tmpl proto esp mode transport
done
ip netns exec c nft -f - <<END
table inet t {
    counter out { }
    counter in { }
    counter clear { }
    chain out {
        type filter hook postrouting priority 300;
        meta l4proto icmp rt ipsec exists counter name out accept
        meta l4proto icmp counter name clear
    }
    chain in {
        type filter hook input priority 300;
        meta l4proto icmp meta ipsec exists counter name in
    }
}
END
# Opened by the machine's own shell: tcpdump sees the lab root's files only.
ip netns exec c chroot "$root" tcpdump -n -i eth0 -U -w - -c 6 esp >wire.pcap 2>capturing &
tcpdump=$!
until grep -q 'listening on' capturing; do sleep 0.1; done
echo "answers through esp: $(ip netns exec c chroot "$root" ping -q -c 3 -i 0.2 10.87.0.2 | sed -n 's/.* \([0-9]*\) received.*/\1/p')"
wait $tcpdump
packets() { ip netns exec c nft list counter inet t "$1" | sed -n 's/.*packets \([0-9]*\).*/\1/p'; }
echo "sent under an sa: $(packets out)"
echo "received under an sa: $(packets in)"
echo "sent without: $(packets clear)"
