#!/usr/bin/env python3
"""Fails an ADD at every one of its effects, and kills it there.

Usage: inject.py STEPPER_DIR [--helpers DIR] [--only PATTERN] [-j JOBS] [-v]

STEPPER_DIR holds host-local and a `bridge` made for this test.  It does what
the plugin does, but writes one line for each effect of an ADD to the file that
WIPAM_STEPS names, and when it is about to take effect number WIPAM_STOP_AT
(from 1), it fails as if the kernel had refused (WIPAM_STOP_HOW=fail), or sends
itself SIGKILL (kill).

Each configuration is tried on a host of its own, and once more with another
container already attached.  A first run counts the effects.  Then, for each:

fail   ADD exits with a status other than 0 and prints an error object.  The
       host, the containers and the data directory are as before.

kill   DEL, with the same configuration and without prevResult, exits with 0.
       What is there is as before.

As before: links with their addresses and settings, routes, sysctls, rules, and
the files of the data directory, byte for byte.  Not compared are interface
indexes, timers and host-local's empty lock; and after a kill its markers
last_reserved_ip.*, which a DEL leaves by recorded behaviour.

Needs root and iproute2.  Prints `ok NAME` or `FAIL NAME: detail`, with the
description of the effect, and a summary.  The exit status is 1 if one failed
or none ran.
"""
import argparse
import atexit
import concurrent.futures
import json
import os
import re
import signal
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run  # noqa: E402

SETTLE_S = 2.0      # how long the state may take to become what it was
BRIDGE = "cni0"
# what the kernel counts or times
VOLATILE = re.compile(r"(_timer|_timer_value)$|^(ifindex|link_index|link_netnsid)$")


def conf(*ranges, **more):
    c = {"cniVersion": "1.0.0", "name": "net1", "type": "bridge", "bridge": BRIDGE}
    if ranges:
        c["ipam"] = {"type": "host-local", "dataDir": "@TMP@/ipam",
                     "ranges": [[{"subnet": r}] for r in ranges],
                     "routes": [{"dst": "203.0.113.0/24"}]}
    c.update(more)
    return c


V4, V6 = "192.0.2.0/24", "2001:db8:1::/64"

# name: configuration, commands beforehand (namespace, words), what the machine needs
CONFIGS = {
    "l2": (conf(), [], []),
    "gateway-v4": (conf(V4, isDefaultGateway=True), [], []),
    "dual-iptables-spoof": (conf(V4, V6, isDefaultGateway=True, ipMasq=True, macspoofchk=True,
                                 ipMasqBackend="iptables"),
                            [], ["iptables", "nft", "nft-bridge", "ipv6"]),
    "dual-nftables-spoof": (conf(V4, V6, isDefaultGateway=True, ipMasq=True, macspoofchk=True,
                                 ipMasqBackend="nftables"),
                            [], ["nft", "nft-bridge", "ipv6"]),
    "port-settings": (conf(V4, isGateway=True, mtu=1400, hairpinMode=True, portIsolation=True,
                           args={"cni": {"mac": "02:00:00:00:00:42"}}), [], ["isolated"]),
    # its carrier does not come and go with the containers, nor its MAC
    "existing-bridge": (conf(V4, V6, isGateway=True, forceAddress=True),
                        [("host", "ip link add cni0 address 02:00:00:00:00:77 type bridge"),
                         ("host", "ip addr add 198.51.100.1/24 brd + dev cni0"),
                         ("host", "ip addr add 2001:db8:1::5/64 dev cni0 nodad"),
                         ("host", "ip link add d0 type veth peer name d1"),
                         ("host", "ip link set d1 up"),
                         ("host", "ip link set d0 master cni0 up"),
                         ("host", "ip link set cni0 up")], ["ipv6"]),
    "ipv6-disabled-inside": (conf(V4, V6, isGateway=True),
                             [("c1", "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 "
                                     "net.ipv6.conf.default.disable_ipv6=1")], ["ipv6"]),
}


