//! What the component asks of its host.

use std::path::Path;

use wit_component::DecodedWasm;
use wit_parser::{WorldItem, WorldKey};

#[test]
fn imports_and_exports_are_the_golden_ones() {
    let decoded = wit_component::decode(wipam_artifact::COMPONENT).unwrap();
    let DecodedWasm::Component(resolve, world) = decoded else {
        panic!("no component")
    };
    let world = &resolve.worlds[world];
    let line = |way: &str, key: &WorldKey, item: &WorldItem| {
        let kind = match item {
            WorldItem::Interface { .. } => "interface",
            WorldItem::Function(_) => "function",
            WorldItem::Type { .. } => "type",
        };
        format!("{way} {kind} {}\n", resolve.name_world_key(key))
    };
    let mut lines: Vec<_> = world
        .imports
        .iter()
        .map(|(k, i)| line("import", k, i))
        .collect();
    lines.extend(world.exports.iter().map(|(k, i)| line("export", k, i)));
    lines.sort();
    let found = lines.concat();

    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/world.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, &found).unwrap();
    }
    assert_eq!(
        found,
        std::fs::read_to_string(&file).unwrap(),
        "BLESS=1 accepts a change"
    );
    assert!(!found.contains("wasi"));
}
