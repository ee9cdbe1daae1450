//! Single rules that the plans do not reach: large subnets, requests that must
//! not be fulfilled, and addresses that mean something else as text.

use std::net::IpAddr;

use crate::model::invocation;
use crate::world::{Refused, World};

fn add(world: &mut World, container: &str, ipam: &str, args: &str) -> Result<IpAddr, Refused> {
    let config = format!(r#"{{"cniVersion":"1.1.0","name":"net","ipam":{{{ipam}}}}}"#);
    let mut add = invocation("ADD", container, "eth0", config.into_bytes());
    add.args = args.to_owned();
    world.run(&add).map(|addresses| addresses[0])
}

fn parsed(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// H10: `.0` and `.255` inside a larger subnet are ordinary addresses.
#[test]
fn only_the_ends_of_the_subnet_are_special() {
    let mut world = World::default();
    let ipam = r#""subnet":"10.0.0.0/16","rangeStart":"10.0.2.255","rangeEnd":"10.0.3.0""#;
    assert_eq!(add(&mut world, "a", ipam, ""), Ok(parsed("10.0.2.255")));
    assert_eq!(add(&mut world, "b", ipam, ""), Ok(parsed("10.0.3.0")));
    assert_eq!(add(&mut world, "c", ipam, "").unwrap_err().code, 11);
}

/// H24: the upper half of a /64.
#[test]
fn the_last_addresses_of_a_64_are_given() {
    let mut world = World::default();
    let ipam = r#""subnet":"fd00:1::/64","rangeStart":"fd00:1::ffff:ffff:ffff:fffe""#;
    for last in ["fffe", "ffff"] {
        let wanted = parsed(&format!("fd00:1::ffff:ffff:ffff:{last}"));
        assert_eq!(add(&mut world, last, ipam, ""), Ok(wanted));
    }
    assert_eq!(add(&mut world, "c", ipam, "").unwrap_err().code, 11);
}

/// H8: no success without an address, whatever the bounds.
#[test]
fn a_start_at_the_last_address_of_all_is_refused() {
    for (subnet, end) in [
        ("255.255.255.252/30", "255.255.255.255"),
        ("0.0.0.0/0", "255.255.255.255"),
    ] {
        let ipam = format!(r#""subnet":"{subnet}","rangeStart":"{end}","gateway":"{end}""#);
        let refused = add(&mut World::default(), "a", &ipam, "").unwrap_err();
        assert_eq!(refused.code, 7);
        assert!(refused.message.contains("rangeStart"), "{refused:?}");
    }
    let last = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
    let ipam = format!(r#""subnet":"::/0","rangeStart":"{last}","gateway":"{last}""#);
    let refused = add(&mut World::default(), "a", &ipam, "").unwrap_err();
    assert_eq!(refused.code, 11, "{refused:?}");
    let ipam = format!(r#""subnet":"::/0","rangeStart":"{last}""#);
    assert_eq!(add(&mut World::default(), "a", &ipam, ""), Ok(parsed(last)));
}

/// A gateway of one set is none of the addresses of another.
#[test]
fn sets_that_share_a_subnet_share_its_gateways() {
    let mut world = World::default();
    let ipam = r#""ranges":[
        [{"subnet":"10.1.0.0/24","rangeStart":"10.1.0.9","rangeEnd":"10.1.0.11","gateway":"10.1.0.20"}],
        [{"subnet":"10.1.0.0/24","rangeStart":"10.1.0.20","rangeEnd":"10.1.0.21","gateway":"10.1.0.9"}]]"#;
    assert_eq!(add(&mut world, "a", ipam, ""), Ok(parsed("10.1.0.10")));
    let held: Vec<_> = world.store.contents().reserved.into_keys().collect();
    assert_eq!(held, [parsed("10.1.0.10"), parsed("10.1.0.21")]);
    for ip in ["10.1.0.9", "10.1.0.20"] {
        let refused = add(&mut world, "b", ipam, &format!("IP={ip}")).unwrap_err();
        assert_eq!(refused.code, 7, "{ip}: {refused:?}");
    }
}

/// An address is written to a result and to a record as text. An IPv4-mapped
/// one would be read back as an IPv4 address.
#[test]
fn no_mapped_address_is_given() {
    let mut world = World::default();
    let ipam = r#""subnet":"::/64","rangeStart":"::fffe:ffff:fffe""#;
    assert_eq!(
        add(&mut world, "a", ipam, ""),
        Ok(parsed("::fffe:ffff:fffe"))
    );
    assert_eq!(
        add(&mut world, "b", ipam, ""),
        Ok(parsed("::fffe:ffff:ffff"))
    );
    assert_eq!(add(&mut world, "c", ipam, ""), Ok(parsed("::1:0:0:0")));
    // Nor from a marker in their midst, which none of ours leaves.
    world.store.mark(0, parsed("::ffff:10.1.0.7"));
    assert_eq!(add(&mut world, "d", ipam, ""), Ok(parsed("::1:0:0:1")));
}

/// Requests are addresses, however they are written.
#[test]
fn a_mapped_request_asks_for_the_ipv4_address() {
    let mut world = World::default();
    let ipam = r#""subnet":"10.1.0.0/24""#;
    assert_eq!(
        add(&mut world, "a", ipam, "IP=::ffff:10.1.0.77"),
        Ok(parsed("10.1.0.77"))
    );
}

/// H49: ranges given at run time come before the others and shift their
/// numbers; neither release nor round robin may depend on those.
#[test]
fn ranges_that_come_and_go_leave_the_round_robin_alone() {
    let mut world = World::default();
    let config = |top: &str| {
        format!(r#"{{"cniVersion":"1.1.0","name":"net","ipam":{{"subnet":"10.1.0.0/29"}}{top}}}"#)
            .into_bytes()
    };
    let plain = config("");
    let more = config(r#","runtimeConfig":{"ipRanges":[[{"subnet":"10.7.0.0/29"}]]}"#);
    let mut run = |command, container, config: &Vec<u8>| {
        world
            .run(&invocation(command, container, "eth0", config.clone()))
            .unwrap()
    };
    assert_eq!(run("ADD", "a", &plain), [parsed("10.1.0.2")]);
    let both = [parsed("10.7.0.2"), parsed("10.1.0.3")];
    assert_eq!(run("ADD", "b", &more), both);
    run("DEL", "b", &plain);
    assert_eq!(run("ADD", "c", &plain), [parsed("10.1.0.4")]);
    // The run-time range may begin anew: its marker made way for the others'.
    assert_eq!(run("ADD", "b", &more)[1], parsed("10.1.0.5"));
    assert_eq!(run("ADD", "d", &plain), [parsed("10.1.0.6")]);
}
