//! The format of a history: what a line says.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;

use wipam_core::store::LONGEST_KEY;

use crate::moment::Moment;

/// What happened to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Somebody got it.
    Had,
    /// It was released.
    Left,
    /// What the lines before say did not happen, and before them there was
    /// nothing.
    Never,
}

impl Event {
    fn word(self) -> &'static str {
        match self {
            Self::Had => "had",
            Self::Left => "left",
            Self::Never => "never",
        }
    }

    fn parse(word: &[u8]) -> Option<Self> {
        match word {
            b"had" => Some(Self::Had),
            b"left" => Some(Self::Left),
            b"never" => Some(Self::Never),
            _ => None,
        }
    }
}

/// What a line says of its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) event: Event,
    pub(crate) moment: Moment,
    /// When the address was given to the key, where there is one.
    pub(crate) given: Option<Moment>,
    pub(crate) key: Option<String>,
}

/// A line that was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) address: IpAddr,
    pub(super) event: Event,
    pub(super) moment: Moment,
    /// Where in the line the key is: of most, nobody asks.
    pub(super) key: Option<Range<usize>>,
}

/// Stands for no key. One that begins with it is written with another.
const NONE: u8 = b'-';

/// Whether a text can be a key.
pub(crate) fn is_key(text: &str) -> bool {
    let fits = |c: char| !c.is_whitespace() && !c.is_control();
    !text.is_empty() && text.len() <= LONGEST_KEY && text.chars().all(fits)
}

/// Writes a line.
pub(super) fn render(
    output: &mut String,
    address: IpAddr,
    event: Event,
    moment: Moment,
    key: Option<&str>,
) {
    let Moment {
        boot,
        since_boot_ms,
    } = moment;
    let word = event.word();
    // Writing to a string does not fail.
    let _ = write!(output, "{address} {word} {boot:016x} {since_boot_ms} ");
    match key {
        None => output.push(NONE.into()),
        Some(key) => {
            if key.as_bytes().first() == Some(&NONE) {
                output.push(NONE.into());
            }
            output.push_str(key);
        }
    }
    output.push('\n');
}

/// Reads lines, of which one after another has the same boot.
#[derive(Debug, Default)]
pub(super) struct Reader {
    boot: Option<([u8; 16], u64)>,
}

/// A line is read once, byte by byte, and as few times as possible: all of a
/// large history is read at every call.
impl Reader {
    /// Reads the first line and tells how long it is, without its end; what
    /// it says is `None` if it is none. `None` where it has no end.
    pub(super) fn read(&mut self, text: &[u8]) -> Option<(Option<Line>, usize)> {
        let mut rest = text;
        let Some((address, event, moment)) = self.head(&mut rest) else {
            return Some((None, up_to_end(text)?));
        };
        let start = text.len() - rest.len();
        let mut end = start + graphic(rest);
        let mut is_fine = (1..=LONGEST_KEY + 1).contains(&(end - start));
        if text.get(end) != Some(&b'\n') {
            end += up_to_end(text.get(end..)?)?;
            let key = std::str::from_utf8(text.get(start..end)?);
            is_fine = key.is_ok_and(|key| is_key(key.strip_prefix('-').unwrap_or(key)));
        }
        let key = match text.get(start..end)? {
            [NONE] => None,
            [NONE, NONE, ..] => Some(start + 1..end),
            [NONE, ..] => return Some((None, end)),
            _ => Some(start..end),
        };
        let is_fine = is_fine && key.as_ref().is_none_or(|key| key.len() <= LONGEST_KEY);
        let line = Line {
            address,
            event,
            moment,
            key,
        };
        Some((is_fine.then_some(line), end))
    }

    fn head(&mut self, rest: &mut &[u8]) -> Option<(IpAddr, Event, Moment)> {
        let address = address(field(rest)?)?;
        let event = Event::parse(field(rest)?)?;
        let boot = self.boot(field(rest)?)?;
        let since_boot_ms = number(field(rest)?)?;
        let moment = Moment {
            boot,
            since_boot_ms,
        };
        Some((address, event, moment))
    }

    fn boot(&mut self, digits: &[u8]) -> Option<u64> {
        let digits: [u8; 16] = digits.try_into().ok()?;
        if let Some((known, boot)) = self.boot
            && known == digits
        {
            return Some(boot);
        }
        let boot = digits.iter().try_fold(0, |number, digit| {
            let digit = char::from(*digit).to_digit(16)?;
            Some(number << 4 | u64::from(digit))
        })?;
        self.boot = Some((digits, boot));
        Some(boot)
    }
}

/// Takes what comes before the next blank. None is longer than an address.
fn field<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().take(48).position(|byte| *byte == b' ')?;
    let field = rest.get(..end)?;
    *rest = rest.get(end + 1..)?;
    Some(field)
}

fn up_to_end(text: &[u8]) -> Option<usize> {
    text.iter().position(|byte| *byte == b'\n')
}

/// How many bytes at the beginning are ASCII and neither blanks nor control
/// characters; eight at a time.
fn graphic(text: &[u8]) -> usize {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = EACH << 7;
    let mut length = 0;
    while let Some(eight) = text.get(length..).and_then(<[u8]>::first_chunk::<8>) {
        let eight = u64::from_le_bytes(*eight);
        // The high bit of each byte that is below 0x21, or above 0x7e.
        let low = eight.wrapping_sub(EACH * 0x21) & !eight;
        let high = eight.wrapping_add(EACH) | eight;
        if (low | high) & HIGH != 0 {
            break;
        }
        length += 8;
    }
    let tail = text.get(length..).unwrap_or_default();
    let end = tail.iter().position(|byte| !byte.is_ascii_graphic());
    length + end.unwrap_or(tail.len())
}

