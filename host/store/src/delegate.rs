//! Stores that are a ledger and something that lives as long.

/// Makes a type a [`Store`](wipam_core::store::Store) that does what its shared
/// field `ledger` does.
macro_rules! store_by_ledger {
    ($type:ty) => {
        const _: () = {
            use std::net::IpAddr;

            use wipam_core::names::{Attachment, ContainerId};
            use wipam_core::span::Span;
            use wipam_core::store::{
                Holder, Owner, Past, PolicyState, Reservation, Store, StoreError,
            };

            impl Store for $type {
                fn held_by(
                    &mut self,
                    container: &ContainerId,
                ) -> Result<Vec<Reservation>, StoreError> {
                    self.ledger.borrow_mut().held_by(container)
                }
                fn holder(&mut self, address: IpAddr) -> Result<Holder, StoreError> {
                    self.ledger.borrow_mut().holder(address)
                }
                fn next_free(&mut self, span: Span) -> Result<Option<IpAddr>, StoreError> {
                    self.ledger.borrow_mut().next_free(span)
                }
                fn reserve(
                    &mut self,
                    address: IpAddr,
                    owner: &Attachment,
                ) -> Result<bool, StoreError> {
                    self.ledger.borrow_mut().reserve(address, owner)
                }
                fn release(&mut self, address: IpAddr, owner: &Owner) -> Result<bool, StoreError> {
                    self.ledger.borrow_mut().release(address, owner)
                }
                fn last_reserved(&mut self, index: u32) -> Result<Option<IpAddr>, StoreError> {
                    self.ledger.borrow_mut().last_reserved(index)
                }
                fn all_last_reserved(&mut self) -> Result<Vec<IpAddr>, StoreError> {
                    self.ledger.borrow_mut().all_last_reserved()
                }
                fn set_last_reserved(&mut self, index: u32, to: IpAddr) -> Result<(), StoreError> {
                    self.ledger.borrow_mut().set_last_reserved(index, to)
                }
                fn reservations(
                    &mut self,
                    after: Option<IpAddr>,
                ) -> Result<Vec<Reservation>, StoreError> {
                    self.ledger.borrow_mut().reservations(after)
                }
                fn reclaim(&mut self) -> Result<Vec<IpAddr>, StoreError> {
                    self.ledger.borrow_mut().reclaim()
                }
                fn next_unused(&mut self, span: Span) -> Result<Option<IpAddr>, StoreError> {
                    self.ledger.borrow_mut().next_unused(span)
                }
                fn past(&mut self, address: IpAddr) -> Result<Option<Past>, StoreError> {
                    self.ledger.borrow_mut().past(address)
                }
                fn released(&mut self, skip: u32) -> Result<Vec<Past>, StoreError> {
                    self.ledger.borrow_mut().released(skip)
                }
                fn remembered(&mut self, key: &str) -> Result<Option<IpAddr>, StoreError> {
                    self.ledger.borrow_mut().remembered(key)
                }
                fn remember(&mut self, address: IpAddr, key: &str) -> Result<(), StoreError> {
                    self.ledger.borrow_mut().remember(address, key)
                }
                fn keep_state(&mut self) -> Result<(), StoreError> {
                    self.ledger.borrow_mut().keep_state()
                }
            }

            impl PolicyState for $type {
                fn policy_state(&mut self) -> Result<Vec<u8>, StoreError> {
                    self.ledger.borrow_mut().policy_state()
                }
                fn set_policy_state(&mut self, bytes: Vec<u8>) {
                    self.ledger.borrow_mut().set_policy_state(bytes);
                }
            }
        };
    };
}
pub(crate) use store_by_ledger;
