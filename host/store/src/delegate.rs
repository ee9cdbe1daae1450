//! Stores that are a ledger and something that lives as long.

/// Makes a type a [`Store`](wipam_core::store::Store) that does what its field `ledger` does.
macro_rules! store_by_ledger {
    ($type:ty) => {
        const _: () = {
            use std::net::IpAddr;

            use wipam_core::names::{Attachment, ContainerId};
            use wipam_core::range::Span;
            use wipam_core::store::{Holder, Owner, Reservation, Store, StoreError};

            impl Store for $type {
                fn held_by(
                    &mut self,
                    container: &ContainerId,
                ) -> Result<Vec<Reservation>, StoreError> {
                    self.ledger.held_by(container)
                }
                fn holder(&mut self, address: IpAddr) -> Result<Holder, StoreError> {
                    self.ledger.holder(address)
                }
                fn next_free(&mut self, span: Span) -> Result<Option<IpAddr>, StoreError> {
                    self.ledger.next_free(span)
                }
                fn reserve(
                    &mut self,
                    address: IpAddr,
                    owner: &Attachment,
                ) -> Result<bool, StoreError> {
                    self.ledger.reserve(address, owner)
                }
                fn release(&mut self, address: IpAddr, owner: &Owner) -> Result<bool, StoreError> {
                    self.ledger.release(address, owner)
                }
                fn last_reserved(&mut self, index: u32) -> Result<Option<IpAddr>, StoreError> {
                    self.ledger.last_reserved(index)
                }
                fn all_last_reserved(&mut self) -> Result<Vec<IpAddr>, StoreError> {
                    self.ledger.all_last_reserved()
                }
                fn set_last_reserved(&mut self, index: u32, to: IpAddr) -> Result<(), StoreError> {
                    self.ledger.set_last_reserved(index, to)
                }
                fn reservations(
                    &mut self,
                    after: Option<IpAddr>,
                ) -> Result<Vec<Reservation>, StoreError> {
                    self.ledger.reservations(after)
                }
                fn reclaim(&mut self) -> Result<Vec<IpAddr>, StoreError> {
                    self.ledger.reclaim()
                }
            }
        };
    };
}
pub(crate) use store_by_ledger;
