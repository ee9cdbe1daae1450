//! Rules of iptables, as `iptables -S` prints them and iptables-restore reads
//! them.

use std::fmt;

use ipnet::IpNet;

/// As much of a rule as those of the plugins have.
#[derive(Clone, Debug, Default)]
pub(super) struct Rule {
    pub(super) chain: String,
    pub(super) source: Option<IpNet>,
    pub(super) destination: Option<Destination>,
    /// Only packets that belong to no connection.
    pub(super) invalid: bool,
    pub(super) comment: String,
    pub(super) target: String,
    /// The words after the chain, if somebody else wrote it: to delete a rule,
    /// one repeats all of it.
    pub(super) printed: Option<String>,
    /// It says more than the fields do.
    pub(super) more: bool,
}

/// Where packets go, or do not go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    In(IpNet),
    NotIn(IpNet),
}

impl PartialEq for Rule {
    /// Whether they do the same.
    fn eq(&self, other: &Self) -> bool {
        !self.more
            && !other.more
            && self.chain == other.chain
            && self.source == other.source
            && self.destination == other.destination
            && self.invalid == other.invalid
            && self.comment == other.comment
            && self.target == other.target
    }
}

impl Rule {
    /// Reads what follows `-A `.
    pub(super) fn read(printed: &str) -> Self {
        let (chain, rest) = printed.split_once(' ').unwrap_or((printed, ""));
        let mut rule = Self {
            chain: chain.to_owned(),
            printed: Some(rest.to_owned()),
            ..Self::default()
        };
        let words = words(rest);
        let mut words = words.iter().map(String::as_str);
        let mut not = false;
        while let Some(word) = words.next() {
            let mut known = true;
            match word {
                "!" => {
                    not = true;
                    continue;
                }
                "-s" if !not => {
                    rule.source = words.next().and_then(network);
                    known = rule.source.is_some();
                }
                "-d" => {
                    let found = words.next().and_then(network);
                    known = found.is_some();
                    rule.destination = found.map(if not {
                        Destination::NotIn
                    } else {
                        Destination::In
                    });
                }
                "-m" if !not => known = matches!(words.next(), Some("comment" | "conntrack")),
                "--comment" if !not => rule.comment = words.next().unwrap_or("").to_owned(),
                "--ctstate" if !not && !rule.invalid => {
                    rule.invalid = words.next() == Some("INVALID");
                    known = rule.invalid;
                }
                "-j" if !not => rule.target = words.next().unwrap_or("").to_owned(),
                _ => known = false,
            }
            not = false;
            rule.more |= !known;
        }
        rule
    }

    /// Everything but the chain.
    fn words(&self) -> String {
        if let Some(printed) = &self.printed {
            return printed.clone();
        }
        let mut text = String::new();
        if let Some(source) = self.source {
            text += &format!("-s {source} ");
        }
        match self.destination {
            Some(Destination::In(net)) => text += &format!("-d {net} "),
            Some(Destination::NotIn(net)) => text += &format!("! -d {net} "),
            None => {}
        }
        if self.invalid {
            text += "-m conntrack --ctstate INVALID ";
        }
        let comment = self.comment.replace('\\', "\\\\").replace('"', "\\\"");
        text + &format!("-m comment --comment \"{comment}\" -j {}", self.target)
    }

    /// The line that adds it at the end.
    pub(super) fn append(&self) -> String {
        format!("-A {self}")
    }

    /// The line that adds it at the beginning.
    pub(super) fn insert(&self) -> String {
        format!("-I {self}")
    }

    /// The line that removes it.
    pub(super) fn delete(&self) -> String {
        format!("-D {self}")
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.chain, self.words())
    }
}

fn network(text: &str) -> Option<IpNet> {
    text.parse()
        .ok()
        .or_else(|| Some(text.parse::<std::net::IpAddr>().ok()?.into()))
}

/// The words of a line, in which quotes keep spaces and a backslash keeps the
/// next character.
pub(super) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match c {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '\\' => word.get_or_insert_default().extend(characters.next()),
            ' ' if !quoted => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const JUMP: &str = "POSTROUTING -s 192.0.2.2/32 -m comment --comment \
        \"name: \\\"net1\\\" id: \\\"c\\\"\" -j CNI-a";

    #[test]
    fn what_is_written_is_what_is_read() {
        let rule = Rule {
            chain: "FORWARD".into(),
            source: Some("2001:db8::2/128".parse().unwrap()),
            destination: Some(Destination::NotIn("2001:db8::/64".parse().unwrap())),
            invalid: true,
            comment: "name: \"net1\" id: \"c\\\"".into(),
            target: "DROP".into(),
            ..Rule::default()
        };
        let read = Rule::read(&rule.to_string());
        assert_eq!(read, rule);
        assert_eq!(read.to_string(), rule.to_string());
    }

    #[test]
    fn rules_of_others_are_kept_as_printed() {
        let rule = Rule::read(JUMP);
        assert_eq!(rule.comment, "name: \"net1\" id: \"c\"");
        assert_eq!(rule.delete(), format!("-D {JUMP}"));
        for more in ["! -s 192.0.2.2/32", "-p tcp", "-m conntrack --ctstate NEW"] {
            let other = Rule::read(&JUMP.replace("-s 192.0.2.2/32", more));
            assert_ne!(other, other.clone(), "{more}");
        }
    }
}
