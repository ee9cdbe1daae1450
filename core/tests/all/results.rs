//! Results in the shape of every version: read, printed, and refused.

use serde_json::{Value, json};
use wipam_core::json::Field;
use wipam_core::result::{Interface, Ip, ResultError, Success};
use wipam_core::route::Route;
use wipam_core::version::Version;

fn read_text(text: &str) -> Result<Success, ResultError> {
    let document = Field::document(text).unwrap().object().unwrap();
    Success::read(&document, Version::V1_0_0)
}

fn read(value: &Value) -> Result<Success, ResultError> {
    read_text(&value.to_string())
}

fn refused(value: &Value) -> String {
    read(value).unwrap_err().to_string()
}

fn printed(success: &Success, version: Version) -> Value {
    serde_json::from_str(&success.render(version).unwrap()).unwrap()
}

fn ip(address: &str, gateway: Option<&str>) -> Ip {
    Ip {
        interface: None,
        address: address.parse().unwrap(),
        gateway: gateway.map(|gateway| gateway.parse().unwrap()),
    }
}

fn route(dst: &str, gw: Option<&str>) -> Route {
    Route {
        dst: dst.parse().unwrap(),
        gw: gw.map(|gw| gw.parse().unwrap()),
        mtu: 0,
        advmss: 0,
        priority: 0,
        table: None,
        scope: None,
    }
}

/// What `bridge` answers for a network of both families, as recorded.
fn dual_stack() -> Success {
    let link = |name: &str, mac: &str, sandbox: &str| Interface {
        name: name.into(),
        mac: Some(mac.into()),
        sandbox: sandbox.into(),
        ..Interface::default()
    };
    let in_container = |ip: Ip| Ip {
        interface: Some(2),
        ..ip
    };
    let mut success = Success {
        interfaces: vec![
            link("cni0", "02:00:00:00:00:01", ""),
            link("veth1", "02:00:00:00:00:02", ""),
            link("eth0", "02:00:00:00:00:03", "/run/netns/c1"),
        ],
        ips: vec![
            in_container(ip("192.0.2.2/24", Some("192.0.2.1"))),
            in_container(ip("2001:db8:1::2/64", Some("2001:db8:1::1"))),
        ],
        routes: vec![
            route("198.18.0.0/15", None),
            route("2001:db8:5::/48", None),
            route("0.0.0.0/0", Some("192.0.2.1")),
            route("::/0", Some("2001:db8:1::1")),
        ],
        ..Success::default()
    };
    success.dns.nameservers = vec!["192.0.2.53".into()];
    success.dns.domain = Some("example.test".into());
    success
}

#[test]
fn a_result_comes_back_from_every_version_that_holds_it() {
    let success = dual_stack();
    for version in Version::ALL {
        let text = success.render(version).unwrap();
        let back = read_text(&text).unwrap();
        if version >= Version::V0_3_0 {
            assert_eq!(back, success, "{version}");
            continue;
        }
        // No interfaces, and the routes are sorted by family.
        assert!(back.interfaces.is_empty());
        let [v4, v6] = &back.ips[..] else {
            unreachable!("{text}")
        };
        assert_eq!(*v4, ip("192.0.2.2/24", Some("192.0.2.1")));
        assert_eq!(*v6, ip("2001:db8:1::2/64", Some("2001:db8:1::1")));
        let of = &success.routes;
        let sorted = [0, 2, 1, 3].map(|n: usize| of[n].clone());
        assert_eq!((&back.routes[..], &back.dns), (&sorted[..], &success.dns));
    }
}

