//! `CNI_ARGS` and the other variables.

use std::net::IpAddr;

use wipam_core::parameters::Invocation;

use crate::world::World;

const CONFIG: &[u8] = br#"{"cniVersion":"1.1.0","name":"net","ipam":{"ranges":[
    [{"subnet":"10.1.0.0/16"}],[{"subnet":"fd00::/64"}]]},
    "cni.dev/valid-attachments":[]}"#;

/// Reads the bytes as lines: `CNI_ARGS`, `CNI_CONTAINERID`, `CNI_IFNAME`,
/// `CNI_NETNS`, `CNI_PATH`, `CNI_COMMAND`. Those that are missing have usual
/// values.
pub fn cni_args(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.split('\n').map(str::to_owned);
    let mut next = |usual: &str| lines.next().unwrap_or_else(|| usual.to_owned());
    let given = Invocation {
        args: next(""),
        container_id: next("c"),
        interface_name: next("eth0"),
        netns: next("/run/netns/x"),
        path: next("/opt/cni/bin"),
        command: next("ADD"),
        own_netns: false,
        config: CONFIG.to_vec(),
    };
    let mut world = World::default();
    // Whatever command this is, it answers.
    if given.command != "VERSION" {
        let _ = world.run(&given);
    }
    let mut world = World::default();
    let command = |command: &str| Invocation {
        command: command.to_owned(),
        ..given.clone()
    };
    let added = world.run(&command("ADD"));
    let names_fit = is_container_id(&given.container_id)
        && is_interface_name(&given.interface_name)
        && !given.netns.is_empty();
    match &added {
        Ok(addresses) => {
            assert!(names_fit, "{given:?}");
            let reserved = world.store.contents().reserved;
            let held = (
                given.container_id.clone(),
                Some(given.interface_name.clone()),
            );
            assert!(reserved.values().all(|found| *found == held));
            assert!(reserved.keys().eq(addresses.iter()));
            if let Some(wanted) = wanted(&given.args) {
                assert!(addresses.contains(&wanted), "{given:?}: {addresses:?}");
            }
        }
        Err(refused) => {
            assert!(world.store.contents().reserved.is_empty());
            assert!(!(names_fit && given.args.is_empty()), "{refused:?}");
            assert!(matches!(refused.code, 4 | 7), "{refused:?}");
        }
    }
    let checked = world.run(&command("CHECK"));
    assert_eq!(checked.is_ok(), added.is_ok(), "{checked:?}");
    // Arguments that are no use keep nothing from being released.
    let deleted = world.run(&command("DEL"));
    assert!(deleted.is_ok() || added.is_err(), "{deleted:?}");
    assert!(world.store.contents().reserved.is_empty());
}

fn is_container_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric();
    text.starts_with(plain) && text.chars().all(|c| plain(c) || "_.-".contains(c))
}

fn is_interface_name(text: &str) -> bool {
    let refused = |c: char| c == '/' || c == ':' || c.is_whitespace();
    !matches!(text, "" | "." | "..") && text.len() < 16 && !text.contains(refused)
}

/// The last `IP=`, whose address is asked for.
fn wanted(args: &str) -> Option<IpAddr> {
    let value = args.split(';').rfind(|pair| pair.starts_with("IP="))?;
    let address = value.strip_prefix("IP=")?.split('/').next()?;
    Some(address.parse::<IpAddr>().ok()?.to_canonical())
}
