//! Who is alive, and what they hold: what a runtime knows, and what the pool
//! has that no runtime knows of any more.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;

/// A container's interface.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) container: String,
    pub(crate) interface: String,
}

/// An attachment that was ADDed and is alive.
#[derive(Clone, Debug)]
struct Attachment {
    /// Tells it from others that were called the same.
    number: u32,
    /// What its ADD was answered.
    result: String,
    addresses: Vec<IpAddr>,
}

/// The account.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    attachments: BTreeMap<Key, Attachment>,
    /// Who holds an address: the number of an attachment that is alive, or
    /// nobody who is.
    reserved: BTreeMap<IpAddr, Option<u32>>,
    /// How many of those are held by somebody who is alive.
    in_use: usize,
    numbers: u32,
}

impl Account {
    /// Addresses that are reserved.
    pub(crate) fn reserved(&self) -> usize {
        self.reserved.len()
    }

    /// How many of them nobody has who is alive.
    pub(crate) fn stale(&self) -> usize {
        self.reserved.len() - self.in_use
    }

    /// What the last ADD of an attachment was answered.
    pub(crate) fn result(&self, key: &Key) -> Option<&str> {
        Some(&self.attachments.get(key)?.result)
    }

    /// Those that are alive.
    pub(crate) fn alive(&self) -> impl Iterator<Item = &Key> {
        self.attachments.keys()
    }

    /// An ADD succeeded.
    pub(crate) fn added(&mut self, key: Key, result: String, reserved: &[IpAddr]) {
        // Twice the same ADD: what it had it still has.
        let mut attachment = self.attachments.remove(&key).unwrap_or_else(|| {
            self.numbers = self.numbers.wrapping_add(1);
            Attachment {
                number: self.numbers,
                result: String::new(),
                addresses: Vec::new(),
            }
        });
        attachment.result = result;
        for address in reserved {
            if let Some(holder) = self.reserved.get_mut(address) {
                self.in_use += usize::from(holder.is_none());
                *holder = Some(attachment.number);
            }
            attachment.addresses.push(*address);
        }
        self.attachments.insert(key, attachment);
    }

    /// Addresses became reserved, whoever has them.
    pub(crate) fn reserve(&mut self, addresses: &[IpAddr]) {
        for address in addresses {
            self.reserved.entry(*address).or_default();
        }
    }

    /// Addresses became free.
    pub(crate) fn release(&mut self, addresses: &[IpAddr]) {
        for address in addresses {
            if let Some(Some(_)) = self.reserved.remove(address) {
                self.in_use -= 1;
            }
        }
    }

    /// An attachment is gone. What is still reserved for it is stale.
    pub(crate) fn gone(&mut self, key: &Key) {
        let Some(attachment) = self.attachments.remove(key) else {
            return;
        };
        for address in attachment.addresses {
            if let Some(holder) = self.reserved.get_mut(&address)
                && *holder == Some(attachment.number)
            {
                *holder = None;
                self.in_use -= 1;
            }
        }
    }

    /// All of them are.
    pub(crate) fn all_gone(&mut self) {
        self.attachments.clear();
        self.reserved.values_mut().for_each(|holder| *holder = None);
        self.in_use = 0;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn key(container: &str) -> Key {
        Key {
            container: container.into(),
            interface: "eth0".into(),
        }
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn add(account: &mut Account, container: &str, last: u8) {
        account.reserve(&[address(last)]);
        account.added(key(container), container.into(), &[address(last)]);
    }

    #[test]
    fn what_the_dead_hold_is_stale() {
        let mut account = Account::default();
        account.reserve(&[address(9)]);
        add(&mut account, "a", 2);
        add(&mut account, "b", 3);
        assert_eq!((account.reserved(), account.stale()), (3, 1));
        account.gone(&key("a"));
        assert_eq!((account.reserved(), account.stale()), (3, 2));
        account.all_gone();
        assert_eq!((account.reserved(), account.stale()), (3, 3));
        account.release(&[address(2), address(3), address(9)]);
        assert_eq!((account.reserved(), account.stale()), (0, 0));
    }

    #[test]
    fn an_address_goes_with_whoever_has_it_now() {
        let mut account = Account::default();
        add(&mut account, "a", 2);
        // Freed under a's feet, and given to b.
        account.release(&[address(2)]);
        add(&mut account, "b", 2);
        account.gone(&key("a"));
        assert_eq!((account.reserved(), account.stale()), (1, 0));
        let alive: Vec<_> = account.alive().cloned().collect();
        assert_eq!(alive, vec![key("b")]);
        assert_eq!(account.result(&key("b")), Some("b"));
    }
}
