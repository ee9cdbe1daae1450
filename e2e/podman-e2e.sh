#!/bin/bash
# podman 4.3 (Debian bookworm, the last Debian podman with the CNI backend) as
# the client of the CNI plugins host-local and bridge, end to end.
#
# usage: REF_DIR=DIR podman-e2e.sh PLUGIN_DIR
#   PLUGIN_DIR  plugins under test (say, host-local and bridge)
#   REF_DIR     where the other plugins (portmap, firewall, tuning) come from
#   E2E_RUNS=N  containers per timing series (default 5, 0: no timing)
# Prints 'ok NAME' or 'FAIL NAME: detail' per check; exit 0 only if none failed.
. "$(dirname "$(readlink -f "$0")")/e2e-common.sh"
E2E_NAME=podman-e2e
[ $# = 1 ] || { echo "usage: REF_DIR=DIR $0 PLUGIN_DIR" >&2; exit 2; }
[ "${E2E_INSIDE:-}" = 1 ] ||
  e2e_packages podman crun conmon iptables busybox-static iproute2 jq containernetworking-plugins
e2e_enter "$0" "$@"

e2e_plugins host-local bridge portmap firewall tuning

# ---- private podman ---------------------------------------------------------
mkdir -p "$E2E"/{net,storage,runroot,tmp,img}
cat >"$E2E/containers.conf" <<X
[containers]
cgroups = "disabled"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "crun"
tmp_dir = "$E2E/tmp"
[network]
network_backend = "cni"
cni_plugin_dirs = ["$E2E/bin"]
network_config_dir = "$E2E/net"
X
cat >"$E2E/storage.conf" <<X
[storage]
driver = "vfs"
graphroot = "$E2E/storage"
runroot = "$E2E/runroot"
X
export CONTAINERS_CONF=$E2E/containers.conf CONTAINERS_STORAGE_CONF=$E2E/storage.conf
is backend-cni "cni vfs crun" \
  "$(podman info --format '{{.Host.NetworkBackend}} {{.Store.GraphDriverName}} {{.Host.OCIRuntime.Name}}' 2>&1)"

mkdir -p "$E2E"/img/{bin,etc,proc,sys,dev,tmp,www}
cp /bin/busybox "$E2E/img/bin/busybox"
for a in sh sleep ip ping ping6 httpd wget cat true nc; do ln -s busybox "$E2E/img/bin/$a"; done
echo hello >"$E2E/img/www/index.html"
echo 'root:x:0:0:root:/:/bin/sh' >"$E2E/img/etc/passwd"
tar -C "$E2E/img" -cf "$E2E/img.tar" .
IMG=localhost/bb:e2e
check image-import podman import -q -c 'CMD ["/bin/sleep","3600"]' "$E2E/img.tar" $IMG

# ---- small helpers ----------------------------------------------------------
RECORDS=/var/lib/cni/networks
ins() { podman inspect --format "$2" "$1" 2>&1; }
ip4() { ins "$1" "{{(index .NetworkSettings.Networks \"$2\").IPAddress}}"; }
ip6() { ins "$1" "{{(index .NetworkSettings.Networks \"$2\").GlobalIPv6Address}}"; }
inns() { # CONTAINER CMD...: run a host command in the container's network namespace
  local p
  p=$(ins "$1" '{{.State.Pid}}')
  shift
  nsenter -t "$p" -n "$@"
}
addrs() { inns "$1" ip -j addr show dev "$2" | jq -r '[.[0].addr_info[]|select(.scope=="global")|"\(.local)/\(.prefixlen)"]|sort|join(" ")'; }
link() { inns "$1" ip -j link show dev "$2" | jq -r ".[0].$3"; } # CONTAINER IF FIELD
ports() { ip -j link show master "$1" 2>/dev/null | jq -r length; } # ports of bridge
records() { find "$RECORDS/$1" -type f ! -name 'last_reserved_ip*' ! -name lock -printf '%f\n' 2>/dev/null | sort | tr '\n' ' ' | sed 's/ $//'; }
reach() { inns "$1" busybox ping -c1 -W1 "$2" || inns "$1" busybox ping -c2 -W2 "$2"; }
get() { timeout 4 busybox wget -q -O - "http://$1/"; }
rules() { { iptables-save; ip6tables-save; nft list ruleset; } 2>/dev/null | grep -c -- "$1"; }

# a host that forwards nothing by default, as many are: the firewall plugin
# must open the way for what bridge + host-local report
for t in iptables ip6tables; do
  $t -P FORWARD DROP
  $t -A FORWARD -m conntrack --ctstate DNAT -j ACCEPT # published ports
done

# ---- 1. a hand-written conflist --------------------------------------------
cat >"$E2E/net/e2e.conflist" <<X
{ "cniVersion": "0.4.0", "name": "e2e", "plugins": [
  { "type": "bridge", "bridge": "cni-e2e", "isGateway": true, "ipMasq": true, "hairpinMode": true,
    "ipam": { "type": "host-local", "routes": [{ "dst": "0.0.0.0/0" }],
      "ranges": [[{ "subnet": "10.77.0.0/24", "gateway": "10.77.0.1" }]] },
    "capabilities": { "ips": true } },
  { "type": "portmap", "capabilities": { "portMappings": true } },
  { "type": "firewall" }, { "type": "tuning" } ] }
X
has hand-network-ls "e2e bridge" "$(podman network ls --format '{{.Name}} {{.Driver}}' 2>&1)"
is hand-network-inspect "10.77.0.0/24 10.77.0.1 cni-e2e host-local" "$(podman network inspect e2e 2>&1 |
  jq -r '.[0]|"\(.subnets[0].subnet) \(.subnets[0].gateway) \(.network_interface) \(.ipam_options.driver)"')"
