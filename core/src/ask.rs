//! Putting the choice of an address to a policy, and checking its answer.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::IpAddr;

use crate::allocate::AllocateError;
use crate::choose::{Chooser, number};
use crate::environment::Environment;
use crate::notes;
use crate::policy::{Answer, Decision, OnFailure, Pod, PolicyFailure, Request, Setting, View};
use crate::pool::{Held, HoldBack};
use crate::range::Range;
use crate::range_set::RangeSet;
use crate::settings::WhenFull;
use crate::store::{Holder, Store, StoreError};

/// Most characters of a policy's words that are passed on.
const LONGEST_REASON: usize = 500;

impl<'a, E: Environment> Chooser<'a, E> {
    /// Puts the choice to a policy. `None`: it is left to the built-in rules.
    pub(crate) fn ask(
        &mut self,
        setting: &Setting,
        index: usize,
        set: &'a RangeSet,
        hold_back: &HoldBack,
    ) -> Result<Option<(IpAddr, &'a Range)>, AllocateError> {
        let request = self.request(setting, index, set, hold_back)?;
        let view = View {
            ranges: set.ranges().to_vec(),
            spans: set.givable(),
            hold_back: hold_back.clone(),
            last_reserved: self.last_reserved(index, set)?,
        };
        let decided = self
            .environment
            .choose(self.store, setting, &request, &view);
        let failure = match decided {
            Ok(Decision { answer, by }) => match answer {
                Answer::YouDecide => {
                    self.note(|| format!("{by} leaves the choice to the built-in strategy"));
                    return Ok(None);
                }
                Answer::Nothing(reason) => {
                    return Err(AllocateError::Denied {
                        set: index,
                        policy: setting.component.clone(),
                        reason: plain(&reason),
                    });
                }
                Answer::Candidates(candidates) => {
                    match self.first_of(set, &candidates, hold_back)? {
                        Ok(found) => {
                            self.note(|| format!("{}: chosen by {by}", found.0));
                            return Ok(Some(found));
                        }
                        Err(fault) => format!("{by} {fault}"),
                    }
                }
            },
            Err(PolicyFailure::Store(cause)) => return Err(cause.into()),
            Err(PolicyFailure::Policy(failure)) => failure,
        };
        match setting.on_failure {
            OnFailure::Deny => Err(AllocateError::Policy {
                set: index,
                failure,
            }),
            OnFailure::BuiltIn => {
                let strategy = self.config.choosing.strategy.name();
                self.environment.warn(&format!(
                    "{failure}; the built-in strategy chooses ({strategy})"
                ));
                Ok(None)
            }
        }
    }

    fn request(
        &mut self,
        setting: &Setting,
        index: usize,
        set: &RangeSet,
        hold_back: &HoldBack,
    ) -> Result<Request, StoreError> {
        let args = &self.config.args;
        let arg = |name: &str| {
            let found = args.iter().rev().find(|(key, _)| key == name);
            found.map(|(_, value)| value.clone())
        };
        let inputs = self.environment.inputs();
        let pod = arg("K8S_POD_NAMESPACE").zip(arg("K8S_POD_NAME"));
        Ok(Request {
            network: self.network.clone(),
            attachment: self.attachment.clone(),
            pod: pod.map(|(namespace, name)| Pod {
                namespace,
                name,
                uid: arg("K8S_POD_UID"),
            }),
            args: args.clone(),
            set: number(index),
            config: setting.config.clone(),
            remembered: self.remembered(set, hold_back)?,
            time_ms: inputs.time_ms,
            seed: inputs.seed,
        })
    }

    /// Reserves the first of a policy's candidates that can be given. What is
    /// taken or held back is passed over, since a policy need not look; what
    /// may not be given at all it could have known.
    fn first_of(
        &mut self,
        set: &'a RangeSet,
        candidates: &[IpAddr],
        hold_back: &HoldBack,
    ) -> Result<Result<(IpAddr, &'a Range), String>, StoreError> {
        let mut passed_over = Vec::new();
        let mut kept = Vec::new();
        let mut cooling = Vec::new();
        for address in candidates.iter().copied() {
            if let Some(rule) = notes::why_not(self.config, set, address) {
                return Ok(Err(format!("answered {address}, which {rule}")));
            }
            match self.store.holder(address)? {
                Holder::Nobody => {}
                Holder::Owner(owner) => {
                    passed_over.push(format!("{address} is held by {owner}"));
                    continue;
                }
                Holder::Foreign => {
                    passed_over.push(format!("a file that is no record has the name {address}"));
                    continue;
                }
            }
            let held = match hold_back.is_off() {
                true => None,
                false => self.store.past(address)?.and_then(|p| hold_back.holds(&p)),
            };
            if let Some(held) = &held {
                passed_over.push(format!("{address} is {held}"));
            }
            match held {
                Some(Held::Kept { .. }) => kept.push(address),
                Some(Held::Cooling { .. }) => cooling.push(address),
                None => {
                    if let Some(range) = self.take(set, address)? {
                        self.note_all(&passed_over);
                        return Ok(Ok((address, range)));
                    }
                    passed_over.push(format!("{address} was taken meanwhile"));
                }
            }
        }
        self.note_all(&passed_over);
        let may_use = self.config.choosing.cooldown.map(|c| c.when_full) == Some(WhenFull::Use);
        let last_resort = cooling.into_iter().filter(|_| may_use);
        for address in kept.into_iter().chain(last_resort) {
            if let Some(range) = self.take(set, address)? {
                return Ok(Ok((address, range)));
            }
        }
        const SHOWN: usize = 3;
        Ok(Err(if passed_over.is_empty() {
            "answered a list without any address".to_string()
        } else {
            let shown = passed_over.iter().take(SHOWN).cloned().collect::<Vec<_>>();
            let more = passed_over.len().saturating_sub(SHOWN);
            let more = match more {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            format!(
                "answered no address that can be given: {}{more}",
                shown.join("; ")
            )
        }))
    }

    fn note_all(&mut self, texts: &[String]) {
        for text in texts {
            self.note(|| text.clone());
        }
    }
}

/// Words of a policy, fit to be printed: one line, and not too long.
fn plain(words: &str) -> String {
    let printable = words.chars().map(|c| if c.is_control() { ' ' } else { c });
    printable.take(LONGEST_REASON).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_policy_are_one_line_of_bounded_length() {
        assert_eq!(plain("a\r\nb\u{9b}31mc"), "a  b 31mc");
        assert_eq!(plain(&"ß".repeat(1000)).chars().count(), LONGEST_REASON);
    }
}