#[test]
fn every_version_has_its_shape() {
    let early = json!({
        "ip4": {"ip": "192.0.2.2/24", "gateway": "192.0.2.1", "routes": [
            {"dst": "198.18.0.0/15"}, {"dst": "0.0.0.0/0", "gw": "192.0.2.1"}]},
        "ip6": {"ip": "2001:db8:1::2/64", "gateway": "2001:db8:1::1", "routes": [
            {"dst": "2001:db8:5::/48"}, {"dst": "::/0", "gw": "2001:db8:1::1"}]},
        "dns": {"nameservers": ["192.0.2.53"], "domain": "example.test"},
    });
    let newest = json!({
        "interfaces": [
            {"name": "cni0", "mac": "02:00:00:00:00:01"},
            {"name": "veth1", "mac": "02:00:00:00:00:02"},
            {"name": "eth0", "mac": "02:00:00:00:00:03", "sandbox": "/run/netns/c1"}],
        "ips": [
            {"interface": 2, "address": "192.0.2.2/24", "gateway": "192.0.2.1"},
            {"interface": 2, "address": "2001:db8:1::2/64", "gateway": "2001:db8:1::1"}],
        "routes": [
            {"dst": "198.18.0.0/15"}, {"dst": "2001:db8:5::/48"},
            {"dst": "0.0.0.0/0", "gw": "192.0.2.1"}, {"dst": "::/0", "gw": "2001:db8:1::1"}],
        "dns": {"nameservers": ["192.0.2.53"], "domain": "example.test"},
    });
    let mut middle = newest.clone();
    middle["ips"][0]["version"] = "4".into();
    middle["ips"][1]["version"] = "6".into();
    for version in Version::ALL {
        let mut wanted = match version {
            _ if version < Version::V0_3_0 => early.clone(),
            _ if version < Version::V1_0_0 => middle.clone(),
            _ => newest.clone(),
        };
        wanted["cniVersion"] = version.as_str().into();
        assert_eq!(printed(&dual_stack(), version), wanted);
    }
}

/// To the byte, since this is what runtimes have been given so far.
#[test]
fn an_ipam_plugin_prints_what_it_always_printed() {
    let success = Success {
        ips: vec![ip("10.1.2.2/24", Some("10.1.2.1"))],
        routes: vec![route("0.0.0.0/0", Some("10.1.2.9"))],
        ..Success::default()
    };
    let wanted = r#"{
  "cniVersion": "0.2.0",
  "ip4": {
    "ip": "10.1.2.2/24",
    "gateway": "10.1.2.1",
    "routes": [
      {
        "dst": "0.0.0.0/0",
        "gw": "10.1.2.9"
      }
    ]
  },
  "dns": {}
}"#;
    assert_eq!(success.render(Version::V0_2_0).unwrap(), wanted);
    let wanted = r#"{
  "cniVersion": "0.4.0",
  "ips": [
    {
      "version": "4",
      "address": "10.1.2.2/24",
      "gateway": "10.1.2.1"
    }
  ],
  "routes": [
    {
      "dst": "0.0.0.0/0",
      "gw": "10.1.2.9"
    }
  ],
  "dns": {}
}"#;
    assert_eq!(success.render(Version::V0_4_0).unwrap(), wanted);
}

#[test]
fn an_old_version_holds_one_address_of_a_family_and_needs_one() {
    let mut success = Success {
        ips: vec![ip("192.0.2.5/24", None), ip("203.0.113.5/24", None)],
        routes: vec![route("2001:db8::/32", None)],
        ..Success::default()
    };
    success.routes[0].mtu = 1300;
    let wanted = json!({"cniVersion": "0.2.0", "ip4": {"ip": "192.0.2.5/24"}, "dns": {}});
    assert_eq!(printed(&success, Version::V0_2_0), wanted);
    success.ips.clear();
    for version in [Version::V0_1_0, Version::V0_2_0] {
        let error = success.render(version).unwrap_err();
        assert_eq!(error, ResultError::NoAddress(version));
    }
    success.routes.clear();
    let wanted = json!({"cniVersion": "0.3.1", "dns": {}});
    assert_eq!(printed(&success, Version::V0_3_1), wanted);
    let wanted = json!({"cniVersion": "1.0.0"});
    assert_eq!(printed(&success, Version::V1_0_0), wanted);
}

#[test]
fn routes_keep_their_attributes_and_interfaces_those_of_their_version() {
    let result = json!({
        "cniVersion": "1.1.0",
        "interfaces": [{"name": "eth0", "mtu": 1400, "socketPath": "/s", "pciID": "0000:00:1f.6"}],
        "routes": [{"dst": "198.18.0.0/15", "mtu": 1300, "advmss": 1200, "priority": 77,
                    "table": 123, "scope": 253}],
    });
    let success = read(&result).unwrap();
    assert_eq!(success.interfaces[0].mtu, Some(1400));
    assert_eq!(printed(&success, Version::V1_1_0), result);
    let mut wanted = result;
    wanted["cniVersion"] = "1.0.0".into();
    wanted["interfaces"] = json!([{"name": "eth0"}]);
    assert_eq!(printed(&success, Version::V1_0_0), wanted);
    // Unknown there, so it can be of any type.
    wanted["interfaces"] = json!([{"name": "eth0", "mtu": "big"}]);
    assert!(read(&wanted).is_ok());
}