check hand-run-c1 podman run -d --name c1 --network e2e -p 18080:80 $IMG /bin/httpd -f -h /www -p 80
check hand-run-c2 podman run -d --name c2 --network e2e --mac-address 02:00:00:00:77:02 $IMG
A1=$(ip4 c1 e2e) A2=$(ip4 c2 e2e)
is hand-addresses "10.77.0.2 10.77.0.3" "$A1 $A2"
is hand-in-container "$A1/24 $A2/24" "$(addrs c1 eth0) $(addrs c2 eth0)"
is hand-default-route "10.77.0.1" "$(inns c1 ip -j route show default | jq -r '.[0].gateway')"
is hand-mac-reported "$(link c1 eth0 address)" "$(ins c1 '{{(index .NetworkSettings.Networks "e2e").MacAddress}}')"
is hand-static-mac "02:00:00:00:77:02" "$(link c2 eth0 address)"
is hand-gateway-on-bridge "10.77.0.1/24" "$(ip -j addr show cni-e2e | jq -r '.[0].addr_info[]|select(.family=="inet")|"\(.local)/\(.prefixlen)"')"
is hand-bridge-ports 2 "$(ports cni-e2e)"
is hand-hairpin "1 1" "$(cat /sys/class/net/*/brport/hairpin_mode | tr '\n' ' ' | sed 's/ $//')"
is hand-record-files "10.77.0.2 10.77.0.3" "$(records e2e)"
is hand-record-content "$(ins c1 '{{.Id}}')"$'\r\n'eth0 "$(cat $RECORDS/e2e/10.77.0.2)"
is hand-last-reserved "10.77.0.3" "$(cat $RECORDS/e2e/last_reserved_ip.0)"
check hand-ping-c1-c2 reach c1 "$A2"
check hand-ping-c2-c1 reach c2 "$A1"
check hand-ping-gateway reach c1 10.77.0.1
check hand-ping-from-host busybox ping -c1 -W2 "$A1"
check hand-masquerade-outside reach c2 192.0.2.2 # outside has no route back to 10.77/24
check hand-exec-ping podman exec c2 ping -c1 -W2 "$A1"
is port-loopback hello "$(get 127.0.0.1:18080 2>&1)"
is port-host-address hello "$(get 192.0.2.1:18080 2>&1)"
is port-from-outside hello "$(ip netns exec outside timeout 4 busybox wget -q -O - http://192.0.2.1:18080/ 2>&1)"
is port-from-c2 hello "$(inns c2 timeout 4 busybox wget -q -O - http://192.0.2.1:18080/ 2>&1)"
is port-hairpin-c1 hello "$(inns c1 timeout 4 busybox wget -q -O - http://192.0.2.1:18080/ 2>&1)"

# static addresses
check static-ip-run podman run -d --name s1 --network e2e --ip 10.77.0.200 $IMG
is static-ip "10.77.0.200/24" "$(addrs s1 eth0)"
o=$(podman run -d --name s2 --network e2e --ip 10.77.0.200 $IMG 2>&1)
has static-ip-taken "10.77.0.200" "$(printf '%s' "$o" | grep -i 'not available\|allocated\|reserved')"
podman rm -f -t 0 s2 >/dev/null 2>&1
is static-ip-taken-no-leak "10.77.0.2 10.77.0.200 10.77.0.3|3" "$(records e2e)|$(ports cni-e2e)"
podman rm -f -t 0 s1 >/dev/null 2>&1
is static-ip-released "10.77.0.2 10.77.0.3" "$(records e2e)"

