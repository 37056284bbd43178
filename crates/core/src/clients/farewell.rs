//! A client's `shutdown`.

use switchboard_protocol::RawId;

/// The `shutdown` that a client has asked for, to be answered once.
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

    /// The same, of a client that has its answer.
    pub(crate) fn answered(self) -> Self {
        Self { answered: true, ..self }
    }

    /// The request to be answered, if it is not answered yet. It counts as answered from then on.
    pub(super) fn answer(&mut self) -> Option<(RawId, Option<u32>)> {
        let is_open = !std::mem::replace(&mut self.answered, true);
        is_open.then(|| (self.id.clone(), self.batch))
    }
}
