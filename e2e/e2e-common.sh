# Sourced by the *-e2e.sh scripts beside it. Gives:
#   e2e_packages PKG...      install Debian packages that are missing
#   e2e_pip DIR PKG...       Python packages into DIR; e2e_deb SUITE DIR PKG...
#                            unpacks packages of another Debian suite into DIR
#   e2e_enter "$0" "$@"      re-run the script inside a private sandbox (once)
#   e2e_plugins DIR          fill $E2E/bin with plugins: DIR first, rest from $REF_DIR
#   ok NAME / fail NAME DETAIL / check NAME CMD... / is NAME WANT GOT / e2e_done
#
# The sandbox is one fresh mount + network + PID namespace, entered with
# unshare(1). Its network namespace plays "the host": the machine's own interfaces
# and firewall are never seen. /run, /var/lib and /opt are private tmpfs, /etc is
# a private overlay, so every default path (/etc/cni/net.d, /opt/cni/bin,
# /var/lib/cni, /run/netns, /run/xtables.lock) is private as well. When the
# script ends, the PID namespace takes every process started in it along
# (--kill-child), and the mounts vanish with the mount namespace.
#
# In the sandbox:  lo up;  a second namespace "outside" joined by a veth pair,
#   host side  up0   192.0.2.1/24  2001:db8:0:1::1/64
#   outside    eth0  192.0.2.2/24  2001:db8:0:1::2/64
# plays the network beyond the host (no default route, no way out of the machine).

set -u
export LC_ALL=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin${PATH:+:$PATH}

E2E_CGROUPS=
E2E_FAILS=0
E2E_OKS=0
ok() { E2E_OKS=$((E2E_OKS + 1)); printf 'ok %s\n' "$1"; }
fail() {
  E2E_FAILS=$((E2E_FAILS + 1))
  local d
  d=$(printf '%s' "${2:-}" | tr '\n\t' '  ' | tr -s ' ' | cut -c1-600)
  printf 'FAIL %s: %s\n' "$1" "$d"
}
# check NAME CMD...: passes when CMD exits 0; its output is the failure detail
check() {
  local n=$1 o rc
  shift
  o=$("$@" 2>&1)
  rc=$?
  if [ $rc = 0 ]; then ok "$n"; else fail "$n" "rc=$rc $o"; fi
  return $rc
}
# check_not NAME CMD...: passes when CMD fails
check_not() {
  local n=$1 o
  shift
  if o=$("$@" 2>&1); then fail "$n" "succeeded: $o"; else ok "$n"; fi
}
is() { if [ "$2" = "$3" ]; then ok "$1"; else fail "$1" "want [$2] got [$3]"; fi; }
# has NAME NEEDLE HAYSTACK
has() { case "$3" in *"$2"*) ok "$1" ;; *) fail "$1" "no [$2] in [$3]" ;; esac; }
# wait_for SECONDS CMD...: poll until CMD succeeds
wait_for() {
  local n=$(($1 * 20))
  shift
  while [ $n -gt 0 ]; do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.05
    n=$((n - 1))
  done
  return 1
}
now_us() { echo $((${EPOCHREALTIME/./})); }
now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }
e2e_done() {
  printf '# %s: %d ok, %d failed, %d.%01d s\n' "$E2E_NAME" $E2E_OKS $E2E_FAILS \
    $((($(now_ms) - E2E_T0) / 1000)) $((($(now_ms) - E2E_T0) % 1000 / 100))
  [ $E2E_FAILS = 0 ]
  exit
}