# stop / start / reload
check restart podman restart -t 0 c2
A2=$(ip4 c2 e2e)
is restart-address "$A2/24" "$(addrs c2 eth0)"
is restart-record "10.77.0.2 $A2" "$(records e2e)"
check restart-ping reach c1 "$A2"
before="$(addrs c1 eth0) $(link c1 eth0 address)"
check reload podman network reload c1
is reload-same-address "$before" "$(addrs c1 eth0) $(link c1 eth0 address)"
is reload-port hello "$(get 127.0.0.1:18080 2>&1)"

# ---- 2. podman network create ----------------------------------------------
check create podman network create --subnet 10.78.0.0/16 --gateway 10.78.0.254 --ip-range 10.78.3.0/24 -o mtu=1400 n4
is create-inspect "10.78.0.0/16 10.78.0.254" "$(podman network inspect n4 | jq -r '.[0].subnets[0]|"\(.subnet) \(.gateway)"')"
BR4=$(podman network inspect n4 | jq -r '.[0].network_interface')
check create-run podman run -d --name k1 --network n4 $IMG
is create-address "10.78.3.1/16" "$(addrs k1 eth0)"
is create-mtu "1400 1400" "$(link k1 eth0 mtu) $(cat "/sys/class/net/$BR4/mtu")"
check create-ping-gateway reach k1 10.78.0.254
check create-ping-outside reach k1 192.0.2.2

check dual-create podman network create --ipv6 --subnet 10.79.0.0/24 --subnet fd00:79::/64 n6
BR6=$(podman network inspect n6 | jq -r '.[0].network_interface')
check dual-run-d1 podman run -d --name d1 --network n6 $IMG
check dual-run-d2 podman run -d --name d2 --network n6 $IMG
is dual-addresses "10.79.0.2/24 fd00:79::2/64" "$(addrs d1 eth0)"
is dual-inspect "10.79.0.3 fd00:79::3" "$(ip4 d2 n6) $(ip6 d2 n6)"
is dual-gateways "10.79.0.1/24 fd00:79::1/64" "$(ip -j addr show "$BR6" | jq -r '[.[0].addr_info[]|select(.scope=="global")|"\(.local)/\(.prefixlen)"]|sort|join(" ")')"
is dual-no-tentative 0 "$(inns d1 ip -6 -j addr show dev eth0 tentative | jq 'map(select(.addr_info|length>0))|length')"
check dual-ping4 reach d1 10.79.0.3
check dual-ping6 reach d1 fd00:79::3
check dual-ping6-gateway reach d2 fd00:79::1
check dual-masquerade6-outside reach d1 2001:db8:0:1::2

check internal-create podman network create --internal --subnet 10.80.0.0/24 nint
check internal-run podman run -d --name i1 --network nint $IMG
podman run -d --name i2 --network nint $IMG >/dev/null 2>&1
is internal-no-default-route 0 "$(inns i1 ip -j route show default | jq length)"
check internal-ping reach i1 "$(ip4 i2 nint)"
check_not internal-no-outside inns i1 busybox ping -c1 -W1 192.0.2.2

# a second network on a running container, and two networks at start
check connect podman network connect n4 d1
is connect-eth1 "10.78.3.2/16" "$(addrs d1 eth1)"
check connect-ping reach d1 "$(ip4 k1 n4)"
check disconnect podman network disconnect n4 d1
check_not disconnect-eth1-gone inns d1 ip link show eth1
is disconnect-record "10.78.3.1" "$(records n4)"
check two-networks-run podman run -d --name m1 --network e2e --network n4 $IMG
is two-networks "$(ip4 m1 e2e)/24 $(ip4 m1 n4)/16" "$(printf '%s\n' "$(addrs m1 eth0)" "$(addrs m1 eth1)" | sort | tr '\n' ' ' | sed 's/ $//')"

# ---- 3. exhaustion ----------------------------------------------------------
cat >"$E2E/net/tiny.conflist" <<X
{ "cniVersion": "1.0.0", "name": "tiny", "plugins": [
  { "type": "bridge", "bridge": "cni-tiny", "isGateway": true,
    "ipam": { "type": "host-local", "ranges": [[{ "subnet": "10.81.0.0/24", "rangeStart": "10.81.0.10", "rangeEnd": "10.81.0.11" }]] } } ] }
