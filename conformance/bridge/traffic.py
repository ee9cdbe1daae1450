#!/usr/bin/env python3
"""Real traffic through what a `bridge` plugin sets up.

Usage: traffic.py BIN_DIR [--helpers DIR] [--only PATTERN]

Prints `ok NAME` or `FAIL NAME: detail` for each check, and a summary; the exit
status is 1 if a check failed or none ran.  One namespace plays the host, in
which the plugin runs, others the containers, and `out` a machine beyond the
host that knows no way back to the containers.  Needs root, iproute2 and ping;
what else a group needs and the machine lacks is said.
"""
import argparse
import atexit
import contextlib
import ipaddress
import json
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run  # noqa: E402

OUT4, OUT6 = "198.51.100.2", "2001:db8:2::2"
HOST4, HOST6 = "198.51.100.1", "2001:db8:2::1"
GATEWAY4, GATEWAY6 = "192.0.2.1", "2001:db8:1::1"

# broadcasts an ARP announcement: device, source MAC, address announced
ANNOUNCE = """
import socket, sys
dev, mac, ip = sys.argv[1:]
mac, ip = bytes.fromhex(mac.replace(":", "")), socket.inet_aton(ip)
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((dev, 0x0806))
for _ in range(3):
    s.send(b"\\xff" * 6 + mac + b"\\x08\\x06" + b"\\0\\1\\x08\\0\\6\\4\\0\\1" + mac + ip + b"\\0" * 6 + ip)
"""


class Lab(run.Scenario):
    """A scenario without recorded steps."""

    def __init__(self, dirs, conf, containers):
        case = {"confs": {"main": conf}, "containers": containers, "steps": []}
        super().__init__(case, dirs)

    def plugin(self, op, c="c1", **step):
        res, doc, err = self.plugin_step({"do": op, "c": c, **step})
        if res["rc"]:
            raise RuntimeError("%s of %s: %s" % (op, c, json.dumps(doc) if doc else err.strip()))
        return doc

    def cmd(self, ns, *argv, fail=True):
        r = self.ns[ns].ask("run", argv=list(argv), stdin="", env=dict(os.environ), timeout=30)
        if r["rc"] and fail:
            raise RuntimeError("%s: %s" % (" ".join(argv), r["err"].strip()))
        return r["out"].strip()

    def outside(self):
        self.cmd("host", "ip", "link", "add", "up0", "type", "veth", "peer", "name", "eth0",
                 "netns", self.ns["out"].name)
        for ns, dev, four, six in (("host", "up0", HOST4, HOST6), ("out", "eth0", OUT4, OUT6)):
            self.cmd(ns, "ip", "addr", "add", four + "/24", "dev", dev)
            self.cmd(ns, "ip", "addr", "add", six + "/64", "dev", dev, "nodad")
            self.cmd(ns, "ip", "link", "set", dev, "up")

    def reaches(self, c, to, size=None, tries=6):
        step = {"do": "reach", "from": c, "to": to, "tries": tries}
        if size is not None:
            step["size"] = size
        return self.other_step(step)["reached"]

    def seen_from(self, at, c, addr, port):
        step = {"do": "tcp", "at": at, "from": c, "addr": addr, "port": port}
        return self.other_step(step).get("seen_from")

    def mac(self, c):
        return self.cmd(c, "cat", "/sys/class/net/eth0/address")

    def hears(self, at, c, mac, ip):
        """Whether `at` receives what `c` announces with this source MAC."""
        self.ns[at].ask("sniff_start", dev="eth0")
        self.cmd(c, sys.executable, "-S", "-E", "-c", ANNOUNCE, "eth0", mac, ip)
        frames = self.ns[at].ask("sniff_stop", dev="eth0", linger=0.3)["frames"]
        return "gratuitous arp " + ip in frames


def conf(dual=True, **more):
    ranges = [[{"subnet": "192.0.2.0/24"}]]
    if dual:
        ranges.append([{"subnet": "2001:db8:1::/64"}])
    return {"cniVersion": "1.0.0", "name": "net1", "type": "bridge", "bridge": "cni0",
            "ipam": {"type": "host-local", "dataDir": "@TMP@/ipam", "ranges": ranges}, **more}


