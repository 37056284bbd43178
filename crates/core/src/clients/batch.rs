//! A client's batch: members are answered individually, and the answers are returned as one array. Must not
//! know what the answers say.

use std::collections::BTreeMap;
use switchboard_protocol::RawId;

/// The unanswered batches of one client.
#[derive(Debug, Default)]
pub(super) struct Batches {
    next: u32,
    open: BTreeMap<u32, Batch>,
}

#[derive(Debug)]
struct Batch {
    /// Members without an answer.
    missing: usize,
    /// The id of the first answer, which identifies the batch response.
    first: Option<RawId>,
    answers: Vec<Vec<u8>>,
}

impl Batches {
    pub(super) fn open(&mut self, members: usize) -> u32 {
        let id = self.next;
        self.next = self.next.wrapping_add(1);
        self.open.insert(id, Batch { missing: members, first: None, answers: Vec::new() });
        id
    }

    /// Bytes of answers that wait for the rest of their batch.
    pub(super) fn bytes(&self) -> usize {
        self.open.values().flat_map(|batch| &batch.answers).map(Vec::len).sum()
    }

    /// Closes a member, with or (for a notification or a cancelled request) without an answer. The last one
    /// returns the whole array, unless no member has an answer.
    pub(super) fn done(&mut self, id: u32, answer: Option<(&RawId, Vec<u8>)>) -> Option<(RawId, Vec<u8>)> {
        let batch = self.open.get_mut(&id)?;
        if let Some((id, answer)) = answer {
            batch.first.get_or_insert_with(|| id.clone());
            batch.answers.push(answer);
        }
        batch.missing -= 1;
        if batch.missing > 0 {
            return None;
        }
        // Without any answer the client gets nothing: JSON-RPC knows no empty array of answers.
        let Batch { first, answers, .. } = self.open.remove(&id)?;
        let first = first?;
        let mut array = Vec::with_capacity(answers.iter().map(|answer| answer.len() + 1).sum::<usize>() + 1);
        for answer in &answers {
            array.push(if array.is_empty() { b'[' } else { b',' });
            array.extend_from_slice(answer);
        }
        array.push(b']');
        Some((first, array))
    }
}