#[test]
fn the_answer_names_its_shape_or_has_that_of_the_configuration() {
    let early = json!({"ip4": {"ip": "192.0.2.5/24"}});
    let current = json!({"cniVersion": "", "ips": [{"address": "192.0.2.5/24"}]});
    let read_as = |value: &Value, version| {
        let text = value.to_string();
        let document = Field::document(&text).unwrap().object().unwrap();
        Success::read(&document, version).unwrap().ips.len()
    };
    assert_eq!(read_as(&early, Version::V0_2_0), 1);
    assert_eq!(read_as(&early, Version::V1_1_0), 0);
    assert_eq!(read_as(&current, Version::V1_1_0), 1);
    assert_eq!(read_as(&current, Version::V0_1_0), 0);
    let error = refused(&json!({"cniVersion": "9.9.9", "ips": []}));
    assert_eq!(
        error,
        "cniVersion: wanted one of 0.1.0 0.2.0 0.3.0 0.3.1 0.4.0 1.0.0 1.1.0, found \"9.9.9\""
    );
}

#[test]
fn absent_null_and_empty_are_alike() {
    let success = read(&json!({
        "cniVersion": "1.0.0",
        "interfaces": [{"name": "eth0", "mac": "", "sandbox": null}],
        "ips": [{"address": "192.0.2.5/24", "gateway": "", "interface": null}],
        "routes": [{"dst": "198.18.0.1/15", "gw": ""}],
        "dns": null,
    }))
    .unwrap();
    assert_eq!(success.interfaces[0].mac, None);
    assert_eq!(success.ips, [ip("192.0.2.5/24", None)]);
    // Host bits are kept.
    assert_eq!(success.routes, [route("198.18.0.1/15", None)]);
    let nothing = json!({"interfaces": null, "ips": null, "routes": null, "ip4": null});
    assert_eq!(read(&nothing), Ok(Success::default()));
    assert_eq!(read(&Value::Null), Ok(Success::default()));
    let early = json!({"cniVersion": "0.2.0", "ip4": null, "ips": 5});
    assert_eq!(read(&early), Ok(Success::default()));
}

#[test]
fn what_cannot_be_read_is_named_with_its_place() {
    for (field, found, place) in [
        (
            "ips",
            json!([{"address": "192.0.2.300/24"}]),
            "ips[0].address: invalid CIDR",
        ),
        (
            "ips",
            json!([{"address": "192.0.2.3"}]),
            "ips[0].address: invalid CIDR",
        ),
        ("ips", json!([{}]), "ips[0].address: invalid CIDR"),
        (
            "ips",
            json!([{"address": 5}]),
            "ips[0].address: wanted a string",
        ),
        ("ips", json!([null]), "ips[0]: wanted an object"),
        ("ips", json!({}), "ips: wanted a list"),
        (
            "ips",
            json!([{"address": "::1/64", "gateway": "x"}]),
            "ips[0].gateway: invalid IP",
        ),
        (
            "ips",
            json!([{"address": "::1/64", "interface": "0"}]),
            "ips[0].interface: wanted",
        ),
        ("routes", json!([{}]), "routes[0].dst: invalid CIDR"),
        ("routes", json!([null]), "routes[0]: wanted an object"),
        (
            "routes",
            json!([{"dst": "::/0", "gw": "x"}]),
            "routes[0].gw: invalid IP",
        ),
        (
            "interfaces",
            json!([{"mac": 1}]),
            "interfaces[0].mac: wanted a string",
        ),
        ("interfaces", json!([null]), "interfaces[0]: wanted"),
        ("dns", json!([]), "dns: wanted an object"),
        ("cniVersion", json!(1), "cniVersion: wanted a string"),
    ] {
        let mut result = json!({"cniVersion": "1.0.0"});
        result[field] = found;
        let error = refused(&result);
        assert!(error.starts_with(place), "{error}, wanted {place}");
    }
    let early = json!({"cniVersion": "0.2.0", "ip6": {"routes": []}});
    assert!(refused(&early).starts_with("ip6.ip: invalid CIDR"));
}