class Tests:
    def __init__(self, dirs):
        self.dirs = dirs
        self.ok = self.failed = 0

    def check(self, name, good, detail=""):
        if good:
            self.ok += 1
            print("ok %s" % name)
        else:
            self.failed += 1
            print("FAIL %s: %s" % (name, detail))
        sys.stdout.flush()

    def reach(self, name, lab, c, to, want=True, **kw):
        if not want:
            kw.setdefault("tries", 2)
        got = lab.reaches(c, to, **kw)
        self.check(name, got == want, "%s %s %s" % (c, "reaches" if got else "does not reach", to))

    @contextlib.contextmanager
    def lab(self, conf, containers):
        lab = Lab(self.dirs, conf, containers)
        try:
            lab.start()
            yield lab
        finally:
            lab.stop()

    # -- groups ------------------------------------------------------------
    def masquerade(self, backend):
        c = conf(isDefaultGateway=True, ipMasq=True, ipMasqBackend=backend)
        with self.lab(c, ["c1", "c2", "out"]) as lab:
            lab.outside()
            lab.plugin("ADD")
            second = lab.plugin("ADD", "c2")
            c2 = {a.version: str(a) for a in (ipaddress.ip_interface(i["address"]).ip
                                              for i in second["ips"])}
            for fam, gw, out, host, port in ((4, GATEWAY4, OUT4, HOST4, 8080), (6, GATEWAY6, OUT6, HOST6, 8081)):
                name = "%s-v%d-" % (backend, fam)
                self.reach(name + "container", lab, "c1", c2[fam])
                self.reach(name + "gateway", lab, "c1", gw)
                self.reach(name + "from-host", lab, "host", c2[fam])
                self.reach(name + "outside", lab, "c1", out)
                seen = lab.seen_from("out", "c1", out, port)
                self.check(name + "source", seen == host, "wanted %s, seen from %s" % (host, seen))
                seen = lab.seen_from("c2", "c1", c2[fam], port)
                self.check(name + "inside-unchanged", seen is not None and seen not in (gw, host),
                           "between containers, seen from %s" % seen)
            lab.plugin("DEL")
            for fam, out, host, port in ((4, OUT4, HOST4, 8082), (6, OUT6, HOST6, 8083)):
                seen = lab.seen_from("out", "c2", out, port)
                self.check("%s-v%d-after-del-of-other" % (backend, fam), seen == host,
                           "wanted %s, seen from %s" % (host, seen))

    def iptables(self):
        self.masquerade("iptables")

    def nftables(self):
        self.masquerade("nftables")

    def no_masquerade(self):
        """What the masquerade checks rest on: without it nothing comes back."""
        with self.lab(conf(isDefaultGateway=True), ["c1", "out"]) as lab:
            lab.outside()
            lab.plugin("ADD")
            self.reach("no-masquerade-gateway", lab, "c1", GATEWAY4)
            self.reach("no-masquerade-v4-outside", lab, "c1", OUT4, want=False)
            self.reach("no-masquerade-v6-outside", lab, "c1", OUT6, want=False)

    def hairpin(self):
        for on in (True, False):
            with self.lab(conf(dual=False, isGateway=True, hairpinMode=on), ["c1"]) as lab:
                lab.plugin("ADD")
                self.reach("hairpin-%s-gateway" % ("on" if on else "off"), lab, "c1", GATEWAY4)
                got = lab.hears("c1", "c1", lab.mac("c1"), "203.0.113.1")
                self.check("hairpin-%s" % ("on" if on else "off"), got == on,
                           "a broadcast %s to its sender" % ("comes back" if got else "does not come back"))

    def isolation(self):
        for on in (True, False):
            name = "isolation-%s-" % ("on" if on else "off")
            with self.lab(conf(isGateway=True, portIsolation=on), ["c1", "c2"]) as lab:
                lab.plugin("ADD")
                lab.plugin("ADD", "c2")
                for fam, gw, other in ((4, GATEWAY4, "192.0.2.3"), (6, GATEWAY6, "2001:db8:1::3")):
                    self.reach("%sv%d-gateway" % (name, fam), lab, "c1", gw)
                    self.reach("%sv%d-container" % (name, fam), lab, "c1", other, want=not on)

    def spoofing(self):
        spoofed = "02:00:00:00:00:99"
        for on in (True, False):
            name = "spoofing-%s-" % ("checked" if on else "unchecked")
            with self.lab(conf(isGateway=True, macspoofchk=on), ["c1", "c2"]) as lab:
                lab.plugin("ADD")
                lab.plugin("ADD", "c2")
                got = lab.hears("c2", "c1", lab.mac("c1"), "203.0.113.1")
                self.check(name + "own-mac", got, "a frame with the right source is dropped")
                got = lab.hears("c2", "c1", spoofed, "203.0.113.2")
                self.check(name + "other-mac", got != on, "a frame with another source %s"
                           % ("passes" if got else "is dropped"))
                self.reach(name + "container", lab, "c1", "192.0.2.3")
                self.reach(name + "container-v6", lab, "c1", "2001:db8:1::3")

    def mtu(self):
        for mtu in (1400, 9000):
            with self.lab(conf(isGateway=True, mtu=mtu), ["c1", "c2"]) as lab:
                lab.plugin("ADD")
                lab.plugin("ADD", "c2")
                # headers: 20 of IPv4 or 40 of IPv6, and 8 of ICMP
                for fam, to, header in ((4, "192.0.2.3", 28), (6, "2001:db8:1::3", 48)):
                    name = "mtu-%d-v%d-" % (mtu, fam)
                    self.reach(name + "full", lab, "c1", to, size=mtu - header)
                    self.reach(name + "one-more", lab, "c1", to, size=mtu - header + 1, want=False)

    def parallel(self):
        roles = ["c%d" % i for i in range(1, 21)]
        c = conf(isGateway=True, ipMasq=True)
        with self.lab(c, roles) as lab:
            steps = [{"do": "ADD", "c": r} for r in roles]
            rs = lab.ns["host"].ask("run_many", runs=[lab.plugin_call(s) for s in steps])["runs"]
            bad = [r["out"] or r["err"] for r in rs if r["rc"]]
            self.check("parallel-all-succeed", not bad, "%d failed: %s" % (len(bad), bad[:2]))
            given = [ip["address"] for r in rs if not r["rc"] for ip in json.loads(r["out"])["ips"]]
            self.check("parallel-each-address-once", len(given) == 40 == len(set(given)),
                       "%d addresses, %d distinct" % (len(given), len(set(given))))
            bridges = lab.cmd("host", "ip", "-br", "link", "show", "type", "bridge").splitlines()
            self.check("parallel-one-bridge", len(bridges) == 1, repr(bridges))
            ports = lab.cmd("host", "ls", "/sys/class/net/cni0/brif").split()
            self.check("parallel-twenty-ports", len(ports) == 20, repr(ports))
            addrs = json.loads(lab.cmd("host", "ip", "-j", "addr", "show", "dev", "cni0"))
            got = sorted("%s/%d" % (a["local"], a["prefixlen"]) for a in addrs[0]["addr_info"]
                         if a["scope"] == "global")
            self.check("parallel-gateways-once", got == [GATEWAY4 + "/24", GATEWAY6 + "/64"], repr(got))
            named = {i["mac"] for r in rs if not r["rc"] for i in json.loads(r["out"])["interfaces"]
                     if i["name"] == "cni0"}
            self.check("parallel-one-bridge-mac", named == {addrs[0]["address"]},
                       "results name %s, it is %s" % (sorted(named), addrs[0]["address"]))
            lost = [r for r in roles if not lab.reaches(r, GATEWAY4)]
            self.check("parallel-v4-gateway", not lost, "not from %s" % lost)
            lost = [r for r in roles if not lab.reaches(r, GATEWAY6)]
            self.check("parallel-v6-gateway", not lost, "not from %s" % lost)


    def delegation(self):
        """Our own host-local runs in the process of the bridge; any other program is executed."""
        with self.lab(conf(), ["c1"]) as lab:
            other = os.path.join(lab.tmp, "other")
            os.mkdir(other)
            with open(os.path.join(other, "host-local"), "w") as f:
                f.write("#!/bin/sh\nexec %s/host-local\n" % self.dirs[0])
            os.chmod(f.name, 0o755)
            for name, path, want in (("own", self.dirs, False), ("other", [other] + self.dirs, True)):
                trace = os.path.join(lab.tmp, "trace-" + name)
                for op in ("ADD", "DEL"):
                    call = lab.plugin_call({"do": op})
                    call["env"]["CNI_PATH"] = os.pathsep.join(path)
                    call["argv"] = ["strace", "-f", "-A", "-o", trace, "-e", "trace=execve"] + call["argv"]
                    r = lab.ns["host"].ask("run", **call)
                    self.check("delegation-%s-%s" % (name, op), r["rc"] == 0, r["out"] + r["err"])
                with open(trace) as f:
                    executed = "/host-local" in f.read()
                self.check("delegation-%s-executed" % name, executed == want,
                           "host-local is %sexecuted" % ("" if executed else "not "))


