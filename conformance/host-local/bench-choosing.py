#!/usr/bin/env python3
"""What choosing an address costs: whole processes.

    bench-choosing.py BIN [--policy COMPONENT[=CONFIG]]... [--reps N]
                      [--only strategies|policy]

Strategies: ADD with each of them, in a /16 and in a range of as many addresses
of a /64, at 0, 50, 99 and 100 % full (where it fails), without and with 1,000
exclude spans.  Medians in ms, and the ratio to round robin in an empty pool.

Policy: ADDs in fresh processes, without and with a policy, in turn: medians
and their difference; and the first one with an empty cache.
"""
import argparse
import ipaddress
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

STRATEGIES = ["round-robin", "lowest", "random", "owner-hash"]
SIZE = 65_534
POOLS = {
    "/16": {"subnet": "10.0.0.0/16", "gateway": "10.0.0.1"},
    "/64": {"subnet": "fd00::/64", "gateway": "fd00::1",
            "rangeStart": "fd00::1", "rangeEnd": "fd00::fffe"},
}
SPANS = 1000


def run(binary, command, name, conf, work):
    """(wall ms, exit status) of one run."""
    env = {"CNI_COMMAND": command, "CNI_CONTAINERID": name,
           "CNI_NETNS": "/some/where", "CNI_IFNAME": "eth0",
           "CNI_PATH": "/opt/cni/bin"}
    file = Path(work) / "conf.json"
    text = json.dumps(conf)
    if not file.exists() or file.read_text() != text:
        file.write_text(text)
    error = Path(work) / "stderr"
    actions = [(os.POSIX_SPAWN_OPEN, 0, str(file), os.O_RDONLY, 0),
               (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
               (os.POSIX_SPAWN_OPEN, 2, str(error),
                os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)]
    begin = time.perf_counter()
    pid = os.posix_spawn(str(binary), [str(binary)], env, file_actions=actions)
    _, status, _ = os.wait4(pid, 0)
    return (time.perf_counter() - begin) * 1e3, status


def configuration(work, **ipam):
    return {"cniVersion": "1.0.0", "name": "net",
            "ipam": {"type": "host-local", "dataDir": str(work), **ipam}}


def fill(work, pool, percent, excluded):
    """Records of others: so many of the addresses that can be given."""
    net = Path(work) / "net"
    net.mkdir()
    base = ipaddress.ip_network(pool["subnet"]).network_address
    can = [n for n in range(2, SIZE + 1) if n not in excluded]
    for n in can[:len(can) * percent // 100]:
        (net / str(base + n)).write_bytes(b"%064x\r\neth0" % n)


def strategies(binary, reps):
    print(f"{'pool':5} {'full':>5} {'spans':>6} "
          + "".join(f"{name:>14}" for name in STRATEGIES) + "   ms, median")
    base = None
    for name, pool in POOLS.items():
        address = ipaddress.ip_network(pool["subnet"]).network_address
        for percent in (0, 50, 99, 100):
            for spans in (0, SPANS):
                # Every 64th address and the one behind it.
                taken = {n for s in range(spans) for n in (64 * s + 9, 64 * s + 10)}
                exclude = [f"{address + 64 * s + 9}-{address + 64 * s + 10}"
                           for s in range(spans)]
                with tempfile.TemporaryDirectory(prefix="cni-bench-") as work:
                    fill(work, pool, percent, taken)
                    row = []
                    for strategy in STRATEGIES:
                        conf = configuration(work, strategy=strategy,
                                             exclude=exclude, **pool)
                        times = []
                        for rep in range(reps + 2):
                            ms, status = run(binary, "ADD", f"c{rep}", conf, work)
                            if (status != 0) != (percent == 100):
                                raise SystemExit(
                                    f"{name} {percent} {strategy}: {status:#x}: "
                                    + (Path(work) / "stderr").read_text())
                            if rep >= 2:
                                times.append(ms)
                            run(binary, "DEL", f"c{rep}", conf, work)
                        row.append(statistics.median(times))
                    base = base or row[0]
                    print(f"{name:5} {percent:>4}% {spans:>6} "
                          + "".join(f"{ms:>9.2f} {ms / base:>3.1f}x"
                                    for ms in row), flush=True)


def policy(binary, component, config, reps):
    with tempfile.TemporaryDirectory(prefix="cni-bench-") as work:
        pool = POOLS["/16"]
        with_policy = configuration(
            work, policy={"component": str(component.resolve()),
                          "config": config, "cache": f"{work}/cache"}, **pool)
        without = configuration(work, **pool)
        cold, status = run(binary, "ADD", "cold", with_policy, work)
        if status != 0:
            raise SystemExit(f"{component}: the ADD failed")
        times = {"without": [], "with": []}
        for rep in range(reps):
            pair = [("without", without), ("with", with_policy)]
            for label, conf in pair if rep % 2 else pair[::-1]:
                ms, status = run(binary, "ADD", f"{label}{rep}", conf, work)
                if status != 0:
                    raise SystemExit(label)
                times[label].append(ms)
                run(binary, "DEL", f"{label}{rep}", conf, work)
        a, b = (statistics.median(times[label]) for label in times)
        print(f"{component.name}: cold {cold:.1f} ms; {reps} warm ADDs: without "
              f"{a:.2f} ms, with {b:.2f} ms, {b - a:+.2f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", type=Path)
    parser.add_argument("--policy", action="append", default=[],
                        metavar="COMPONENT[=CONFIG]")
    parser.add_argument("--reps", type=int, default=15)
    parser.add_argument("--only", choices=["strategies", "policy"])
    args = parser.parse_args()
    binary = args.binary.resolve()
    if args.only != "policy":
        strategies(binary, args.reps)
    if args.only != "strategies":
        for given in args.policy:
            component, _, config = given.partition("=")
            policy(binary, Path(component), json.loads(config or "null"), 100)


if __name__ == "__main__":
    main()
