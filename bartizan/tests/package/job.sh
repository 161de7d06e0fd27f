# Installs a package under a systemd that runs, protects what two hosts say to each other as the documents have it, upgrades the package while
# requests are made, kills a sidecar, and removes the package. Each step says when it was done.
export DEBIAN_FRONTEND=noninteractive
start=$(date +%s%N)
step() { echo "== $1"; echo "$1: $((($(date +%s%N) - start) / 1000000)) ms" >>/times; }
trap 'systemctl --no-pager --full status "bartizan-*" || :; journalctl --no-pager --output=cat -u "bartizan-*" | tail -40 || :' EXIT

# Two hosts and a cable. The NRF serves HTTP/2 without TLS, as in free5GC.
hosts() {
    for node in amf nrf; do ip netns add $node; ip -n $node link set lo up; done
    ip -n amf link add eth0 type veth peer name eth0 netns nrf
    ip -n amf address add 10.100.200.16/24 dev eth0
    ip -n nrf address add 10.100.200.101/24 dev eth0
    ip -n amf link set eth0 up
    ip -n nrf link set eth0 up
    mkdir /www
    echo '{"supi": "imsi-208930000000001"}' >/www/subscriber
    ip netns exec nrf nghttpd --no-tls --address=10.100.200.101 -d /www 8000 >/nghttpd.log 2>&1 &
    ip netns exec nrf tcpdump -i eth0 -U --immediate-mode -w /wire.pcap 2>/tcpdump.log &
    until grep -q 'listening on' /tcpdump.log; do sleep 0.05; done
}
ask() { ip netns exec amf curl --silent --show-error --max-time 30 --http2-prior-knowledge "$@" "http://10.100.200.101:8000/subscriber${many:-}"; }
process() { systemctl show --property=MainPID --value "bartizan-${2:-sidecar}@$1"; }
within() { # SECONDS COMMAND...: until it succeeds
    until=$(($(date +%s) + $1))
    shift
    until "$@"; do [ "$(date +%s)" -lt $until ] || return 1; sleep 0.2; done
}
# A process of the unit that is another than before, by the upgrade or by systemd.
another() { now=$(process "$1" "$2") && [ "$now" != 0 ] && [ "$now" != "$3" ]; }
hosts

dpkg --install /first.deb
step installed

mkdir /network
cd /network
bartizan init free5gc --file deployment.yaml >commands
sh -eu commands
install -m 0640 -o root -g bartizan deployment.yaml /etc/bartizan/
install -d -m 0750 -o root -g bartizan /etc/bartizan/certificates
install -m 0640 -o root -g bartizan certificates/* /etc/bartizan/certificates/
step configured

systemctl start bartizan-redirect@nrf bartizan-sidecar@nrf bartizan-redirect@amf bartizan-sidecar@amf
for node in amf nrf; do
    systemctl is-active bartizan-redirect@$node bartizan-sidecar@$node
    stat -c %U /proc/"$(process $node)"
done
# What the unit allows of a sidecar: threads of handshakes have a lower priority.
for thread in /proc/"$(process amf)"/task/*; do echo "$(cat "$thread/comm") $(cut -d' ' -f19 "$thread/stat")"; done | sort -u
step started

ask
# Records are written in batches.
for node in amf nrf; do
    until grep -qs X25519MLKEM768 /var/lib/bartizan/$node.ledger; do sleep 0.05; done
done
sleep 0.3
step asked

cp /wire.pcap /until-then.pcap
bartizan inspect /until-then.pcap --ledger /var/lib/bartizan/amf.ledger --ledger /var/lib/bartizan/nrf.ledger
step inspected

# As logrotate does it.
mv /var/lib/bartizan/nrf.ledger /var/lib/bartizan/nrf.ledger.1
systemctl reload bartizan-sidecar@nrf
within 120 test -e /var/lib/bartizan/nrf.ledger && stat -c %U /var/lib/bartizan/nrf.ledger
step reloaded

# Requests one after the other on a connection, four times at once, and new connections again and again, while the package is upgraded.
requests() {
    until [ -e /enough ]; do
        many='?[1-250]' ask --output /dev/null --write-out '%{http_code}\n' || echo "curl ended with $?"
    done
}
for client in 1 2 3 4; do requests >/answers.$client 2>&1 & clients="${clients:-} $!"; done
sleep 1
before="$(process amf) $(process nrf)"
# The function itself waits for its rules, as its unit has it in the documents.
printf '[Unit]\nRequires=bartizan-redirect@nrf.service\nAfter=bartizan-redirect@nrf.service\n[Service]\nExecStart=/bin/sleep infinity\n' >/run/systemd/system/function.service
systemctl start function
redirect=$(process nrf redirect) function=$(systemctl show --property=MainPID --value function)
dpkg --install /second.deb
sleep 1
touch /enough
wait $clients
step upgraded
[ "$before" != "$(process amf) $(process nrf)" ] && echo restarted
within 120 another nrf redirect "$redirect" && echo 'rules are compared by the new version'
[ "$function" = "$(systemctl show --property=MainPID --value function)" ] && echo 'the function runs on'
systemctl stop function
for node in amf nrf; do readlink /proc/"$(process $node)"/exe; done
echo "answered $(cat /answers.* | grep -c '^200$')"
echo "otherwise $(cat /answers.* | grep -vc '^200$')"
cat /answers.* | grep -v '^200$' | sort | uniq -c | head -5

# A sidecar that dies is there again; until then its host sends nothing to the peer.
kill -9 "$(process amf)"
ask --retry 20 --retry-delay 1 --retry-all-errors
step killed

# One that takes no turn any more is ended by the watchdog, and one that does is not.
mkdir /run/systemd/system/bartizan-sidecar@amf.service.d
printf '[Service]\nWatchdogSec=12s\n' >/run/systemd/system/bartizan-sidecar@amf.service.d/watchdog.conf
systemctl show --property=WatchdogUSec bartizan-sidecar@nrf bartizan-redirect@nrf
systemctl daemon-reload
systemctl restart bartizan-sidecar@amf
hung=$(process amf)
sleep 15
[ "$(process amf)" = "$hung" ] && echo 'it runs on'
kill -STOP "$hung"
within 120 another amf sidecar "$hung"
ask --retry 20 --retry-delay 1 --retry-all-errors
systemctl show --property=NRestarts bartizan-sidecar@amf
rm -r /run/systemd/system/bartizan-sidecar@amf.service.d
systemctl daemon-reload
step watchdog

# An authority that serves, and a node whose certificate ends soon.
runuser -u bartizan-ca -- bartizan ca init --dir /var/lib/bartizan-ca/ca --algorithm ml-dsa-65 --intermediate
ip link set lo up
echo 'ARGUMENTS="--dns localhost --listen 127.0.0.1:8829"' >/etc/bartizan/ca.env
echo 'SERVER=http://127.0.0.1:8829' >/etc/bartizan/enrol.env
systemctl start bartizan-ca
runuser -u bartizan-ca -- bartizan ca invite --dir /var/lib/bartizan-ca/ca --name smf --dns smf.free5gc.org --days 20 --secret-file /var/lib/bartizan-ca/smf.secret --json >/invitation
reference=$(sed -n 's/.*"reference": *"\([^"]*\)".*/\1/p' /invitation)
bartizan enrol --server http://127.0.0.1:8829 --name smf --reference "$reference" --secret-file /var/lib/bartizan-ca/smf.secret --out /etc/bartizan
cp /etc/bartizan/smf.crt.pem /first.crt.pem
systemctl start bartizan-enrol@smf
cmp -s /first.crt.pem /etc/bartizan/smf.crt.pem || echo renewed
systemctl start bartizan-enrol@smf.timer
systemctl is-active bartizan-ca bartizan-enrol@smf.timer
step enrolled

