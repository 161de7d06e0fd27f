# What happens to a network of functions and sidecars, step by step, and what is seen of it. In the namespaces of engine.sh; arguments: CONTROL-GROUP
set -eu
step() { echo "== $*"; }
within() { # SECONDS COMMAND...: until it succeeds
    local until=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$until" ] || { echo "not within its time: $*"; exit 1; }
        sleep 0.2
    done
}
cd /job/project

# It gives its containerd fifteen seconds, which a busy machine may exceed.
for _ in 1 2 3; do
    dockerd --cgroup-parent "$1" --exec-opt native.cgroupdriver=cgroupfs --log-level error >/job/dockerd.log 2>&1 &
    until docker info >/dev/null 2>&1 || ! kill -0 $! 2>/dev/null; do sleep 0.2; done
    docker info >/dev/null 2>&1 && break
done
docker info >/dev/null 2>&1 || { tail /job/dockerd.log; exit 1; }
step engine
docker version --format '{{.Server.Version}}'
docker compose version --short

# The files of some programs, under the paths they have here.
image() {
    local name=$1 programs
    shift
    programs=$(for program; do command -v "$program"; done)
    { printf '%s\n' /bin/sh $programs; ldd $programs 2>/dev/null | grep --only-matching '/[^ ]*' | grep -v ':$' || true; } | sort -u |
        tar --create --dereference --absolute-names --files-from - | docker import --change 'ENV PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' - "$name" >/dev/null
}
install -m 0755 /job/serve /usr/local/bin/serve
install -m 0755 /job/bartizan /usr/local/bin/bartizan
# What a binary with libraries is linked with comes with the base; the binary itself comes by scripts/images.
image base sh nft ip cat sleep bartizan
image function sh curl mkdir nghttpd serve sleep cat
/job/repository/scripts/images --engine docker --binary /job/bartizan --base base sidecar redirect

compose() { docker compose --file docker-compose.yaml --file docker-compose.bartizan.yaml --progress quiet "$@"; }
pid() { docker inspect --format '{{.State.Pid}}' "$1"; }
space() { readlink "/proc/$(pid "$1")/ns/net"; }
# Whether function, sidecar and holder of a node are in one network namespace.
together() { [ "$(for one in "$1" "project-$1-sidecar-1" "project-$1-network-1"; do space "$one"; done | sort -u | wc -l)" = 1 ]; }
ask() { docker exec "$1" curl --silent --show-error --fail --http2-prior-knowledge --max-time 10 "http://$2.free5gc.org:8000/" 2>&1; }
asked() { for pair in amf:udm udm:amf udm:nrf nrf:amf; do echo "$pair $(ask "${pair%:*}" "${pair#*:}")"; done; }
health() { [ "$(docker inspect --format '{{.State.Health.Status}}' "$1")" = "$2" ]; }
watcher() { pgrep --full --exact "bartizan sidecar redirect watch .* --node $1 --user 10101"; }
started_again() { local now; now=$(watcher "$1") && [ "$now" != "$2" ]; } # NODE PROCESS
capture() { # NUMBER: of the bridge, from before the first container
    compose up --no-start free5gc-amf free5gc-udm
    tcpdump -i br-free5gc -s 0 -U -w "/job/$1.pcap" 2>"/job/$1.log" &
    within 20 grep -q listening "/job/$1.log"
}

step model
compose config --format json >/job/model.json
echo written

capture 1
compose up --detach free5gc-amf free5gc-udm
step order
docker events --since 0 --until "$(($(date +%s) + 2))" --filter event=start --filter event=health_status --format '{{.TimeNano}} {{.Action}} {{.Actor.Attributes.name}}' |
    sort -n | cut -d' ' -f2- | grep udm | awk '!seen[$0]++'
step up
asked
together udm && echo together

step files
for one in sidecar network; do
    echo "$one"
    find "/proc/$(pid "project-udm-$one-1")/root/etc/bartizan/certificates" -type f -printf '%f\n' | sort
done
# A file that is replaced by renaming is seen by those who read it again.
{ cat bartizan/network/deployment.yaml; echo '# renamed'; } >bartizan/network/next
mv bartizan/network/next bartizan/network/deployment.yaml
for one in sidecar network; do tail -1 "/proc/$(pid "project-udm-$one-1")/root/etc/bartizan/deployment.yaml"; done

step 'sidecar killed'
before=$(space udm)
kill -9 "$(pid project-udm-sidecar-1)"
within 60 ask udm nrf
within 60 ask amf udm
[ "$(space project-udm-sidecar-1)" = "$before" ] && echo 'the same namespace'
asked

step 'watch killed'
killed=$(watcher udm)
kill -9 "$killed"
within 60 started_again udm "$killed"
together udm && [ "$(space udm)" = "$before" ] && echo 'the same namespace'
asked

step 'rules removed'
kill -STOP "$(watcher udm)"
nsenter --target "$(pid udm)" --net nft delete table inet bartizan-redirect
within 120 health project-udm-network-1 unhealthy && echo unhealthy
ask udm nrf >/dev/null && echo answered || echo 'not answered'
kill -CONT "$(watcher udm)"
within 120 health project-udm-network-1 healthy && echo healthy
asked

step 'network restarted'
compose restart --timeout 5 udm-network
within 60 health project-udm-network-1 healthy
within 60 ask udm nrf
within 60 ask amf udm
together udm && [ "$(space udm)" != "$before" ] && echo 'another namespace, all three in it'
asked

step 'network recreated'
compose up --detach --force-recreate udm-network udm-sidecar free5gc-udm
together udm && echo together
within 60 ask amf udm
asked

step 'down and up'
compose down
docker ps --all --quiet | wc -l
capture 2
compose up --detach free5gc-amf free5gc-udm
within 60 ask udm nrf
asked
compose down

step 'unencrypted packets of SBI'
wait "$(pgrep --exact tcpdump)" 2>/dev/null || true
for number in 1 2; do tcpdump -nr "/job/$number.pcap" 'tcp port 8000' 2>/dev/null | wc -l; done
step end
