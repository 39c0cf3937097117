//! The record of a call: found once, judged, and looked at again. Reads the record alone, beneath the pinned root.

use crate::broker::Broker;
use crate::capability::workspace::{self, Found, RecordBytes, SearchFault};
use crate::foundation::path::RelativePath;
use crate::foundation::refusal::{Reason, Refusal, Stage};
use crate::system::System;

/// The nearest record, as first read.
pub(super) struct FoundRecord<S: System> {
    pub(super) place: Found<S>,
    pub(super) bytes: RecordBytes,
}

impl<S: System> Broker<S> {
    /// The nearest record from `start` up to the root, read once; `None` if there is none.
    pub(super) fn find_record(&self, start: &RelativePath) -> Result<Option<FoundRecord<S>>, Refusal> {
        let root = self.root.handle();
        let found = workspace::nearest_record(&self.system, root, start).map_err(|fault| match fault {
            SearchFault::KdnaDirectory => Reason::KdnaDirectoryInvalid,
            SearchFault::Directory(_) => Reason::CwdUnavailable,
            SearchFault::RecordFile | SearchFault::Uninspectable(_) => Reason::RecordFileInvalid,
        })?;
        let Some(place) = found else { return Ok(None) };
        let here = RelativePath::default();
        let bytes = workspace::read_served_record(&self.system, &place.directory, &here);
        let bytes = bytes.map_err(|_| Reason::RecordFileInvalid)?;
        if self.hardened && !workspace::is_own_record(&self.system, &place.directory, &here, &bytes) {
            return Err(Reason::RecordNotOwn.into());
        }
        Ok(Some(FoundRecord { place, bytes }))
    }

    /// A record found in a home directory is no project authority.
    pub(super) fn guard_home(&self, found: &FoundRecord<S>) -> Result<(), Refusal> {
        if self.homes.is_home(found.place.identity) { Err(Reason::RecordInHome.into()) } else { Ok(()) }
    }

    /// The record at its place beneath the pinned root still has the bytes first read. It is looked up anew from the
    /// root: a replaced directory is a change too.
    pub(super) fn record_unchanged(&self, found: &FoundRecord<S>, stage: Stage) -> Result<(), Refusal> {
        let now = workspace::read_served_record(&self.system, self.root.handle(), &found.place.workspace);
        match now {
            Ok(now) if now.digest == found.bytes.digest && self.accepts(found, &now) => Ok(()),
            _ => Err(Refusal::new(Reason::RecordChanged).at(stage)),
        }
    }

    /// Whether a record that was read again is still one that hardened mode accepts.
    fn accepts(&self, found: &FoundRecord<S>, now: &RecordBytes) -> bool {
        let (root, workspace) = (self.root.handle(), &found.place.workspace);
        !self.hardened || workspace::is_own_record(&self.system, root, workspace, now)
    }
}
