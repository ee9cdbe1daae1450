//! What a policy says, within bounds.

/// Most lines that are kept of one decision.
const MOST_LINES: usize = 100;

/// Most bytes of a text that are kept.
pub(super) const LONGEST: usize = 1024;

/// Lines of one decision. They are told when it is over: a policy that says
/// something does not wait for whoever reads it.
#[derive(Debug, Default)]
pub(super) struct Log {
    lines: Vec<String>,
    dropped: usize,
}

impl Log {
    pub(super) fn write(&mut self, message: String) {
        if self.lines.len() < MOST_LINES {
            self.lines.push(one_line(message));
        } else {
            self.dropped += 1;
        }
    }

    pub(super) fn tell(self, mut to: impl FnMut(&str)) {
        for line in &self.lines {
            to(line);
        }
        if self.dropped > 0 {
            to(&format!(
                "{} more lines, beyond {MOST_LINES}, are dropped",
                self.dropped
            ));
        }
    }
}

/// A text of a policy as people may see it: short, and in one line, so that
/// none of it can pass for a line of somebody else's.
pub(super) fn one_line(mut text: String) -> String {
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push_str(" ...");
    }
    if text.contains(char::is_control) {
        text = text.replace(char::is_control, " ");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(messages: impl IntoIterator<Item = String>) -> Vec<String> {
        let mut log = Log::default();
        messages.into_iter().for_each(|message| log.write(message));
        let mut lines = Vec::new();
        log.tell(|line| lines.push(line.to_owned()));
        lines
    }

    #[test]
    fn a_message_is_one_line() {
        let forged = "all is well\nwipam: all is lost\x1b[2J".to_owned();
        assert_eq!(told([forged]), ["all is well wipam: all is lost [2J"]);
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let [line] = &told(["ü".repeat(600) + "x"])[..] else {
            unreachable!("one message, one line")
        };
        assert_eq!(*line, "ü".repeat(512) + " ...");
    }

    #[test]
    fn lines_beyond_the_bound_are_counted() {
        let lines = told((0..1000).map(|n| n.to_string()));
        assert_eq!(lines.len(), 101);
        assert_eq!(lines[100], "900 more lines, beyond 100, are dropped");
    }
}
