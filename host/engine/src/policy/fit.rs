//! Whether a component is a policy: what it may import, and what it has to
//! export.

use wasmtime::Engine;
use wasmtime::component::{Component, ComponentExportIndex};

/// The interfaces that a policy gets. Nothing else is linked.
const GRANTED: [&str; 5] = ["types", "decision", "pool", "state", "log"];

/// Names of the interfaces, as this program has them.
pub(super) const POOL: &str = "wipam:ipam/pool@0.1.0";
pub(super) const STATE: &str = "wipam:ipam/state@0.1.0";
pub(super) const LOG: &str = "wipam:ipam/log@0.1.0";
const CHOICE: &str = "wipam:ipam/choice@0.1.0";
const RELEASES: &str = "wipam:ipam/releases@0.1.0";

/// The functions of a policy.
pub(super) struct Exports {
    pub(super) choose: ComponentExportIndex,
    /// Where it wants to be told of releases.
    pub(super) released: Option<ComponentExportIndex>,
}

/// Finds the functions of a policy, or says what it has or lacks.
pub(super) fn exports(engine: &Engine, component: &Component) -> Result<Exports, String> {
    let kind = component.component_type();
    let unknown: Vec<_> = kind
        .imports(engine)
        .map(|(name, _)| name)
        .filter(|name| !is_granted(name))
        .collect();
    if !unknown.is_empty() {
        return Err(format!(
            "it imports {}, and a policy gets nothing but wipam:ipam/{{{}}}@0.1.0",
            unknown.join(", "),
            GRANTED.join(",")
        ));
    }
    let function = |interface: &str, name: &str| {
        let interface = component.get_export_index(None, interface)?;
        component.get_export_index(Some(&interface), name)
    };
    let Some(choose) = function(CHOICE, "choose") else {
        let found: Vec<_> = kind.exports(engine).map(|(name, _)| name).collect();
        return Err(format!(
            "it exports {}, wanted {CHOICE}",
            if found.is_empty() {
                "nothing".to_owned()
            } else {
                found.join(", ")
            }
        ));
    };
    Ok(Exports {
        choose,
        released: function(RELEASES, "released"),
    })
}

/// Whether a policy gets this import. Later versions of 0.1 only add to it,
/// and what is added and used is missed when it is linked.
pub(super) fn is_granted(import: &str) -> bool {
    let Some((interface, version)) = import
        .strip_prefix("wipam:ipam/")
        .and_then(|name| name.split_once('@'))
    else {
        return false;
    };
    let patch = version.strip_prefix("0.1.").unwrap_or_default();
    GRANTED.contains(&interface) && !patch.is_empty() && patch.bytes().all(|b| b.is_ascii_digit())
}

/// Finds what is wrong with a component before anything is compiled.
pub(super) fn check(component: &[u8]) -> Result<(), String> {
    if component.starts_with(MODULE) {
        return Err("it is a module, wanted a component".into());
    }
    if !component.starts_with(PREAMBLE) {
        return Err("it is no component in binary form".into());
    }
    Ok(())
}

/// Magic word, version and layer: of a component, and of a module.
const PREAMBLE: &[u8] = b"\0asm\x0d\0\x01\0";
const MODULE: &[u8] = b"\0asm\x01\0\0\0";

/// Whether a component is composed of several, each with code of its own.
pub(super) fn is_composed(component: &[u8]) -> bool {
    nested_code(component, DEEPEST)
}

/// How deep components are looked into. What is nested deeper may be anything.
const DEEPEST: usize = 16;

fn nested_code(component: &[u8], depth: usize) -> bool {
    let mut nested = sections(component).filter(|(kind, _)| *kind == COMPONENT);
    nested.any(|(_, nested)| {
        depth == 0
            || sections(nested).any(|(kind, _)| matches!(kind, CORE_INSTANCE | CANON))
            || nested_code(nested, depth - 1)
    })
}

const CORE_INSTANCE: u8 = 2;
const COMPONENT: u8 = 4;
const CANON: u8 = 8;

/// The sections of a component, as far as it is one: who compiles it says what
/// is wrong with the rest.
fn sections(component: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = component.get(PREAMBLE.len()..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (kind, behind) = rest.split_first()?;
        let (size, behind) = leb128(behind)?;
        let (section, behind) = behind.split_at_checked(size)?;
        rest = behind;
        Some((*kind, section))
    })
}

/// An unsigned number of 32 bits, and what is behind it.
fn leb128(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut number = 0;
    for (index, byte) in bytes.iter().take(5).enumerate() {
        number |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((number, &bytes[index + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn granted_is_what_is_named_in_any_version_of_0_1() {
        for granted in ["wipam:ipam/types@0.1.0", "wipam:ipam/pool@0.1.12"] {
            assert!(is_granted(granted), "{granted}");
        }
        for unknown in [
            "wipam:ipam/storage@0.1.0",
            "wipam:ipam/pool@0.2.0",
            "wipam:ipam/pool@0.1.0-rc1",
            "wipam:ipam/pool@0.1.",
            "wipam:ipam/pool",
            "wasi:clocks/wall-clock@0.2.0",
            "pool",
        ] {
            assert!(!is_granted(unknown), "{unknown}");
        }
    }

    #[test]
    fn nested_code_is_found_at_any_depth() {
        let section = |kind: u8, body: &[u8]| {
            let low = u8::try_from(body.len() % 128).unwrap_or(0) | 0x80;
            let mut bytes = vec![kind, low, u8::try_from(body.len() / 128).unwrap_or(0)];
            bytes.extend(body);
            bytes
        };
        let component = |sections: &[Vec<u8>]| {
            let mut bytes = b"\0asm\x0d\0\x01\0".to_vec();
            bytes.extend(sections.concat());
            bytes
        };
        let shim = component(&[section(7, b"types"), section(11, b"exports")]);
        let code = component(&[section(1, b"module"), section(CANON, b"lift")]);
        let plain = component(&[
            section(1, b"module"),
            section(CANON, b"lift"),
            section(COMPONENT, &shim),
        ]);
        assert!(!is_composed(&plain));
        let deep = component(&[section(COMPONENT, &component(&[section(COMPONENT, &code)]))]);
        assert!(is_composed(&deep));
        for length in 0..deep.len() {
            is_composed(&deep[..length]);
        }
        let mut endless = component(&[]);
        for _ in 0..DEEPEST + 1 {
            endless = component(&[section(COMPONENT, &endless)]);
        }
        assert!(is_composed(&endless));
    }
}