fn address(text: &[u8]) -> Option<IpAddr> {
    match ipv4(text) {
        Some(v4) => Some(IpAddr::V4(v4)),
        None => std::str::from_utf8(text).ok()?.parse().ok(),
    }
}

/// By hand: most lines of a large history are of these.
fn ipv4(text: &[u8]) -> Option<Ipv4Addr> {
    let (mut bits, mut octet, mut digits, mut dots) = (0, 0, 0, 0);
    for byte in text {
        match byte {
            b'0'..=b'9' if digits < 3 => {
                octet = octet * 10 + u32::from(byte - b'0');
                digits += 1;
            }
            b'.' if digits > 0 && octet < 256 && dots < 3 => {
                bits = bits << 8 | octet;
                (octet, digits) = (0, 0);
                dots += 1;
            }
            _ => return None,
        }
    }
    (dots == 3 && digits > 0 && octet < 256).then(|| Ipv4Addr::from_bits(bits << 8 | octet))
}

fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        number.checked_mul(10)?.checked_add(digit.into())
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn parse(line: &[u8]) -> Option<Line> {
        let text = [line, b"\nmore"].concat();
        let (read, length) = Reader::default().read(&text).unwrap();
        assert_eq!(
            length,
            line.iter().take_while(|byte| **byte != b'\n').count()
        );
        assert_eq!(Reader::default().read(line), None, "no end");
        read
    }

    fn read(line: &str) -> Option<(IpAddr, Note)> {
        let parsed = parse(line.as_bytes())?;
        let note = Note {
            event: parsed.event,
            moment: parsed.moment,
            given: None,
            key: parsed.key.map(|key| line.get(key).unwrap().to_owned()),
        };
        Some((parsed.address, note))
    }

    #[test]
    fn what_is_written_is_read() {
        let moment = Moment {
            boot: 0x0123_4567_89ab_cdef,
            since_boot_ms: 86_400_123,
        };
        for address in [
            "10.1.2.3",
            "0.0.0.0",
            "255.255.255.255",
            "2001:db8::5",
            "::",
        ] {
            for event in [Event::Had, Event::Left, Event::Never] {
                for key in [None, Some("ns/web-0"), Some("-"), Some("--"), Some("-é")] {
                    let address = address.parse().unwrap();
                    let mut text = String::new();
                    render(&mut text, address, event, moment, key);
                    let note = Note {
                        event,
                        moment,
                        given: None,
                        key: key.map(str::to_owned),
                    };
                    let line = text.strip_suffix('\n').unwrap();
                    assert_eq!(read(line), Some((address, note)), "{text}");
                }
            }
        }
        let mut text = String::new();
        render(
            &mut text,
            "10.1.2.3".parse().unwrap(),
            Event::Left,
            moment,
            Some("ns/web-0"),
        );
        assert_eq!(text, "10.1.2.3 left 0123456789abcdef 86400123 ns/web-0\n");
    }

    #[test]
    fn what_is_no_line_is_none() {
        let good = "10.1.2.3 had 0123456789abcdef 5 k";
        assert!(parse(good.as_bytes()).is_some());
        for end in 0..good.len() {
            assert_eq!(parse(&good.as_bytes()[..end]), None, "{end}");
        }
        let long = format!("10.1.2.3 had 0123456789abcdef 5 {}", "x".repeat(513));
        for line in [
            "10.1.2 had 0123456789abcdef 5 k",
            "10.1.2.256 had 0123456789abcdef 5 k",
            "10.1.2.3.4 had 0123456789abcdef 5 k",
            "10.1.2. had 0123456789abcdef 5 k",
            "::g had 0123456789abcdef 5 k",
            "10.1.2.3 has 0123456789abcdef 5 k",
            "10.1.2.3 had 0123456789abcdeg 5 k",
            "10.1.2.3 had 0123456789abcde 5 k",
            "10.1.2.3 had 0123456789abcdef -5 k",
            "10.1.2.3 had 0123456789abcdef 5x k",
            "10.1.2.3 had 0123456789abcdef 18446744073709551616 k",
            "10.1.2.3 had 0123456789abcdef 5 k k",
            "10.1.2.3 had 0123456789abcdef 5 k\r",
            "10.1.2.3 had 0123456789abcdef 5 -k",
            "10.1.2.3 had 0123456789abcdef 5 \u{a0}",
            "10.1.2.3  had 0123456789abcdef 5 k",
            long.as_str(),
            "",
            "    ",
        ] {
            assert_eq!(parse(line.as_bytes()), None, "{line:?}");
        }
        let mut bytes = good.as_bytes().to_vec();
        bytes.push(0xff);
        assert_eq!(parse(&bytes), None);
    }

    #[test]
    fn every_byte_is_looked_at() {
        let graphic: Vec<u8> = (0x21..=0x7e).collect();
        for offset in 0..graphic.len() {
            let text = &graphic[offset..];
            assert_eq!(super::graphic(text), text.len());
        }
        for at in 0..20 {
            for byte in (0..=0x20).chain(0x7f..=0xff) {
                let mut text = vec![b'~'; 20];
                text[at] = byte;
                assert_eq!(super::graphic(&text), at, "{byte}");
            }
        }
    }

    #[test]
    fn keys_are_one_word() {
        for key in ["a", "-", "ns/web-0", "é", &"x".repeat(LONGEST_KEY)] {
            assert!(is_key(key), "{key}");
        }
        for key in [
            "",
            "a b",
            "a\n",
            "\u{2003}",
            "\u{7f}",
            &"x".repeat(LONGEST_KEY + 1),
        ] {
            assert!(!is_key(key), "{key:?}");
        }
    }
}