GROUPS = (
    ("delegation", []),
    ("iptables", ["iptables", "ipv6", "ping"]),
    ("nftables", ["nft", "ipv6", "ping"]),
    ("no_masquerade", ["ipv6", "ping"]),
    ("hairpin", ["ping"]),
    ("isolation", ["isolated", "ipv6", "ping"]),
    ("spoofing", ["nft", "nft-bridge", "ipv6", "ping"]),
    ("mtu", ["ipv6", "ping"]),
    ("parallel", ["iptables", "ipv6", "ping"]),
)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("bin_dir")
    ap.add_argument("--helpers", help="directory searched after BIN_DIR for host-local")
    ap.add_argument("--only", help="run only the groups whose name contains this: "
                    + ", ".join(g for g, _ in GROUPS))
    a = ap.parse_args()
    if os.geteuid() != 0:
        sys.exit("traffic.py needs root")
    dirs = [os.path.abspath(d) for d in (a.bin_dir, a.helpers) if d]
    if not run.find_plugin("bridge", dirs[:1]):
        sys.exit("no executable `bridge` in %s" % a.bin_dir)
    atexit.register(run.clean_all)
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, run.on_signal)
    begin = time.monotonic()
    feats = run.Features([dirs])
    tests, skipped = Tests(dirs), 0
    for group, needs in GROUPS:
        if a.only and a.only not in group:
            continue
        missing = [n for n in needs if not feats.has(n)]
        if missing:
            skipped += 1
            print("SKIP %s: this machine lacks %s" % (group, ", ".join(missing)))
            continue
        try:
            getattr(tests, group)()
        except (RuntimeError, ValueError, KeyError, OSError) as e:
            tests.check(group + "-broke-off", False, "%s: %s" % (type(e).__name__, e))
    print("# %d ok, %d failed, %d groups skipped, %.1f s"
          % (tests.ok, tests.failed, skipped, time.monotonic() - begin))
    sys.exit(1 if tests.failed or not tests.ok else 0)


if __name__ == "__main__":
    main()
