#!/bin/bash
# containerd 1.6 (Debian bookworm) as the client of the CNI plugins host-local
# and bridge, end to end: 'ctr run --cni', then the CRI service (what a kubelet
# talks to) with pod sandboxes, driven through the gRPC stubs of the PyPI
# package container-runtime-interface-api (Debian has no crictl).
#
# usage: REF_DIR=DIR containerd-e2e.sh PLUGIN_DIR
#   PLUGIN_DIR  plugins under test (say, host-local and bridge)
#   REF_DIR     where the others (loopback, portmap, firewall) come from
#   E2E_RUNS=N  sandboxes in the timing series (default 5, 0: no timing)
#   CTD_SUITE=trixie|sid   containerd 1.7 or 2.x of that Debian suite, unpacked
#               aside (2.x speaks CNI 1.1 and asks the plugins for STATUS)
#   E2E_PY      Python >= 3.10 with pip (default: the first such found)
# Prints 'ok NAME' or 'FAIL NAME: detail' per check; exit 0 only if none failed.
HERE=$(dirname "$(readlink -f "$0")")
. "$HERE/e2e-common.sh"
E2E_NAME=containerd-e2e
E2E_CGROUPS="/sys/fs/cgroup/k8s.io /sys/fs/cgroup/*/k8s.io"
[ $# = 1 ] || { echo "usage: REF_DIR=DIR $0 PLUGIN_DIR" >&2; exit 2; }
if [ "${E2E_INSIDE:-}" != 1 ]; then
  e2e_packages containerd runc iptables busybox-static iproute2 jq containernetworking-plugins
  if [ -n "${CTD_SUITE:-}" ]; then
    export CTD_DIR=${XDG_CACHE_HOME:-$HOME/.cache}/cni-e2e/containerd-$CTD_SUITE
    e2e_deb "$CTD_SUITE" "$CTD_DIR" containerd
  fi
  e2e_pip "${XDG_CACHE_HOME:-$HOME/.cache}/cni-e2e/cri" container-runtime-interface-api==2.0.1
fi
e2e_enter "$0" "$@"

[ -z "${CTD_DIR:-}" ] || PATH=$CTD_DIR/usr/bin:$PATH
e2e_plugins host-local bridge loopback portmap firewall

# ---- private containerd -----------------------------------------------------
# ctr has no flags for the CNI directories: /opt and /etc are private here, so
# the default paths serve.
rm -rf /etc/cni/net.d
mkdir -p /etc/cni/{net.d,dual.d,tiny.d} /opt/cni "$E2E/ctd" /run/pods
ln -s "$E2E/bin" /opt/cni/bin
CV=1.0.0 # containerd 2 speaks CNI 1.1, so its NetworkReady asks the plugins for STATUS
case "$(containerd --version)" in *containerd/v2*) CV=1.1.0 ;; esac
cat >/etc/cni/net.d/10-pods.conflist <<X
{ "cniVersion": "$CV", "name": "pods", "plugins": [
  { "type": "bridge", "bridge": "cni0", "isDefaultGateway": true, "ipMasq": true, "hairpinMode": true,
    "ipam": { "type": "host-local", "ranges": [[{ "subnet": "10.244.1.0/24" }]] } },
  { "type": "portmap", "capabilities": { "portMappings": true } },
  { "type": "firewall" } ] }
X
cat >/etc/cni/dual.d/10-dual.conflist <<X
{ "cniVersion": "0.4.0", "name": "dual", "plugins": [
  { "type": "bridge", "bridge": "cni6", "isGateway": true, "ipMasq": true, "promiscMode": true, "mtu": 1450,
    "ipam": { "type": "host-local", "dataDir": "/run/ipam-dual",
      "ranges": [[{ "subnet": "10.244.2.0/24", "rangeStart": "10.244.2.100" }], [{ "subnet": "fd00:244::/64" }]],
      "routes": [{ "dst": "0.0.0.0/0" }, { "dst": "::/0" }] } },
  { "type": "portmap", "capabilities": { "portMappings": true } } ] }
X
cat >/etc/cni/tiny.d/10-tiny.conflist <<X
{ "cniVersion": "1.0.0", "name": "tiny", "plugins": [
  { "type": "bridge", "bridge": "cnit", "isGateway": true,
    "ipam": { "type": "host-local",
      "ranges": [[{ "subnet": "10.244.3.0/24", "rangeStart": "10.244.3.10", "rangeEnd": "10.244.3.11" }]] } } ] }
X
SOCK=/run/containerd/containerd.sock
cat >"$E2E/ctd/config.toml" <<X
version = 2
root = "$E2E/ctd/root"
state = "/run/containerd"
[grpc]
  address = "$SOCK"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/bb:e2e"
  disable_cgroup = true
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/opt/cni/bin"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.dual]
      runtime_type = "io.containerd.runc.v2"
      cni_conf_dir = "/etc/cni/dual.d"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.tiny]
      runtime_type = "io.containerd.runc.v2"
      cni_conf_dir = "/etc/cni/tiny.d"