class Lab(run.Scenario):
    """One host, the container that is tried (c1), and one already there (c0) if shared."""

    def __init__(self, dirs, conf, before, shared):
        roles = ["c1", "c0"] if shared else ["c1"]
        super().__init__({"confs": {"main": conf}, "containers": roles, "steps": []}, dirs)
        self.before, self.shared = before, shared
        self.rules = "ipMasq" in conf or "macspoofchk" in conf

    def start(self):
        super().start()
        for ns, words in self.before:
            r = self.ns[ns].ask("run", argv=words.split(), stdin="", env=dict(os.environ))
            if r["rc"]:
                raise RuntimeError("%s: %s" % (words, r["err"].strip()))
        if self.shared:
            # a MAC asked for is the one thing that two containers cannot share
            r, doc = self.call("ADD", c="c0", unset=["args"])
            if r["rc"]:
                raise RuntimeError("ADD of the container already there: %s" % doc)
        return self

    def call(self, op, stop=None, how="fail", steps=None, **step):
        """Runs the plugin; its result and the object it printed."""
        q = self.plugin_call({"do": op, "c": "c1", **step})
        if stop:
            q["env"].update(WIPAM_STOP_AT=str(stop), WIPAM_STOP_HOW=how)
        if steps:
            q["env"]["WIPAM_STEPS"] = steps
        r = self.ns["host"].ask("run", **q)
        try:
            doc = json.loads(r["out"]) if r["out"].strip() else None
        except ValueError:
            doc = "not JSON: " + r["out"]
        return r, doc

    def snapshot(self):
        """All there is, one entry for each thing: name -> value."""
        raw = self.raw()
        if self.rules:
            raw["host"].update(self.ns["host"].ask("netfilter"))
        out = {}
        for role, r in raw.items():
            for l in r["links"]:
                name = "%s link %s" % (role, l["ifname"])
                for k, v in l.pop("_conf").items():
                    out["%s sysctl %s" % (name, k)] = v
                out[name] = steady(l)
            for fam in ("r4", "r6"):
                for x in r[fam]:
                    text = json.dumps(steady(x), sort_keys=True)
                    out["%s route dev %s %s" % (role, x.get("dev"), text)] = True
            for k, v in r["sysctl"].items():
                out["%s sysctl %s" % (role, k)] = v
            for prog, text in r.get("ipt", {}).items():
                out["%s rules %s" % (role, prog)] = self.norm_iptables(text)
            out["%s rules nft" % role] = self.norm_nft(r.get("nft", ""))
        base = os.path.join(self.tmp, "ipam")
        for d, _, files in os.walk(base):
            for f in files:
                if f != "lock":
                    p = os.path.join(d, f)
                    with open(p, "rb") as file:
                        out["file " + os.path.relpath(p, base)] = repr(file.read())
        return out

    def at_rest(self):
        """The snapshot, once two in a row agree."""
        end = time.monotonic() + 3 * SETTLE_S
        last = None
        while time.monotonic() < end:
            if self.settled(self.raw()):
                now = self.snapshot()
                if now == last and "tentative" not in json.dumps(now):
                    return now
                last = now
            time.sleep(0.1)
        raise RuntimeError("the namespaces do not come to rest")

    def compare(self, want, leave=lambda key, value: False):
        """What differs from the wanted snapshot, after some time to settle."""
        end = time.monotonic() + SETTLE_S
        while True:
            got = self.snapshot()
            found = [(k, want.get(k), got.get(k)) for k in sorted(set(want) | set(got))
                     if want.get(k) != got.get(k) and not leave(k, got.get(k))]
            # what is there too much goes at once or never; addresses and carrier take time
            if not found or time.monotonic() > end:
                return [show(*f) for f in found]
            time.sleep(0.05)


def is_marker(key, _value):
    return key.startswith("file ") and "/last_reserved_ip." in key


def steady(x):
    if isinstance(x, dict):
        return {k: steady(v) for k, v in x.items() if not VOLATILE.search(k)}
    if isinstance(x, list):
        return [steady(v) for v in x]
    return x


def show(key, was, now):
    if was is None:
        return "left behind: %s%s" % (key, "" if now is True else " = " + json.dumps(now)[:300])
    if now is None:
        return "gone: %s" % key
    return "%s: %s" % (key, "; ".join(run.differences(was, now))[:400])


