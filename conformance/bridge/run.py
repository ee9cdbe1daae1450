#!/usr/bin/env python3
"""Conformance runner for a CNI `bridge` plugin.  See README.md.

Usage: run.py BIN_DIR [--ref REF_DIR] [--only PATTERN] [--cases DIR] ...

Needs root, iproute2, ping; iptables and nft for the cases that use them.
Standard library only.
"""
import argparse
import atexit
import concurrent.futures
import copy
import fnmatch
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from agent import read_file, sh  # noqa: E402

OPS = ("ADD", "CHECK", "DEL", "GC", "STATUS", "VERSION")
MAC_RE = re.compile(r"\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b(?!:)")
VETH_RE = re.compile(r"\bveth[0-9a-f]{8}\b")
SETTLE_S = 4.0


# --------------------------------------------------------------------------
# Small helpers
# --------------------------------------------------------------------------

def merge_patch(target, patch):
    """RFC 7396."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    out = copy.deepcopy(target) if isinstance(target, dict) else {}
    for k, v in patch.items():
        if v is None:
            out.pop(k, None)
        else:
            out[k] = merge_patch(out.get(k), v)
    return out


def make_patch(old, new):
    """The merge patch that turns old into new (neither holds nulls)."""
    patch = {}
    for k in old:
        if k not in new:
            patch[k] = None
    for k, v in new.items():
        if k not in old:
            patch[k] = v
        elif old[k] != v:
            if isinstance(old[k], dict) and isinstance(v, dict):
                patch[k] = make_patch(old[k], v)
            else:
                patch[k] = v
    return patch


def drop_info(x):
    if isinstance(x, dict):
        return {k: drop_info(v) for k, v in x.items() if k != "info"}
    if isinstance(x, list):
        return [drop_info(v) for v in x]
    return x


ANY = "*any*"      # in an accepted alternative: whatever is there, or nothing


def only_any(want):
    return want == ANY or (isinstance(want, dict) and bool(want)
                           and all(only_any(v) for v in want.values()))


def differences(want, got, path=""):
    if want == ANY:
        return []
    if isinstance(want, dict) and isinstance(got, dict):
        out = []
        for k in sorted(set(want) | set(got)):
            p = "%s.%s" % (path, k) if path else k
            if want.get(k) == ANY:
                continue
            if k not in want:
                out.append("%s: unexpected %s" % (p, json.dumps(got[k])))
            elif k not in got:
                if only_any(want[k]):
                    continue
                out.append("%s: missing, expected %s" % (p, json.dumps(want[k])))
            else:
                out += differences(want[k], got[k], p)
        return out
    if want != got:
        return ["%s: expected %s, got %s" % (path, json.dumps(want), json.dumps(got))]
    return []


def prune(x, path):
    """Removes what a path of keys leads to; '*' stands for every key."""
    if not path or not isinstance(x, (dict, list)):
        return
    keys = list(x) if isinstance(x, dict) else list(range(len(x)))
    for k in keys:
        if path[0] in ("*", str(k)):
            if len(path) > 1:
                prune(x[k], path[1:])
            elif isinstance(x, dict):
                del x[k]
            else:
                x[k] = ANY


def strip_nulls(x):
    if isinstance(x, dict):
        return {k: strip_nulls(v) for k, v in x.items() if v is not None}
    if isinstance(x, list):
        return [strip_nulls(v) for v in x]
    return x


# --------------------------------------------------------------------------
# Namespaces
# --------------------------------------------------------------------------

LIVE = {}          # namespace name -> agent Popen or None
TEMPS = set()      # directories to remove
COUNTER = itertools.count(1)
MAKING = threading.RLock()
STOPPING = []


class Netns:
    def __init__(self, role):
        self.role = role
        self.name = "cbr%d-%d-%s" % (os.getpid(), next(COUNTER), role)
        self.path = "/var/run/netns/" + self.name
        with MAKING:
            if STOPPING:
                raise RuntimeError("interrupted")
            LIVE[self.name] = None
            rc, _, err = sh(["ip", "netns", "add", self.name])
            if rc:
                raise RuntimeError("cannot create a network namespace: " + err)
            self.proc = subprocess.Popen(
                ["ip", "netns", "exec", self.name, sys.executable, "-S", "-E",
                 os.path.join(HERE, "agent.py")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            LIVE[self.name] = self.proc
        self.gone = False
        self.seen_defaults = None

    @property
    def defaults(self):
        if self.seen_defaults is None:
            self.seen_defaults = self.ask("defaults")
        return self.seen_defaults

    def ask(self, cmd, **kw):
        kw["cmd"] = cmd
        self.proc.stdin.write(json.dumps(kw) + "\n")
        self.proc.stdin.flush()
        line = self.proc.stdout.readline()
        if not line:
            raise RuntimeError("the agent of %s ended" % self.role)
        r = json.loads(line)
        if "agent_error" in r:
            raise RuntimeError("agent of %s, %s: %s" % (self.role, cmd, r["agent_error"]))
        return r

    def delete(self):
        if self.gone:
            return
        self.gone = True
        end_agent(self.proc)
        sh(["ip", "netns", "del", self.name])
        LIVE.pop(self.name, None)


def end_agent(proc):
    try:
        proc.stdin.close()
        proc.wait(3)
    except Exception:
        proc.kill()
        proc.wait()


def clean_all():
    for name, proc in list(LIVE.items()):
        if proc is not None:
            end_agent(proc)
        sh(["ip", "netns", "del", name])
        LIVE.pop(name, None)
    for d in list(TEMPS):
        shutil.rmtree(d, ignore_errors=True)


def on_signal(signum, _frame):
    STOPPING.append(signum)
    with MAKING:
        clean_all()
    os._exit(128 + signum)


# --------------------------------------------------------------------------
# What the kernel and the machine offer
# --------------------------------------------------------------------------

class Features:
    def __init__(self, bins):
        self.bins = bins
        self.cache = {}
        ns = Netns("probe")
        try:
            def ok(*argv):
                return ns.ask("run", argv=list(argv), stdin="", env=dict(os.environ))["rc"] == 0
            self.cache["vlan_filtering"] = ok("ip", "link", "add", "pb0", "type", "bridge",
                                              "vlan_filtering", "1")
            self.cache["bridge"] = ok("ip", "link", "add", "pb1", "type", "bridge")
            self.cache["veth"] = ok("ip", "link", "add", "pv0", "type", "veth", "peer", "name", "pv1")
            ok("ip", "link", "set", "pv0", "master", "pb1")
            self.cache["isolated"] = ok("ip", "link", "set", "pv0", "type", "bridge_slave",
                                        "isolated", "on")
            self.cache["iptables"] = ok("iptables", "-t", "nat", "-S") and ok("ip6tables", "-t", "nat", "-S")
            self.cache["iptables-legacy"] = ok("iptables-legacy", "-t", "nat", "-S")
            self.cache["nft"] = ok("nft", "add table inet probe { chain c { type nat hook postrouting "
                                   "priority 100; ip saddr 192.0.2.1 masquerade; }; }")
            self.cache["nft-bridge"] = ok("nft", "add table bridge probe; add chain bridge probe c "
                                          "{ type filter hook prerouting priority -300; }")
            self.cache["ipv6"] = os.path.isdir("/proc/sys/net/ipv6/conf")
            self.cache["ping"] = shutil.which("ping") is not None
        finally:
            ns.delete()

    def has(self, need):
        if need.startswith("!"):
            return not self.has(need[1:])
        if need.startswith("plugin:"):
            return all(find_plugin(need[7:], dirs) for dirs in self.bins)
        return self.cache.get(need, False)


def find_plugin(name, dirs):
    for d in dirs:
        p = os.path.join(d, name)
        if os.access(p, os.X_OK) and not os.path.isdir(p):
            return p
    return None


# --------------------------------------------------------------------------
# One run of one scenario
# --------------------------------------------------------------------------

FAKE = r"""#!/bin/sh
d='%s'
n=$(cat "$d/n" 2>/dev/null); n=$((${n:-0} + 1)); echo "$n" > "$d/n"
k=$(cat "$d/n.$CNI_COMMAND" 2>/dev/null); k=$((${k:-0} + 1)); echo "$k" > "$d/n.$CNI_COMMAND"
env | grep '^CNI_' > "$d/call.$n.env"
cat > "$d/call.$n.stdin"
while [ "$k" -gt 1 ] && [ ! -f "$d/$CNI_COMMAND.$k.out" ]; do k=$((k - 1)); done
[ -f "$d/$CNI_COMMAND.$k.out" ] || exit 0
cat "$d/$CNI_COMMAND.$k.out"
exit "$(cat "$d/$CNI_COMMAND.$k.rc")"
"""

# $0 is the directory, $1 mount, the rest what to run
READ_ONLY = """
"$1" --bind "$0" "$0" && "$1" -o remount,bind,ro "$0" && shift && exec "$@"
"""

TOOLS_LEGACY = {"iptables": "iptables-legacy", "ip6tables": "ip6tables-legacy"}


class Scenario:
    def __init__(self, case, dirs):
        self.case = case
        self.dirs = dirs
        with MAKING:
            if STOPPING:
                raise RuntimeError("interrupted")
            self.tmp = tempfile.mkdtemp(prefix="cni-bridge-conf-")
            TEMPS.add(self.tmp)
        self.ns = {}
        self.results = {}
        self.mac_labels = {}
        self.label_count = {}
        self.veth_labels = {}
        self.fake_seen = {}
        self.literal_macs = {m.lower() for m in MAC_RE.findall(json.dumps(
            [case.get("confs"), case["steps"], case.get("fakes")]))}

    # -- set-up ------------------------------------------------------------
    def start(self):
        for role in ["host"] + self.case.get("containers", ["c1"]):
            self.ns[role] = Netns(role)
        for n in self.ns.values():
            n.defaults      # taken before anything is changed
        self.ns["host"].ask("run", argv=["ip", "link", "set", "lo", "up"], stdin="")
        os.mkdir(os.path.join(self.tmp, "plugins"))
        os.mkdir(os.path.join(self.tmp, "ipam"))
        for name, replies in self.case.get("fakes", {}).items():
            d = os.path.join(self.tmp, "fake-" + name)
            os.mkdir(d)
            for op, seq in replies.items():
                for i, rep in enumerate(seq if isinstance(seq, list) else [seq], 1):
                    out = rep.get("out", "")
                    if not isinstance(out, str):
                        out = json.dumps(out)
                    for suffix, text in (("out", self.fill(out)), ("rc", str(rep.get("rc", 0)))):
                        with open(os.path.join(d, "%s.%d.%s" % (op, i, suffix)), "w") as f:
                            f.write(text)
            p = os.path.join(self.tmp, "plugins", name)
            with open(p, "w") as f:
                f.write(FAKE % d)
            os.chmod(p, 0o755)
        for name, target in (self.case.get("links") or {}).items():
            os.symlink(find_plugin(target, self.dirs), os.path.join(self.tmp, "plugins", name))

    def stop(self):
        for n in list(self.ns.values()):
            n.delete()
        shutil.rmtree(self.tmp, ignore_errors=True)
        TEMPS.discard(self.tmp)

    # -- placeholders --------------------------------------------------------
    def fill(self, s):
        s = s.replace("@TMP@", self.tmp)
        s = re.sub(r"@NSNAME:([a-z0-9]+)@", lambda m: self.ns[m.group(1)].name, s)
        return re.sub(r"@NS:([a-z0-9]+)@", lambda m: self.ns[m.group(1)].path, s)

    def fill_any(self, x):
        if isinstance(x, str):
            return self.fill(x)
        if isinstance(x, list):
            return [self.fill_any(v) for v in x]
        if isinstance(x, dict):
            return {self.fill(k): self.fill_any(v) for k, v in x.items()}
        return x

    def unfill(self, s):
        s = re.sub(r"@TMP@/path-\w+", "@TOOLS@", s.replace(self.tmp, "@TMP@"))
        for d in self.dirs:
            s = s.replace(d, "@BIN@")
        for role, n in self.ns.items():
            s = s.replace(n.path, "@NS:%s@" % role).replace(n.name, "@NSNAME:%s@" % role)
        s = VETH_RE.sub(lambda m: self.veth_labels.get(m.group(0), "<veth?>"), s)
        s = MAC_RE.sub(lambda m: self.mac(m.group(0)), s)
        return s

    def unfill_any(self, x):
        if isinstance(x, str):
            return self.unfill(x)
        if isinstance(x, list):
            return [self.unfill_any(v) for v in x]
        if isinstance(x, dict):
            return {self.unfill(k): self.unfill_any(v) for k, v in x.items()}
        return x

    def mac(self, m):
        low = m.lower()
        if low in self.literal_macs or low in ("00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"):
            return m
        return self.mac_labels.get(low, "<mac?>")

    def label_mac(self, mac, name):
        mac = mac.lower()
        if mac in self.literal_macs or mac == "00:00:00:00:00:00" or mac in self.mac_labels:
            return
        n = self.label_count[name] = self.label_count.get(name, 0) + 1
        self.mac_labels[mac] = "<mac %s%s>" % (name, "" if n == 1 else " #%d" % n)

    # -- state ---------------------------------------------------------------
    def raw(self):
        return {role: n.ask("snap") for role, n in self.ns.items() if not n.gone}

    def settled(self, raw):
        """True once carrier and link-local addresses are what they will be."""
        byindex = {}
        for role, r in raw.items():
            for l in r["links"]:
                byindex[(role, l["ifindex"])] = l
        for role, r in raw.items():
            for l in r["links"]:
                if l.get("linkinfo", {}).get("info_kind") != "veth":
                    continue
                peer = self.peer_of(role, l, raw)
                if peer is None:
                    if role == "host":
                        return False
                    continue
                both = "UP" in l["flags"] and "UP" in peer[1]["flags"]
                if both != ("LOWER_UP" in l["flags"]) and "UP" in l["flags"]:
                    return False
                if "UP" in l["flags"] and l.get("operstate") == ("UP", "DOWN")[both]:
                    return False
                if both and l.get("operstate") != "UP":
                    return False
                if both and role != "host" and l["_conf"].get("6.disable_ipv6") == "0" \
                        and l["_conf"].get("6.addr_gen_mode") != "1" \
                        and not any(a.get("scope") == "link" and a["family"] == "inet6"
                                    for a in l["addr_info"]):
                    return False
        return True

    def peer_of(self, role, l, raw):
        idx = l.get("link_index")
        if idx is None and "link" in l:
            for o in raw[role]["links"]:
                if o["ifname"] == l["link"]:
                    return role, o
        for orole, r in raw.items():
            if orole == role and "link_netnsid" in l:
                continue
            for o in r["links"]:
                if o["ifindex"] == idx and (o.get("link_index") == l["ifindex"]
                                            or o.get("link") == l["ifname"]):
                    if (orole == role) == ("link_netnsid" not in l):
                        return orole, o
        return None

    def state(self):
        end = time.monotonic() + SETTLE_S
        while True:
            raw = self.raw()
            if self.settled(raw) or time.monotonic() > end:
                break
            time.sleep(0.03)
        raw["host"].update(self.ns["host"].ask("netfilter"))
        self.labels(raw)
        out = {}
        for role, r in raw.items():
            out[role] = self.norm_ns(role, r, raw)
        ipam = {}
        base = os.path.join(self.tmp, "ipam")
        for d, _, files in os.walk(base):
            for f in files:
                if f == "lock":
                    continue
                p = os.path.join(d, f)
                ipam[os.path.relpath(p, base)] = self.unfill(
                    (read_file(p) or "").replace("\r\n", " ").replace("\n", " "))
        if ipam:
            out["ipam"] = ipam
        return out

    def labels(self, raw):
        for role, r in raw.items():
            if role != "host":
                for l in r["links"]:
                    if l["ifname"] != "lo" and "address" in l:
                        self.label_mac(l["address"], "%s/%s" % (role, l["ifname"]))
        ports = {}
        for l in raw["host"]["links"]:
            kind = l.get("linkinfo", {}).get("info_kind")
            if kind == "veth":
                peer = self.peer_of("host", l, raw)
                name = l["ifname"]
                if VETH_RE.fullmatch(name) and peer:
                    self.veth_labels[name] = "<veth %s/%s>" % (
                        peer[0], self.veth_labels.get(peer[1]["ifname"], peer[1]["ifname"])
                        if peer[0] == "host" else peer[1]["ifname"])
                self.label_mac(l["address"], "veth %s/%s" % (peer[0], peer[1]["ifname"])
                               if peer and VETH_RE.fullmatch(name) else name)
                if "master" in l:
                    ports.setdefault(l["master"], []).append(l["address"])
        self.bridge_mac = {}
        for l in raw["host"]["links"]:
            if l.get("linkinfo", {}).get("info_kind") != "bridge":
                continue
            mine = ports.get(l["ifname"], [])
            if l["address"] in mine:
                # the kernel's own choice, the lowest address among the ports
                tag = "<mac lowest-port>" if l["address"] == min(mine) else None
                self.bridge_mac[l["ifname"]] = tag
                if tag:
                    self.bridge_mac[l["address"]] = tag
            else:
                self.label_mac(l["address"], l["ifname"])

    def dev(self, name):
        return self.veth_labels.get(name, name)

    def norm_ns(self, role, r, raw):
        n = self.ns[role]
        out = {"links": {}}
        for l in r["links"]:
            d = self.norm_link(role, l, raw)
            if l["ifname"] == "lo":
                d = {k: d[k] for k in ("up", "sysctl") if k in d}
                if d == {"up": role == "host"}:
                    continue
            out["links"][self.dev(l["ifname"])] = d
        routes = sorted(filter(None, [self.norm_route(x) for x in r["r4"]] +
                               [self.norm_route(x) for x in r["r6"]]))
        if routes:
            out["routes"] = routes
        sysctl = {k: v for k, v in r["sysctl"].items() if n.defaults["sysctl"].get(k) != v}
        if sysctl:
            out["sysctl"] = sysctl
        for prog, text in r.get("ipt", {}).items():
            lines = self.norm_iptables(text)
            if lines:
                out[prog.replace("-save", "")] = lines
        nft = self.norm_nft(r.get("nft", ""))
        if nft:
            out["nft"] = nft
        if self.case.get("sort_rules"):
            for k in ("iptables", "ip6tables", "nft"):
                if k in out:
                    out[k].sort()
        return out

    def norm_link(self, role, l, raw):
        info = l.get("linkinfo", {})
        kind = info.get("info_kind") or l.get("link_type")
        d = {"kind": kind, "mtu": l["mtu"], "up": "UP" in l["flags"]}
        if kind == "veth":
            d["carrier"] = "LOWER_UP" in l["flags"]
            peer = self.peer_of(role, l, raw)
            d["peer"] = "%s/%s" % (peer[0], self.dev(peer[1]["ifname"])) if peer else "?"
        if "address" in l and kind != "loopback":
            d["mac"] = self.mac(l["address"])
            if role == "host" and kind == "bridge":
                d["mac"] = self.bridge_mac.get(l["ifname"]) or d["mac"]
                d["mac_pinned"] = l["_assign"] == "3"
        for flag in ("PROMISC", "ALLMULTI", "NOARP"):
            if flag in l["flags"]:
                d[flag.lower()] = True
        if "master" in l:
            d["master"] = self.dev(l["master"])
        if l.get("ifalias"):
            d["alias"] = self.unfill(l["ifalias"])
        data = info.get("info_data", {})
        if kind == "bridge":
            for k in ("vlan_filtering", "stp_state"):
                d[k] = data.get(k)
            if data.get("mcast_snooping") not in (None, 1):
                d["mcast_snooping"] = data["mcast_snooping"]
        slave = info.get("info_slave_data", {})
        if info.get("info_slave_kind") == "bridge":
            d["port"] = {"hairpin": slave.get("hairpin"), "isolated": slave.get("isolated")}
            for k, dflt in (("learning", True), ("flood", True), ("guard", False),
                            ("mcast_flood", True), ("bcast_flood", True), ("proxy_arp", False),
                            ("neigh_suppress", False), ("locked", False), ("priority", 32)):
                if k in slave and slave[k] != dflt:
                    d["port"][k] = slave[k]
        addrs = []
        for a in l.get("addr_info", []):
            if a["family"] == "inet6" and a.get("scope") == "link" and a["local"].startswith("fe80"):
                if role != "host":
                    d["linklocal"] = True
                continue
            s = "%s/%d" % (a["local"], a["prefixlen"])
            if "address" in a:
                s += " peer " + a["address"]
            if "broadcast" in a:
                s += " brd " + a["broadcast"]
            if a.get("scope") != "global":
                s += " scope " + str(a.get("scope"))
            for f in ("secondary", "nodad", "noprefixroute", "dadfailed", "deprecated",
                      "temporary", "mngtmpaddr", "home") + (("tentative",) if role != "host" else ()):
                if a.get(f):
                    s += " " + f
            if a["family"] == "inet" and a.get("label") not in (None, l["ifname"]):
                s += " label " + self.unfill(a["label"])
            if a.get("valid_life_time", 4294967295) != 4294967295:
                s += " expires"
            addrs.append(s)
        if addrs:
            d["addrs"] = addrs
        base = self.ns[role].defaults["lo" if l["ifname"] == "lo" else "conf"]
        sysctl = {k: v for k, v in l["_conf"].items() if base.get(k) != v}
        if sysctl:
            d["sysctl"] = sysctl
        if kind == "veth":
            d["info"] = {"txqlen": l.get("txqlen", 0)}
        return d

    def norm_route(self, x):
        if x.get("table") == "local" or x.get("type") in ("local", "broadcast", "multicast", "anycast"):
            return None
        dst = x["dst"]
        if dst.startswith("fe80::") or dst.startswith("ff00::"):
            return None
        s = dst
        if x.get("type", "unicast") != "unicast":
            s = x["type"] + " " + s
        for key, word in (("gateway", "via"), ("dev", "dev"), ("table", "table"),
                          ("protocol", "proto"), ("scope", "scope"), ("prefsrc", "src"),
                          ("metric", "metric")):
            if key == "protocol" and x.get(key) == "boot":
                continue
            if key in x:
                s += " %s %s" % (word, self.dev(x[key]) if key == "dev" else x[key])
        if "via" in x:
            s += " via %s" % x["via"].get("host")
        for m in x.get("metrics", []):
            for k in sorted(m):
                s += " %s %s" % (k, m[k])
        for nh in x.get("nexthops", []):
            s += " nexthop via %s dev %s" % (nh.get("gateway"), self.dev(nh.get("dev", "?")))
        if "onlink" in x.get("flags", []):
            s += " onlink"
        return s

    def norm_iptables(self, text):
        table, out = None, []
        for line in text.splitlines():
            line = line.strip()
            if not line or line.startswith("#") or line == "COMMIT":
                continue
            if line.startswith("*"):
                table = line[1:]
                continue
            line = re.sub(r"\s*\[\d+:\d+\]\s*", " ", line).strip()
            if line.startswith(":"):
                name, policy = line[1:].split()[:2]
                if policy == "ACCEPT":
                    continue
                line = "chain %s%s" % (name, "" if policy == "-" else " policy " + policy)
            out.append("%s: %s" % (table, self.unfill(line)))
        return out

    def norm_nft(self, text):
        """The rules of every table that iptables does not own, one a line."""
        out, keep, table, chain = [], False, "", ""
        for line in text.splitlines():
            s = line.strip()
            m = re.match(r"table (\S+) (\S+) \{", s)
            if m and not line.startswith(("\t", " ")):
                fam, name = m.groups()
                keep = not (fam in ("ip", "ip6") and name in
                            ("nat", "filter", "mangle", "raw", "security"))
                table, chain = "%s %s" % (fam, name), ""
                if keep:
                    out.append(table)
                continue
            if not keep or not s or s.startswith(("#", 'comment "')):
                continue    # what a table or chain says of itself is not compared
            m = re.match(r"(chain|set|map) (\S+) \{", s)
            if m:
                chain = m.group(2)
                out.append(self.unfill("%s %s %s" % (table, m.group(1), chain)))
                continue
            if s == "}":
                chain = ""
                continue
            out.append(self.unfill("%s %s: %s" % (table, chain, s) if chain else "%s: %s" % (table, s)))
        return out

    # -- steps ---------------------------------------------------------------
    def conf_of(self, step):
        c = step.get("conf", "main")
        c = copy.deepcopy(self.case["confs"][c]) if isinstance(c, str) else copy.deepcopy(c)
        if "merge" in step:
            c = merge_patch(c, step["merge"])
        if "unset" in step:
            for k in step["unset"]:
                c.pop(k, None)
        c = self.fill_any(c)
        if "prev" in step:
            prev = step["prev"]
            if isinstance(prev, str):
                if prev not in self.results:
                    raise RuntimeError("no result %r to pass on: the step that gives it failed" % prev)
                prev = copy.deepcopy(self.results[prev])
            else:
                prev = self.fill_any(prev)
            if "prev_merge" in step:
                prev = merge_patch(prev, self.fill_any(step["prev_merge"]))
            for edit in step.get("prev_set", []):
                node = prev
                for k in edit[0][:-1]:
                    node = node[k]
                node[edit[0][-1]] = self.fill_any(edit[1])
            c["prevResult"] = prev
        return c

    def path_dir(self, tools):
        """A directory holding only the named tools, to use as PATH."""
        d = tempfile.mkdtemp(prefix="path-", dir=self.tmp)
        for t in tools:
            name, target = (t[:-7], TOOLS_LEGACY[t[:-7]]) if t.endswith("-legacy") else (t, t)
            full = shutil.which(target)
            if full:
                os.symlink(os.path.realpath(full) if name == target else full, os.path.join(d, name))
        return d

    def plugin_call(self, step):
        op = step["do"]
        role = step.get("c", "c1")
        env = {"CNI_COMMAND": op,
               "CNI_PATH": os.pathsep.join(self.dirs + [os.path.join(self.tmp, "plugins")]),
               "PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
               "XTABLES_LOCKFILE": os.path.join(self.tmp, "xtables.lock")}
        if op in ("ADD", "CHECK", "DEL"):
            env["CNI_CONTAINERID"] = step.get("id", "ctr-" + role)
            env["CNI_IFNAME"] = step.get("if", "eth0")
            env["CNI_NETNS"] = self.fill(step["netns"]) if "netns" in step else self.ns[role].path
        if "args" in step:
            env["CNI_ARGS"] = step["args"]
        if "tools" in step:
            env["PATH"] = self.path_dir(step["tools"])
        for k, v in step.get("env", {}).items():
            if v is None:
                env.pop(k, None)
            else:
                env[k] = self.fill(v)
        stdin = self.fill(step["stdin"]) if "stdin" in step else json.dumps(self.conf_of(step))
        binary = find_plugin(step.get("plugin", "bridge"), self.dirs)
        argv = [binary]
        for d in step.get("read_only", []):
            argv = [shutil.which("unshare"), "--mount", "--propagation", "private", "/bin/sh", "-c",
                    READ_ONLY, d, shutil.which("mount")] + argv
        return {"argv": argv, "env": env, "stdin": stdin}

    def plugin_step(self, step):
        r = self.ns["host"].ask("run", **self.plugin_call(step))
        then = step.get("then")
        if then:        # before the state is taken, which waits for it to settle
            argv = [self.fill(a) for a in then["argv"]]
            t = self.ns[then.get("ns", "host")].ask("run", argv=argv, stdin="", env=dict(os.environ),
                                                    timeout=30)
        res, doc, err = self.plugin_outcome(step, r)
        if then:
            res["then"] = t["out"].strip() if t["rc"] == 0 else "rc %d: %s" % (t["rc"], t["err"].strip())
        return res, doc, err

    def plugin_outcome(self, step, r):
        op, role = step["do"], step.get("c", "c1")
        res = {"rc": r["rc"]}
        out = r["out"].strip()
        doc = None
        if out:
            try:
                doc = json.loads(out)
            except ValueError:
                res["out_raw"] = r["out"]
        if doc is not None and r["rc"] == 0 and "as" in step:
            self.results[step["as"]] = doc
        if doc is not None and r["rc"] == 0 and "as" not in step and op == "ADD":
            self.results[role] = doc
        return res, doc, r["err"]

    def fake_calls(self):
        calls = []
        for name in self.case.get("fakes", {}):
            d = os.path.join(self.tmp, "fake-" + name)
            total = int(read_file(os.path.join(d, "n")) or 0)
            for i in range(self.fake_seen.get(name, 0) + 1, total + 1):
                env = {}
                for line in (read_file(os.path.join(d, "call.%d.env" % i)) or "").splitlines():
                    k, _, v = line.partition("=")
                    if k not in ("CNI_PATH",) and v:
                        env[k] = v
                try:
                    stdin = json.loads(read_file(os.path.join(d, "call.%d.stdin" % i)) or "null")
                except ValueError:
                    stdin = "not JSON"
                calls.append({"plugin": name, "env": env, "stdin": strip_nulls(stdin)})
            self.fake_seen[name] = total
        return calls

    def norm_error(self, doc):
        out = {"code": doc.get("code"), "info": {"msg": self.unfill(str(doc.get("msg", "")))}}
        if doc.get("msg"):
            out["has_msg"] = True
        for k in doc:
            if k not in ("code", "msg", "details", "cniVersion"):
                out.setdefault("extra", []).append(k)
        return out

    def run_steps(self, record):
        for step in self.case["steps"]:
            op = step["do"]
            if op in OPS:
                res, doc, err = self.plugin_step(step)
                res["state"] = self.state()
                self.finish(step, res, doc, err)
            elif op == "parallel":
                calls = [self.plugin_call(x) for x in step["steps"]]
                rs = self.ns["host"].ask("run_many", runs=calls)["runs"]
                outs = [self.plugin_outcome(x, r) for x, r in zip(step["steps"], rs)]
                res = {"state": self.state(), "runs": []}
                for x, (one, doc, err) in zip(step["steps"], outs):
                    self.finish(x, one, doc, err)
                    res["runs"].append(one)
            else:
                res = self.other_step(step)
            for path in self.case.get("ignore", []):
                prune(res, path)
            record.append(res)

    def finish(self, step, res, doc, err):
        """Adds to res what only makes sense once the labels are known."""
        if doc is not None:
            if res["rc"] == 0:
                res["out"] = self.norm_result(doc)
            else:
                res["error"] = self.norm_error(doc)
        calls = self.fake_calls()
        if calls:
            res["delegated"] = self.unfill_any(calls)
        for w in step.get("mentions", []):
            if "error" in res and w not in res["error"]["info"]["msg"]:
                res["error"].setdefault("does_not_mention", []).append(w)
        for w in step.get("warns", []):
            if w not in err:
                res.setdefault("does_not_warn", []).append(w)
        if err.strip():
            res["stderr"] = self.unfill(err.strip())[:400]

    def norm_result(self, doc):
        doc = copy.deepcopy(doc)
        for i in doc.get("interfaces") or []:
            tag = self.bridge_mac.get(i.get("mac"))
            if tag and not i.get("sandbox") and self.bridge_mac.get(i.get("name")) == tag:
                i["mac"] = tag
        return self.unfill_any(doc)

    def other_step(self, step):
        op = step["do"]
        if op == "sh":
            n = self.ns[step.get("ns", "host")]
            r = n.ask("run", argv=[self.subst_dev(self.fill(a)) for a in step["argv"]],
                      stdin=step.get("stdin", ""), env=dict(os.environ), timeout=30)
            if r["rc"] != 0 and not step.get("may_fail"):
                raise RuntimeError("step %s: %s" % (step["argv"], r["err"].strip()))
            res = {}
            if step.get("out"):
                res["out"] = self.unfill(r["out"].strip())
            if step.get("may_fail"):
                res["rc"] = r["rc"]
            if step.get("snap"):
                res["state"] = self.state()
            return res
        if op == "netns_del":
            self.ns[step["c"]].delete()
            return {"state": self.state()}
        if op == "reach":
            to, ok = step["to"], False
            argv = ["ping", "-6" if ":" in to else "-4", "-n", "-c", "1", "-W", "1"]
            if "size" in step:
                argv += ["-M", "do", "-s", str(step["size"])]
            for _ in range(step.get("tries", 4)):
                r = self.ns[step["from"]].ask("run", argv=argv + [to], stdin="", timeout=10)
                if r["rc"] == 0:
                    ok = True
                    break
                time.sleep(0.2)
            return {"reached": ok}
        if op == "tcp":
            at, addr, port = step["at"], step["addr"], step["port"]
            self.ns[at].ask("listen", addr=step.get("listen", addr), port=step.get("listen_port", port))
            c = self.ns[step["from"]].ask("connect", addr=addr, port=port, tries=step.get("tries", 3))
            a = self.ns[at].ask("accepted", addr=step.get("listen", addr),
                                port=step.get("listen_port", port), wait=c["ok"])
            res = {"connected": c["ok"]}
            if c["ok"]:
                res["seen_from"] = a["peer"]
            return res
        if op == "sniff":
            self.ns[step["ns"]].ask("sniff_start", dev=step["dev"])
            return {}
        if op == "sniffed":
            r = self.ns[step["ns"]].ask("sniff_stop", dev=step["dev"], linger=step.get("linger", 0.5))
            return {"frames": [f for f in r["frames"] if re.search(step.get("match", "."), f)]}
        raise RuntimeError("unknown step " + op)

    def subst_dev(self, s):
        """<veth c1/eth0> in a command stands for the real name."""
        for real, label in self.veth_labels.items():
            s = s.replace(label, real)
        return s


# --------------------------------------------------------------------------
# Comparing
# --------------------------------------------------------------------------

LENIENT_CODES = {4, 5, 6, 7, 999}


def comparable(step, strict):
    step = {k: v for k, v in step.items() if k != "stderr"}
    if "runs" in step:
        step["runs"] = [{k: v for k, v in r.items() if k != "stderr"} for r in step["runs"]]
    return step if strict else drop_info(step)


def step_matches(want, got, strict):
    w, g = comparable(want, strict), comparable(got, strict)
    if not strict and "error" in w and "error" in g:
        wc, gc = w["error"].get("code"), g["error"].get("code")
        if wc in (0, 999) and isinstance(gc, int) and (gc in LENIENT_CODES or gc >= 100):
            g = merge_patch(g, {"error": {"code": wc}})
        if w["rc"] != 0 and g["rc"] != 0:
            g = merge_patch(g, {"rc": w["rc"]})
    return differences(w, g)


def patched(step, change):
    """A step with the change that an accepted alternative or a known difference lists."""
    other = merge_patch(step, change.get("merge", {}))
    other.update(copy.deepcopy(change.get("replace", {})))
    return other


def judge(case, want, got, strict, improved):
    """Returns (label of the outcome that fits or None, problems, steps that took an alternative).

    Either all steps fit the recording, or all fit with one of the known differences.
    """
    problems, taken = compare(case, want, got, strict, improved)
    if not problems:
        return "recorded", [], taken
    known = [] if strict else case.get("known_differences", [])
    for entry in known:
        steps = {int(k): change for k, change in entry["steps"].items()}
        other = [patched(w, steps[i]) if i in steps else w for i, w in enumerate(want)]
        found, taken = compare(case, other, got, strict, improved, steps)
        if not found:
            return entry["why"], [], taken
    if known:
        problems.append("(nor any of %d known differences)" % len(known))
    return None, problems, 0


def compare(case, want, got, strict, improved, known=()):
    """Returns (list of problems, number of steps that took an alternative)."""
    problems, taken = [], 0
    for i, step in enumerate(case["steps"][:len(got)]):
        if i >= len(want):
            problems.append("step %d: nothing to compare with" % i)
            break
        where = "step %d %s" % (i, step["do"])
        diff = step_matches(want[i], got[i], strict)
        alts = step.get("accept", [])
        demand = improved and i not in known and any(not alt.get("optional") for alt in alts)
        if not diff and not demand:
            continue
        best = None if demand else diff
        for alt in alts:
            d = step_matches(patched(want[i], alt), got[i], strict)
            if best is None or len(d) < len(best):
                best = d
            if not d:
                taken += 1
                break
        problems += ["%s: %s" % (where, d) for d in best]
        if best and got[i].get("stderr"):
            problems.append("%s: (stderr: %s)" % (where, got[i]["stderr"]))
    return problems, taken


def expand(expect):
    state, out = {}, []
    for e in expect:
        e = copy.deepcopy(e)
        if "state_change" in e:
            state = merge_patch(state, e.pop("state_change"))
            e["state"] = copy.deepcopy(state)
        out.append(e)
    return out


def compress(record):
    state, out = {}, []
    for r in record:
        r = copy.deepcopy(r)
        for one in [r] + r.get("runs", []):
            one.pop("stderr", None)
        if "state" in r:
            new = r.pop("state")
            r["state_change"] = make_patch(state, new)
            state = new
        out.append(r)
    return out


# --------------------------------------------------------------------------
# Main
# --------------------------------------------------------------------------

def run_case(case, dirs):
    """Returns what each step did, and why the run broke off, if it did."""
    s = Scenario(case, dirs)
    record, broke = [], None
    try:
        s.start()
        s.run_steps(record)
    except Exception as e:
        broke = "step %d: %s: %s" % (len(record), type(e).__name__, e)
    finally:
        s.stop()
    return record, broke


def main():
    ap = argparse.ArgumentParser(description="Conformance runner for a CNI bridge plugin")
    ap.add_argument("bin_dir")
    ap.add_argument("--ref", help="directory of reference plugins: compare with a live run of them")
    ap.add_argument("--only", help="run only the cases whose name matches this pattern")
    ap.add_argument("--cases", default=os.path.join(HERE, "cases"))
    ap.add_argument("--helpers", help="directory searched after BIN_DIR for the other plugins (IPAM, ...)")
    ap.add_argument("--record", action="store_true", help="write what BIN_DIR does into the case files")
    ap.add_argument("--strict", action="store_true", help="compare messages, exact codes and txqlen too; no known differences")
    ap.add_argument("--improved", action="store_true",
                    help="where a case lists accepted improvements, demand one of them")
    ap.add_argument("--known", action="store_true", help="list what passed by a known difference")
    ap.add_argument("-j", "--jobs", type=int, default=1, help="cases run at the same time")
    ap.add_argument("-v", "--verbose", action="store_true")
    a = ap.parse_args()
    if os.geteuid() != 0:
        sys.exit("run.py needs root")
    extra = [os.path.abspath(a.helpers)] if a.helpers else []
    dirs = [os.path.abspath(a.bin_dir)] + extra
    if a.ref and not a.helpers:
        dirs.append(os.path.abspath(a.ref))
    refdirs = [os.path.abspath(a.ref)] + extra if a.ref else None
    if not find_plugin("bridge", dirs[:1]):
        sys.exit("no executable `bridge` in %s" % a.bin_dir)

    atexit.register(clean_all)
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, on_signal)
    feats = Features([dirs] + ([refdirs] if refdirs else []))

    todo, skipped = [], 0
    for fn in sorted(os.listdir(a.cases)):
        if not fn.endswith(".json"):
            continue
        name = fn[:-5]
        if a.only and not fnmatch.fnmatch(name, a.only) and a.only not in name:
            continue
        path = os.path.join(a.cases, fn)
        with open(path) as f:
            case = json.load(f)
        missing = [n for n in case.get("needs", []) if not feats.has(n)]
        if missing:
            print("SKIP %s: this machine lacks %s" % (name, ", ".join(missing)))
            skipped += 1
        elif "reference_fails" in case and (a.record or not a.improved):
            print("SKIP %s: only with --improved (%s)" % (name, case["reference_fails"]))
            skipped += 1
        elif not a.record and not a.ref and "expect" not in case:
            print("SKIP %s: not recorded, run it with --ref" % name)
            skipped += 1
        else:
            todo.append((name, path, case))
    sys.stdout.flush()

    def one(item):
        name, path, case = item
        t0 = time.monotonic()
        try:
            got, broke = run_case(case, dirs)
            if a.record:
                if broke:
                    return None, [broke], 0, time.monotonic() - t0
                case.pop("expect", None)
                case["expect"] = compress(got)
                with open(path, "w") as f:
                    json.dump(case, f, indent=1, ensure_ascii=False)
                    f.write("\n")
                return "recorded", [], 0, time.monotonic() - t0
            live = a.ref and "reference_fails" not in case
            want, rbroke = run_case(case, refdirs) if live else (expand(case["expect"]), None)
            label, problems, taken = judge(case, want, got, a.strict, a.improved)
            if broke:
                problems.append(broke)
            elif rbroke:
                problems.append("reference, " + rbroke)
        except Exception as e:
            if a.verbose:
                traceback.print_exc()
            label, problems, taken = None, ["%s: %s" % (type(e).__name__, e)], 0
        return label, problems, taken, time.monotonic() - t0

    passed = failed = improvements = different = 0
    with concurrent.futures.ThreadPoolExecutor(max(1, a.jobs)) as pool:
        for (name, _, _), (label, problems, taken, secs) in zip(todo, pool.map(one, todo)):
            if problems:
                failed += 1
                print("FAIL %s (%.1f s)" % (name, secs))
                for p in problems[:40]:
                    print("     " + p)
            else:
                passed += 1
                improvements += taken
                if label != "recorded":
                    different += 1
                    if a.known:
                        print("known %s: %s" % (name, label))
                if a.verbose or taken:
                    print("ok   %s (%.1f s)%s" % (name, secs, ", %d step(s) took an accepted improvement"
                                                 % taken if taken else ""))
            sys.stdout.flush()
    if skipped:
        print("skipped %d" % skipped)
    if improvements:
        print("%d steps took an accepted improvement" % improvements)
    if different:
        print("%d passed by a known difference" % different)
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