X
CTD=
start_containerd() {
  containerd -c "$E2E/ctd/config.toml" >>"$E2E/ctd.log" 2>&1 &
  CTD=$!
  wait_for 15 ctr version
}
stop_containerd() { kill "$CTD" && wait "$CTD" 2>/dev/null; }
start_containerd && ok containerd-start || {
  fail containerd-start "$(tail -3 "$E2E/ctd.log")"
  e2e_done
}
echo "# $(containerd --version)"

# an OCI image out of busybox, by hand
mkdir -p "$E2E"/img/{bin,etc,proc,sys,dev,tmp,www} "$E2E/oci/blobs/sha256"
cp /bin/busybox "$E2E/img/bin/busybox"
for a in sh sleep ip ping ping6 httpd wget cat true nc; do ln -s busybox "$E2E/img/bin/$a"; done
echo hello >"$E2E/img/www/index.html"
tar -C "$E2E/img" -cf "$E2E/layer" .
desc() { # FILE MEDIATYPE: put it among the blobs, print its descriptor
  local h
  h=$(sha256sum <"$1" | cut -d' ' -f1)
  cp "$1" "$E2E/oci/blobs/sha256/$h"
  printf '{"mediaType":"application/vnd.oci.image.%s","digest":"sha256:%s","size":%d' "$2" "$h" "$(stat -c %s "$1")"
}
lay="$(desc "$E2E/layer" layer.v1.tar)}"
printf '{"architecture":"%s","os":"linux","config":{"Cmd":["/bin/sleep","36000"],"Env":["PATH=/bin"]},"rootfs":{"type":"layers","diff_ids":[%s]}}' \
  "$(dpkg --print-architecture)" "$(printf %s "$lay" | jq .digest)" >"$E2E/config"
cfg="$(desc "$E2E/config" config.v1+json)}"
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":%s,"layers":[%s]}' "$cfg" "$lay" >"$E2E/manifest"
printf '{"imageLayoutVersion":"1.0.0"}' >"$E2E/oci/oci-layout"
printf '{"schemaVersion":2,"manifests":[%s,"annotations":{"io.containerd.image.name":"localhost/bb:e2e"}}]}' \
  "$(desc "$E2E/manifest" manifest.v1+json)" >"$E2E/oci/index.json"
tar -C "$E2E/oci" -cf "$E2E/oci.tar" oci-layout index.json blobs
IMG=localhost/bb:e2e
# containerd 2's ctr knows the native snapshotter only with --local
loc=
ctr images import --help | grep -q -- '--local' && loc=--local
check image-import-ctr ctr images import $loc --snapshotter native "$E2E/oci.tar"
check image-import-cri ctr -n k8s.io images import $loc --snapshotter native "$E2E/oci.tar"

# ---- small helpers ----------------------------------------------------------
RECORDS=/var/lib/cni/networks
cri() { "$E2E_PY" "$HERE/cri-client.py" "$SOCK" "$@"; }
records() { find "${2:-$RECORDS}/$1" -type f ! -name 'last_reserved_ip*' ! -name lock -printf '%f\n' 2>/dev/null | sort | tr '\n' ' ' | sed 's/ $//'; }
ports() { ip -j link show master "$1" 2>/dev/null | jq -r length; }
veths() { ip -j link show type veth | jq '[.[]|select(.ifname!="up0")]|length'; }
inns() { # SANDBOX CMD...
  local p
  p=$(cri netns "$1") || return
  shift
  nsenter --net="$p" "$@"
}
addrs() { inns "$1" ip -j addr show dev eth0 | jq -r '[.[0].addr_info[]|select(.scope=="global")|"\(.local)/\(.prefixlen)"]|sort|join(" ")'; }
rules() { { iptables-save; ip6tables-save; nft list ruleset; } 2>/dev/null | grep -c -- "$1"; }
get() { timeout 4 busybox wget -q -O - "http://$1/"; }

# ---- 1. ctr run --cni -------------------------------------------------------
CTR="ctr run --snapshotter native --cni --cgroup="
o=$($CTR --rm $IMG f1 /bin/ip -4 -o addr show dev eth0 2>&1)
has ctr-run-address "inet 10.244.1.2/24" "$o"
is ctr-run-released "|0" "$(records pods)|$(veths)"
o=$($CTR --rm $IMG f2 /bin/ping -c1 -W2 192.0.2.2 2>&1)
has ctr-run-masquerade "1 packets received" "$o"
check ctr-run-detached $CTR -d $IMG d1
check ctr-run-detached2 $CTR -d $IMG d2
is ctr-detached-records "10.244.1.4 10.244.1.5|2" "$(records pods)|$(ports cni0)"
is ctr-record-content "default-d1"$'\r\n'"eth0" "$(cat $RECORDS/pods/10.244.1.4)"
check ctr-ping ctr task exec --exec-id x1 d1 /bin/ping -c1 -W2 10.244.1.5
has ctr-default-route "default via 10.244.1.1 dev eth0" "$(ctr task exec --exec-id x2 d1 /bin/ip route 2>&1)"
for c in d1 d2; do
  ctr task kill -s 9 $c
  wait_for 5 sh -c "ctr task ls | grep -q '^$c .*STOPPED'"
  ctr task rm $c
  ctr container rm $c
