//! Texts of the case files: placeholders, bytes, and names that count.

use std::fmt::Write;

use serde_json::Value;

use crate::tree::DATA_DIR;

/// `${DATADIR}`, `${PAD:n}` and `${NEST:n}` filled in.
pub(crate) fn expand(text: &str) -> String {
    let text = text.replace("${DATADIR}", DATA_DIR);
    let text = repeat(&text, "${PAD:", |n| "x".repeat(n));
    repeat(&text, "${NEST:", |n| "[".repeat(n) + &"]".repeat(n))
}

fn repeat(text: &str, mark: &str, make: impl Fn(usize) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(mark) {
        let (count, behind) = after.split_once('}').unwrap_or((after, ""));
        out.push_str(before);
        out.push_str(&make(count.parse().unwrap_or(0)));
        rest = behind;
    }
    out + rest
}

/// A value of a case file as bytes: a text, `{"hex": ...}`, or a list of both.
pub(crate) fn bytes(value: &Value) -> Vec<u8> {
    match value {
        Value::Array(parts) => parts.iter().flat_map(bytes).collect(),
        Value::Object(object) => {
            let hex = object
                .get("hex")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let digits: Vec<_> = hex
                .bytes()
                .map(|b| (b as char).to_digit(16).unwrap_or(0))
                .collect();
            digits
                .chunks(2)
                .map(|pair| pair.iter().fold(0, |n, d| n * 16 + *d as u8))
                .collect()
        }
        Value::String(text) => expand(text).into_bytes(),
        _ => Vec::new(),
    }
}

/// Bytes as they stand in a case file.
pub(crate) fn collapse(bytes: &[u8]) -> Value {
    let Ok(text) = std::str::from_utf8(bytes) else {
        let hex = bytes.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        return serde_json::json!({ "hex": hex });
    };
    Value::String(text.replace(DATA_DIR, "${DATADIR}"))
}

/// `name{2..9}` as the eight names it stands for.
pub(crate) fn names(name: &str) -> Vec<String> {
    let span = name
        .strip_suffix('}')
        .and_then(|rest| rest.rsplit_once('{'))
        .and_then(|(stem, span)| Some((stem, span.split_once("..")?)));
    match span {
        Some((stem, (first, last))) => {
            let (first, last) = (first.parse().unwrap_or(1), last.parse::<u32>().unwrap_or(0));
            (first..=last).map(|n| format!("{stem}{n}")).collect()
        }
        None => vec![name.to_owned()],
    }
}