e2e_packages() {
  local p miss=()
  for p; do
    dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || miss+=("$p")
  done
  [ ${#miss[@]} = 0 ] && return
  # RUNLEVEL=1: no service of these packages may start by itself
  local apt="apt-get -q -y -o DPkg::Lock::Timeout=300 -o APT::Update::Error-Mode=any"
  { RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive $apt install --no-install-recommends "${miss[@]}" ||
    { $apt update && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive $apt install --no-install-recommends "${miss[@]}"; }
  } >&2 </dev/null || { echo "FAIL packages: could not install ${miss[*]}"; exit 2; }
}

# e2e_pip DIR PKG==VERSION...: Python packages into DIR (kept for later runs);
# sets $E2E_PY to a Python that sees them
e2e_pip() {
  local dir=$1 py
  shift
  for py in ${E2E_PY:-} /usr/bin/python3 $(type -ap python3); do
    "$py" -c 'import pip' 2>/dev/null && break
    py=
  done
  [ -n "$py" ] || { e2e_packages python3 python3-pip; py=/usr/bin/python3; }
  py=$("$py" -c 'import sys; print(sys.executable)')
  dir=$dir/$("$py" -c 'import sys; print("py%d%d" % sys.version_info[:2])')
  if [ ! -e "$dir/.done" ]; then
    "$py" -m pip install -q --disable-pip-version-check --target "$dir" "$@" >&2 </dev/null ||
      { echo "FAIL packages: could not install $*"; exit 2; }
    : >"$dir/.done"
  fi
  export E2E_PY=$py PYTHONPATH=$dir
}

# e2e_deb SUITE DIR PKG...: unpack packages of another Debian suite into DIR
# (kept for later runs); installs nothing and leaves apt's own lists alone
e2e_deb() {
  local suite=$1 dir=$2 a o
  shift 2
  [ ! -e "$dir/.done" ] || return 0
  a=$(mktemp -d)
  mkdir -p "$a"/{lists,cache/archives}/partial "$dir"
  apt-get indextargets --format '$(REPO_URI)' 'Label: Debian' 'Created-By: Packages' |
    sed -n "1s|.*|deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] & $suite main|p" >"$a/sources.list"
  o="-qq -o Dir::Etc::sourcelist=$a/sources.list -o Dir::Etc::sourceparts=/dev/null
    -o Dir::State::lists=$a/lists -o Dir::Cache=$a/cache -o APT::Sandbox::User=root"
  (cd "$a" && apt-get $o update && apt-get $o download "$@") >&2 </dev/null &&
    for p in "$a"/*.deb; do dpkg -x "$p" "$dir" || exit 2; done && : >"$dir/.done"
  rm -rf "$a"
  [ -e "$dir/.done" ] || { echo "FAIL packages: could not fetch $* of $suite"; exit 2; }
}

# e2e_enter SCRIPT ARGS...: outside, run SCRIPT again inside the sandbox and
# exit with its status; inside, finish the set-up and return.
e2e_enter() {
  local script
  script=$(readlink -f "$1")
  shift
  if [ "${E2E_INSIDE:-}" != 1 ]; then
    [ "$(id -u)" = 0 ] || { echo "FAIL root: needs root"; exit 2; }
    local dir rc d had
    # the cgroup file systems are the one thing that no namespace keeps apart:
    # E2E_CGROUPS names the folders that a runtime makes in them
    had=$(echo $E2E_CGROUPS)
    dir=$(mktemp -d "${TMPDIR:-/tmp}/e2e.XXXXXX") || exit 2
    # everything the sandbox writes lies on a tmpfs mounted here, inside it
    E2E_INSIDE=1 E2E=$dir unshare --mount --net --pid --fork --kill-child --mount-proc \
      --propagation private bash "$script" "$@" </dev/null &
    E2E_CHILD=$!
    trap 'kill -9 $E2E_CHILD' INT TERM HUP
    wait $E2E_CHILD
    rc=$?
    wait $E2E_CHILD 2>/dev/null # again, if a signal ended the first wait
    rmdir "$dir"
    for d in $E2E_CGROUPS; do # empty by now: its processes are gone
      case " $had " in *" $d "*) ;; *) find "$d" -depth -type d -exec rmdir {} \; ;; esac
    done 2>/dev/null
    exit $rc
  fi
  E2E_T0=$(now_ms)
  # the plugin dirs may lie under a path hidden below: keep them reachable
  mount -t tmpfs -o mode=755 e2e "$E2E" || exit 2
  mkdir -p "$E2E"/{up/etc,work/etc,bin,src,ref,cg,home} || exit 2
  mount --bind "${1:?PLUGIN_DIR}" "$E2E/src" || { echo "FAIL plugin-dir: $1"; exit 2; }
  mount --bind "${REF_DIR:-/usr/lib/cni}" "$E2E/ref" || { echo "FAIL ref-dir: $REF_DIR"; exit 2; }
  mount -t overlay overlay -o "lowerdir=/etc,upperdir=$E2E/up/etc,workdir=$E2E/work/etc" /etc || exit 2
  for d in /run /var/lib /opt; do mount -t tmpfs -o mode=755 e2e $d || exit 2; done
  mkdir -p /run/lock /run/netns
  # /sys of the new network namespace, with the cgroup mounts kept
  mount --rbind /sys/fs/cgroup "$E2E/cg" && umount -l /sys && mount -t sysfs sysfs /sys &&
    mount --rbind "$E2E/cg" /sys/fs/cgroup && umount -l "$E2E/cg" || exit 2
  # crun refuses the hybrid layout (v1 controllers + a v2 tree at unified)
  if mountpoint -q /sys/fs/cgroup/unified; then umount /sys/fs/cgroup/unified || exit 2; fi
  export HOME=$E2E/home TMPDIR=$E2E/home XDG_RUNTIME_DIR=/run
  unset NOTIFY_SOCKET DBUS_SESSION_BUS_ADDRESS CONTAINER_NAME 2>/dev/null
  ip link set lo up
  ip netns add outside &&
    ip link add up0 type veth peer name eth0 netns outside &&
    ip addr add 192.0.2.1/24 dev up0 && ip link set up0 up &&
    ip -n outside addr add 192.0.2.2/24 dev eth0 && ip -n outside link set eth0 up &&
    ip -n outside link set lo up || { echo "FAIL sandbox: network"; exit 2; }
  ip addr add 2001:db8:0:1::1/64 dev up0 nodad 2>/dev/null
  ip -n outside addr add 2001:db8:0:1::2/64 dev eth0 nodad 2>/dev/null
  # the host of a CNI runtime forwards
  echo 1 >/proc/sys/net/ipv4/ip_forward
  echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
  return 0
}

# e2e_plugins: $E2E/bin gets every plugin of PLUGIN_DIR ($E2E/src); what is
# missing there comes from REF_DIR. Prints where each of the needed ones is from.
e2e_plugins() {
  local p from
  for p in "$@"; do
    if [ -x "$E2E/src/$p" ]; then
      from=tested
      cp -L "$E2E/src/$p" "$E2E/bin/$p"
    elif [ -x "$E2E/ref/$p" ]; then
      from=reference
      cp -L "$E2E/ref/$p" "$E2E/bin/$p"
    else
      fail "plugin-$p" "neither in PLUGIN_DIR nor in REF_DIR"
      continue
    fi
    chmod 755 "$E2E/bin/$p"
    printf '# plugin %s: %s %s\n' "$p" "$from" "$(sha256sum <"$E2E/bin/$p" | cut -c1-16)"
  done
}