# A service that does not start any more is no reason for dpkg to fail.
echo 'ARGUMENTS=--nonsense' >/etc/bartizan/ca.env
dpkg --install /second.deb
systemctl stop bartizan-ca
dpkg-query --show --showformat '${Status}\n' bartizan
step 'upgraded with a wrong file'

dpkg --remove bartizan
step removed
systemctl is-active 'bartizan-*' || echo 'no unit is active'
ask 2>&1 || echo 'nothing is answered'
ls /etc/bartizan/certificates/amf.key.pem /var/lib/bartizan/amf.ledger

sleep 0.3
step wire
echo "readable $(tcpdump -r /wire.pcap -A 2>/dev/null | grep -c imsi- || :)"
echo "control $(tcpdump -r /wire.pcap 'tcp port 7443' 2>/dev/null | grep -c . || :)"

# IPsec links: two hosts more, and ESP in user space, which any kernel can.
dpkg --install /second.deb
for node in cu ric; do ip netns add $node; ip -n $node link set lo up; done
ip -n cu link add eth0 type veth peer name eth0 netns ric
ip -n cu address add 10.200.0.1/24 dev eth0
ip -n ric address add 10.200.0.2/24 dev eth0
for node in cu ric; do ip -n $node link set eth0 up; done
mkdir /ran
cd /ran
bartizan init e2 --file deployment.yaml >commands
# Root has no home in a service: that there is no strongSwan is said all the same.
sh -eu commands
cp -r deployment.yaml certificates /etc/bartizan/
systemctl start bartizan-ipsec@cu || :
is_said() { journalctl --no-pager --output=cat -u bartizan-ipsec@cu | grep "$1"; }
within 120 is_said 'error: no strongSwan is installed'
systemctl stop bartizan-ipsec@cu
step 'without strongSwan'
sed -i 's/    ipsec:$/&\n      engine: bartizan\n      data-path: userspace/' /etc/bartizan/deployment.yaml
systemctl start bartizan-ipsec@cu bartizan-ipsec@ric
up() { [ "$(systemctl show --property=StatusText --value bartizan-ipsec@cu)" = '1 of 1 links up' ]; }
within 120 up
systemctl is-active bartizan-guard@cu bartizan-ipsec@cu bartizan-guard@ric bartizan-ipsec@ric
stat -c %U /var/lib/bartizan /var/lib/bartizan-ca/ca/ca.sqlite
step links

# Two interfaces of one host, the second with a port and a queue of its own.
ip link add tap0 type veth peer name tap1
ip link set tap0 up
echo 'ARGUMENTS="--metrics 127.0.0.1:9465 --otlp http://127.0.0.1:4318 --queue /var/lib/bartizan/follow-tap0/queue"' >/etc/bartizan/follow-tap0.env
systemctl start bartizan-follow@lo bartizan-follow@tap0
measured() { curl --silent --max-time 5 http://127.0.0.1:$1/metrics | grep -q '^bartizan_inspect_view_seconds'; }
for port in 9464 9465; do within 120 measured $port && echo measured; done
stat -c '%a %U' /var/lib/bartizan/follow-tap0
systemctl show --property=NRestarts --value bartizan-follow@lo bartizan-follow@tap0
systemctl stop 'bartizan-follow@*' 'bartizan-ipsec@*'
systemctl show --property=Result --value bartizan-follow@lo bartizan-follow@tap0 bartizan-ipsec@cu
step followed
step times
cat /times
trap - EXIT