class Unit:
    """One configuration, alone or beside another container."""

    def __init__(self, name, dirs, conf, before, shared):
        self.name = name + ("-shared" if shared else "")
        self.args = (dirs, conf, before, shared)
        self.shared = shared
        self.lab = None
        self.clean = None
        self.fails = []
        self.lines = []

    def fresh(self):
        if self.lab is not None:
            self.lab.stop()
        self.lab = None
        self.lab = Lab(*self.args)
        self.lab.start()
        self.clean = self.lab.at_rest()

    def complain(self, mode, n, step, problems):
        self.fails.append((mode, n))
        self.lines.append("FAIL %s-%s at %d (%s): %s" % (self.name, mode, n, step, problems[0]))
        self.lines += ["     " + p for p in problems[1:6]]
        if len(problems) > 6:
            self.lines.append("     ... %d more" % (len(problems) - 6))

    def count(self):
        """The descriptions of the effects; also what an ADD and a DEL leave, where it is reused."""
        path = os.path.join(self.lab.tmp, "steps")
        if os.path.exists(path):
            os.remove(path)
        r, doc = self.lab.call("ADD", steps=path)
        if r["rc"]:
            raise RuntimeError("the first ADD fails: %s" % (doc or r["err"].strip()))
        with open(path) as f:
            steps = [line.rstrip("\n") for line in f]
        if not steps:
            raise RuntimeError("the first ADD took no effect")
        r, doc = self.lab.call("DEL")
        if r["rc"]:
            raise RuntimeError("the first DEL fails: %s" % (doc or r["err"].strip()))
        if self.shared:
            self.clean = self.lab.at_rest()
        else:
            self.fresh()
        return steps

    def fail(self, n):
        r, doc = self.lab.call("ADD", stop=n, how="fail")
        problems = []
        if r["rc"] <= 0:
            problems.append("exit status %d" % r["rc"])
        if not (isinstance(doc, dict) and isinstance(doc.get("code"), int) and doc.get("msg")):
            problems.append("no error object: %s" % (json.dumps(doc)[:200] if doc else "no output"))
        return problems + self.lab.compare(self.clean)

    def kill(self, n):
        r, doc = self.lab.call("ADD", stop=n, how="kill")
        if r["rc"] != -signal.SIGKILL:
            return ["exit status %d instead of death by SIGKILL" % r["rc"]]
        r, doc = self.lab.call("DEL")
        problems = []
        if r["rc"]:
            problems.append("DEL: exit status %d: %s" % (r["rc"], doc or r["err"].strip()))
        return problems + self.lab.compare(self.clean, is_marker)

    def run(self):
        begin = time.monotonic()
        try:
            self.fresh()
            steps = self.count()
            if self.shared:
                # what a first ADD and DEL leave needs no doing again
                steps = self.count()
            for mode in ("fail", "kill"):
                had = len(self.fails)
                for n, step in enumerate(steps, 1):
                    problems = getattr(self, mode)(n)
                    if problems:
                        self.complain(mode, n, step, problems)
                        self.fresh()
                if len(self.fails) == had:
                    self.lines.append("ok %s-%s (%d effects)" % (self.name, mode, len(steps)))
        except (RuntimeError, OSError, ValueError, KeyError) as e:
            self.fails.append(("broke off", 0))
            self.lines.append("FAIL %s: broke off: %s: %s" % (self.name, type(e).__name__, e))
        finally:
            if self.lab is not None:
                self.lab.stop()
        self.seconds = time.monotonic() - begin
        return self


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("stepper_dir")
    ap.add_argument("--helpers", help="directory searched after STEPPER_DIR for host-local")
    ap.add_argument("--only", help="run only what has this in its name")
    ap.add_argument("-j", "--jobs", type=int, default=2, help="tried at the same time")
    ap.add_argument("-v", "--verbose", action="store_true", help="also the time of each")
    a = ap.parse_args()
    if os.geteuid() != 0:
        sys.exit("inject.py needs root")
    dirs = [os.path.abspath(d) for d in (a.stepper_dir, a.helpers) if d]
    for name in ("bridge", "host-local"):
        if not run.find_plugin(name, dirs if name != "bridge" else dirs[:1]):
            sys.exit("no executable `%s` in %s" % (name, " or ".join(dirs)))
    atexit.register(run.clean_all)
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, run.on_signal)
    begin = time.monotonic()
    feats = run.Features([dirs])
    units = []
    for name, (c, before, needs) in CONFIGS.items():
        for shared in (False, True):
            unit = Unit(name, dirs, c, before, shared)
            missing = [n for n in needs if not feats.has(n)]
            if a.only and a.only not in unit.name:
                continue
            if missing:
                print("SKIP %s: this machine lacks %s" % (unit.name, ", ".join(missing)))
            else:
                units.append(unit)
    # the long ones first, so that none is left to run alone in the end
    units.sort(key=lambda u: -len(json.dumps(u.args[1])))
    told = threading.Lock()
    done = failed = 0
    with concurrent.futures.ThreadPoolExecutor(max(1, a.jobs)) as pool:
        for future in concurrent.futures.as_completed([pool.submit(u.run) for u in units]):
            unit = future.result()
            done += 1
            failed += len(unit.fails)
            with told:
                for line in unit.lines:
                    print(line)
                if a.verbose:
                    print("# %s: %.1f s" % (unit.name, unit.seconds))
                sys.stdout.flush()
    print("# %d configurations, %d failures, %.1f s" % (done, failed, time.monotonic() - begin))
    sys.exit(1 if failed or not done else 0)


if __name__ == "__main__":
    main()
