//! The progress of asking a backend for its lists.

use crate::catalogue::{List, Naming};
use crate::moment::Moment;
use bytes::Bytes;
use std::sync::Arc;

/// A backend is asked for its lists, is about to be, or was a moment ago.
#[derive(Debug)]
pub(crate) struct ListFetch {
    pub(crate) round: u32,
    pub(crate) stage: FetchStage,
    /// These have changed since they were asked for.
    pub(crate) again: Vec<List>,
    /// These could not be had this time.
    pub(crate) failed: Vec<List>,
}

#[derive(Debug)]
pub(crate) enum FetchStage {
    Asking([ListProgress; 4]),
    /// Everything is there, and being made out, under this naming.
    Reading(Arc<Naming>),
    /// Nothing is asked for until then.
    Resting {
        until: Moment,
    },
}

/// How far one list has come.
#[derive(Debug)]
pub(crate) enum ListProgress {
    /// It is not offered, or not to be had.
    Absent,
    /// As it was.
    Unchanged,
    Asked(Vec<Bytes>),
    Done(Vec<Bytes>),
}

impl ListFetch {
    /// It has been asked, and has yet to answer.
    pub(crate) fn is_under_way(&self) -> bool {
        match self.stage {
            FetchStage::Asking(_) | FetchStage::Reading(_) => true,
            FetchStage::Resting { .. } => false,
        }
    }

    /// When it goes on by itself.
    pub(crate) fn due(&self) -> Option<Moment> {
        match self.stage {
            FetchStage::Resting { until } if !self.again.is_empty() => Some(until),
            FetchStage::Resting { .. } | FetchStage::Asking(_) | FetchStage::Reading(_) => None,
        }
    }
}