done >/dev/null 2>&1
is ctr-detached-veths 0 "$(veths)"
# ctr 1.6 never sends DEL for a detached container, so its records stay (ctr 1.7
# sends it at 'task rm')
case "$(containerd --version)" in
  *' 1.6.'*)
    is ctr-detached-stale "10.244.1.4 10.244.1.5" "$(records pods)"
    rm -f $RECORDS/pods/10.244.1.[45] /var/lib/cni/results/*
    ;;
  *) is ctr-detached-released "" "$(records pods)" ;;
esac

# ---- 2. CRI -----------------------------------------------------------------
has cri-version "containerd" "$(cri version 2>&1)"
is cri-network-ready True "$(cri network 2>&1)"
A=$(cri run a --port 18081:80 2>"$E2E/err") && ok cri-run-a || fail cri-run-a "$(cat "$E2E/err")"
B=$(cri run b 2>"$E2E/err") && ok cri-run-b || fail cri-run-b "$(cat "$E2E/err")"
A=${A% *} B=${B% *}
IPA=$(cri ip "$A") IPB=$(cri ip "$B")
is cri-addresses "10.244.1.6/24 10.244.1.7/24" "$(addrs "$A") $(addrs "$B")"
is cri-status-ip "10.244.1.6 10.244.1.7" "$IPA $IPB"
is cri-record-content "$A"$'\r\n'"eth0" "$(cat $RECORDS/pods/10.244.1.6)"
is cri-default-gateway 10.244.1.1 "$(inns "$A" ip -j route show default | jq -r '.[0].gateway')"
is cri-bridge-address 10.244.1.1/24 "$(ip -j addr show cni0 | jq -r '.[0].addr_info[]|select(.family=="inet")|"\(.local)/\(.prefixlen)"')"
CA=$(cri container "$A" web $IMG /bin/httpd -f -h /www -p 80 2>"$E2E/err") && ok cri-container-a || fail cri-container-a "$(cat "$E2E/err")"
CB=$(cri container "$B" box $IMG /bin/sleep 36000 2>"$E2E/err") && ok cri-container-b || fail cri-container-b "$(cat "$E2E/err")"
check cri-ping-b-a cri exec "$CB" /bin/ping -c1 -W2 "$IPA"
check cri-ping-outside cri exec "$CB" /bin/ping -c1 -W2 192.0.2.2
is cri-http-b-a hello "$(cri exec "$CB" /bin/wget -q -O - "http://$IPA/" 2>&1)"
is cri-hostport-loopback hello "$(get 127.0.0.1:18081 2>&1)"
is cri-hostport-outside hello "$(ip netns exec outside timeout 4 busybox wget -q -O - http://192.0.2.1:18081/ 2>&1)"
is cri-hostport-hairpin hello "$(cri exec "$CA" /bin/wget -q -O - http://192.0.2.1:18081/ 2>&1)"

# two address families, and a CNI config of its own per runtime handler
D=$(cri run d --handler dual 2>"$E2E/err") && ok dual-run || fail dual-run "$(cat "$E2E/err")"
D=${D% *}
E=$(cri run e --handler dual) E=${E% *}
is dual-status-ips "10.244.2.100 fd00:244::2" "$(cri ip "$D" 2>&1)"
is dual-addresses "10.244.2.101/24 fd00:244::3/64" "$(addrs "$E")"
check dual-ping4 inns "$D" busybox ping -c2 -W2 10.244.2.101
check dual-ping6 inns "$D" busybox ping -c2 -W2 fd00:244::3
check dual-ping6-outside inns "$D" busybox ping -c2 -W2 2001:db8:0:1::2
is dual-mtu "1450 1450" "$(inns "$D" ip -j link show eth0 | jq .[0].mtu) $(cat /sys/class/net/cni6/mtu)"
is dual-promisc 1 "$(ip -j -d link show cni6 | jq '.[0].promiscuity')"
is dual-datadir "10.244.2.100 10.244.2.101 fd00:244::2 fd00:244::3" "$(records dual /run/ipam-dual)"

# an ending that is not orderly
kill -9 "$(ctr -n k8s.io task ls | awk -v i="$E" '$1 == i {print $2}')"
check killed-notready wait_for 5 sh -c "'$E2E_PY' '$HERE/cri-client.py' $SOCK state $E | grep -q NOTREADY"
check killed-stop cri stop "$E"
is killed-released "10.244.2.100 fd00:244::2" "$(records dual /run/ipam-dual)"
check killed-rm cri rm "$E"
ns=$(cri netns "$D")
umount "$ns" && rm -f "$ns"
check lost-netns-stop cri stop "$D" # DEL with an empty CNI_NETNS
is lost-netns-released "" "$(records dual /run/ipam-dual)"
check stop-twice cri stop "$D"
check lost-netns-rm cri rm "$D"

# exhaustion
T1=$(cri run t1 --handler tiny) T1=${T1% *}
T2=$(cri run t2 --handler tiny) T2=${T2% *}
is tiny-records "10.244.3.10 10.244.3.11" "$(records tiny)"
nsb=$(ls /run/netns | wc -l)
o=$(cri run t3 --handler tiny 2>&1)
has tiny-exhausted "no IP addresses available in range set: 10.244.3.10-10.244.3.11" "$o"
is tiny-no-leak "10.244.3.10 10.244.3.11|2|$nsb" "$(records tiny)|$(ports cnit)|$(ls /run/netns | wc -l)"
check tiny-stop cri stop "$T1"
T4=$(cri run t4 --handler tiny) T4=${T4% *}
is tiny-reused 10.244.3.10 "$(cri ip "$T4" 2>&1)"
cri stop "$T2" "$T4" >/dev/null 2>&1
cri rm "$T1" "$T2" "$T4" >/dev/null 2>&1
is tiny-empty "|0" "$(records tiny)|$(ports cnit)"

# the daemon restarts while pods run
stop_containerd
check_not restart-stopped ctr version
start_containerd && ok restart-started || fail restart-started "$(tail -3 "$E2E/ctd.log")"
is restart-state SANDBOX_READY "$(cri state "$A" 2>&1)"
check restart-ping inns "$B" busybox ping -c1 -W2 "$IPA"

# a node that boots: many pods at once
cri run many --count 16 --parallel 8 >"$E2E/many" 2>"$E2E/err" && ok many-run-16 || fail many-run-16 "$(cat "$E2E/err")"
mapfile -t M < <(cut -d' ' -f1 "$E2E/many")
is many-records 18 "$(records pods | wc -w)"
is many-unique 16 "$(for i in "${M[@]}"; do grep -l "$i" $RECORDS/pods/10.*; done | sort -u | wc -l)"
is many-ports 18 "$(ports cni0)"
echo "# timing 16 RunPodSandbox, 8 at a time: median $(cut -d' ' -f2 "$E2E/many" | sort -n | sed -n 8p) ms each"
check many-stop cri stop "${M[@]}"
is many-released "10.244.1.6 10.244.1.7|2" "$(records pods)|$(ports cni0)"
check many-rm cri rm "${M[@]}"

# ---- 3. the end -------------------------------------------------------------
is rules-before 1 "$(($(rules "$A") > 0))"
check stop-all cri stop "$A" "$B"
check rm-all cri rm "$A" "$B"
is end-records "" "$(records pods)"
is end-veths 0 "$(veths)"
is end-rules 0 "$(rules "$A")"
is end-netns outside "$(ls /run/netns | tr '\n' ' ' | sed 's/ $//')"
is end-cache "" "$(ls /var/lib/cni/results 2>/dev/null)"

# ---- 4. how much of a sandbox's start is CNI --------------------------------
R=${E2E_RUNS:-5}
if [ "$R" -gt 0 ]; then
  median() { sort -n | sed -n "$(((R + 1) / 2))p"; }
  cri run w --count "$R" >"$E2E/t"
  for i in $(cut -d' ' -f1 "$E2E/t"); do cri stop "$i"; done >"$E2E/t2"
  echo "# timing RunPodSandbox: median $(cut -d' ' -f2 "$E2E/t" | median) ms, StopPodSandbox: $(cut -d' ' -f2 "$E2E/t2" | median) ms (of $R, one at a time)"
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
  cri run x --count "$R" >"$E2E/t"
  for i in $(cut -d' ' -f1 "$E2E/t"); do cri stop "$i"; done >/dev/null
  sort "$E2E/clock" | awk '{k=$1" "$2; n[k]++; s[k]+=$3} END {for (k in n) printf "# timing plugin %s: mean %.1f ms (%d calls)\n", k, s[k]/n[k]/1000, n[k]}' | sort
fi
[ $E2E_FAILS = 0 ] || grep -E 'level=(error|warning)' "$E2E/ctd.log" | grep -v 'cleanup warnings\|cleaning up' | tail -5 | cut -c1-400 | sed 's/^/# log /'
stop_containerd
e2e_done