X
check tiny-run-1 podman run -d --name t1 --network tiny $IMG
check tiny-run-2 podman run -d --name t2 --network tiny $IMG
o=$(podman run -d --name t3 --network tiny $IMG 2>&1)
has tiny-exhausted "no IP addresses available in range set: 10.81.0.10-10.81.0.11" "$o"
podman rm -f -t 0 t3 >/dev/null 2>&1
is tiny-no-leak "10.81.0.10 10.81.0.11|2" "$(records tiny)|$(ports cni-tiny)"
podman rm -f -t 0 t1 >/dev/null 2>&1
check tiny-run-again podman run -d --name t4 --network tiny $IMG
is tiny-reused "10.81.0.10/24" "$(addrs t4 eth0)"

# ---- 4. many at once --------------------------------------------------------
pids=()
for i in 1 2 3 4 5 6 7 8; do
  podman run -d --name p$i --network n6 $IMG >"$E2E/p$i.out" 2>&1 &
  pids+=($!)
done
bad=0
for p in "${pids[@]}"; do wait "$p" || bad=$((bad + 1)); done
if [ $bad = 0 ]; then ok parallel-run-8; else fail parallel-run-8 "$bad failed: $(cat "$E2E"/p?.out | grep -i error | head -3)"; fi
is parallel-unique 10 "$(for i in d1 d2 p1 p2 p3 p4 p5 p6 p7 p8; do ip4 $i n6; done | sort -u | grep -c '^10\.79\.')"
is parallel-ports 10 "$(ports "$BR6")"
is parallel-records 20 "$(records n6 | wc -w)"
for i in 1 2 3 4 5 6 7 8; do podman rm -f -t 0 p$i >/dev/null 2>&1 & pids+=($!); done
wait "${pids[@]}" 2>/dev/null
is parallel-removed "10.79.0.2 10.79.0.3 fd00:79::2 fd00:79::3|2" "$(records n6)|$(ports "$BR6")"

# ---- 5. the end -------------------------------------------------------------
# a container whose process is killed from outside (no orderly stop)
kill -9 "$(ins i1 '{{.State.Pid}}')"
check killed-rm podman rm -f -t 0 i1
is killed-record-released "$(ip4 i2 nint)" "$(records nint)"
id1=$(ins c1 '{{.Id}}')
is rules-before 1 "$(($(rules "$id1") > 0))"
check rm-all podman rm -f -a -t 0
for n in e2e n4 n6 nint tiny; do is rm-records-$n "" "$(records $n)"; done
is rm-veths 0 "$(ip -j link show type veth | jq '[.[]|select(.ifname!="up0")]|length')"
is rm-rules 0 "$(rules "$id1")"
is rm-netns outside "$(ls /run/netns | tr '\n' ' ' | sed 's/ $//')"
is rm-cache "" "$(ls /var/lib/cni/results 2>/dev/null)"
check network-rm podman network rm n4 n6 nint e2e tiny
is network-rm-conf "" "$(ls "$E2E/net" | grep -v '^cni.lock$')"
is network-rm-bridges "" "$(ip -j link show type bridge | jq -r '.[].ifname' | tr '\n' ' ')"

# ---- 6. how much of a container's start is CNI ------------------------------
R=${E2E_RUNS:-5}
if [ "$R" -gt 0 ]; then
  podman network create --subnet 10.82.0.0/24 tm >/dev/null 2>&1
  series() { # NETWORK: median ms of R runs
    local i t all=()
    for ((i = 0; i < R; i++)); do
      t=$(now_ms)
      podman run --rm --network "$1" $IMG /bin/true >/dev/null 2>&1
      all+=($(($(now_ms) - t)))
    done
    printf '%s\n' "${all[@]}" | sort -n | sed -n "$(((R + 1) / 2))p"
  }
  series tm >/dev/null
  echo "# timing podman run --rm true: network none $(series none) ms, CNI network $(series tm) ms (median of $R)"
  # the same with every plugin behind a stopwatch
  mkdir -p "$E2E/real" && mv "$E2E"/bin/* "$E2E/real/"
  for p in "$E2E"/real/*; do
    cat >"$E2E/bin/${p##*/}" <<X
#!/bin/bash
s=\$EPOCHREALTIME
"$p"
r=\$?
e=\$EPOCHREALTIME
echo "\$CNI_COMMAND ${p##*/} \$((\${e/./}-\${s/./}))" >>"$E2E/clock"
exit \$r
X
    chmod 755 "$E2E/bin/${p##*/}"
  done
  : >"$E2E/clock"
  series tm >/dev/null
  sort "$E2E/clock" | awk '{k=$1" "$2; n[k]++; s[k]+=$3} END {for (k in n) printf "# timing plugin %s: mean %.1f ms (%d calls)\n", k, s[k]/n[k]/1000, n[k]}' | sort
fi
e2e_done
