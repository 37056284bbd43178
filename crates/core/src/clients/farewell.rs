//! A client's `shutdown`. Must not know how it is carried out.

use switchboard_protocol::RawId;

/// A client's `shutdown` request, to be answered once.
#[derive(Debug)]
pub(crate) struct Farewell {
    id: RawId,
    batch: Option<u32>,
    answered: bool,
}

impl Farewell {
    pub(crate) fn new(id: RawId, batch: Option<u32>) -> Self {
        Self { id, batch, answered: false }
    }

    /// Marks it as answered from the start.
    pub(crate) fn answered(self) -> Self {
        Self { answered: true, ..self }
    }

    /// The request, if unanswered; marks it as answered.
    pub(super) fn answer(&mut self) -> Option<(RawId, Option<u32>)> {
        let is_open = !std::mem::replace(&mut self.answered, true);
        is_open.then(|| (self.id.clone(), self.batch))
    }
}
