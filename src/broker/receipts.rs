//! Which one-task selections were delivered, for the life of the process: a selection is for one task, once. Holds digests
//! and checked identifiers only; forgets nothing, and refuses when it is full.

use crate::foundation::digest::Digest;
use crate::foundation::limits;
use crate::foundation::path::RelativePath;
use crate::foundation::refusal::{Reason, Refusal};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a selection was used for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Receipt {
    /// The workspace below the root.
    pub(super) workspace: RelativePath,
    /// The attachment chosen.
    pub(super) attachment: String,
    /// The task's own digest, not the one that was claimed.
    pub(super) task: Digest,
    /// The plan it was chosen from, where one was given.
    pub(super) plan: Option<Digest>,
    /// The record as first read.
    pub(super) record: Digest,
}

impl Receipt {
    /// Whether both are one and the same use. Leaving the plan out does not make another one of it.
    fn is_same(&self, other: &Self) -> bool {
        let same_plan = self.plan.is_none() || other.plan.is_none() || self.plan == other.plan;
        let same = |receipt: &Self| (receipt.task, receipt.record);
        same_plan
            && same(self) == same(other)
            && self.attachment == other.attachment
            && self.workspace == other.workspace
    }
}

/// The receipts of one broker: delivered ones, and those of loads under way.
#[derive(Clone, Default)]
pub(super) struct Receipts(Arc<Mutex<Vec<Receipt>>>);

impl Receipts {
    /// Holds a receipt for a load under way, so that no second load can use it meanwhile. Refuses with `selection_spent`
    /// or, at [`limits::RECEIPTS`], `selections_full`.
    pub(super) fn reserve(&self, receipt: Receipt) -> Result<Reservation, Refusal> {
        let mut held = self.held();
        if held.iter().any(|other| other.is_same(&receipt)) {
            return Err(Reason::SelectionSpent.into());
        }
        if held.len() >= limits::RECEIPTS {
            return Err(Reason::SelectionsFull.into());
        }
        held.push(receipt.clone());
        Ok(Reservation { receipts: self.clone(), receipt, spent: false })
    }

    fn held(&self) -> MutexGuard<'_, Vec<Receipt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A receipt of a load under way. Dropped without a delivery, it may be used again.
pub(super) struct Reservation {
    receipts: Receipts,
    receipt: Receipt,
    spent: bool,
}

impl Reservation {
    /// The load was delivered: the receipt is spent for good.
    pub(super) fn spend(mut self) {
        self.spent = true;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.spent {
            self.receipts.held().retain(|other| *other != self.receipt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt(task: &str, plan: Option<&str>) -> Receipt {
        Receipt {
            workspace: RelativePath::default(),
            attachment: "att_000000000000000000000001".to_owned(),
            task: Digest::of(task.as_bytes()),
            plan: plan.map(|plan| Digest::of(plan.as_bytes())),
            record: Digest::of(b"record"),
        }
    }

    fn refused(receipts: &Receipts, receipt: Receipt) -> Option<Reason> {
        receipts.reserve(receipt).err().map(|refusal| refusal.reason())
    }

    #[test]
    fn a_receipt_is_free_again_only_if_nothing_was_delivered() {
        let receipts = Receipts::default();
        let first = receipts.reserve(receipt("t", Some("p"))).unwrap();
        assert_eq!(refused(&receipts, receipt("t", Some("p"))), Some(Reason::SelectionSpent), "in use");
        drop(first);
        receipts.reserve(receipt("t", Some("p"))).unwrap().spend();
        assert_eq!(refused(&receipts, receipt("t", Some("p"))), Some(Reason::SelectionSpent));
        assert_eq!(refused(&receipts, receipt("t", None)), Some(Reason::SelectionSpent), "the plan left out");
        let elsewhere = RelativePath::parse("sub").unwrap();
        for other in [
            receipt("u", Some("p")),
            receipt("t", Some("q")),
            Receipt { record: Digest::of(b"other"), ..receipt("t", Some("p")) },
            Receipt { attachment: "att_000000000000000000000002".to_owned(), ..receipt("t", Some("p")) },
            Receipt { workspace: elsewhere, ..receipt("t", Some("p")) },
        ] {
            assert_eq!(refused(&receipts, other), None);
        }
    }

    #[test]
    fn when_full_it_refuses_rather_than_forgets() {
        let receipts = Receipts::default();
        for number in 0..limits::RECEIPTS {
            receipts.reserve(receipt(&number.to_string(), None)).unwrap().spend();
        }
        assert_eq!(refused(&receipts, receipt("one more", None)), Some(Reason::SelectionsFull));
        assert_eq!(refused(&receipts, receipt("0", None)), Some(Reason::SelectionSpent), "the first is remembered");
    }
}
