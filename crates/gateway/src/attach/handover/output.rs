//! Output of a client through a log that outlives this process, so that another process can continue it.

use super::entries::of_outgoing;
use super::entry::JournalEntry;
use super::journal::{ClientJournal, HoldState};
use crate::io::output::StoredOutput;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use switchboard_process::handover::Output;
use switchboard_process::lock::Lock;
use switchboard_protocol::Outgoing;

/// Output with a journal. Stored messages are sent by this daemon or by its successor.
pub(crate) struct JournaledOutput {
    log: Output,
    journal: Arc<ClientJournal>,
    /// Entries of messages that are admitted but not yet stored.
    entries: Lock<Vec<JournalEntry>>,
}

impl JournaledOutput {
    pub(crate) fn new(log: Output, journal: Arc<ClientJournal>) -> Self {
        Self { log, journal, entries: Lock::default() }
    }

    pub(crate) fn journal(&self) -> &ClientJournal {
        &self.journal
    }

    /// Stores whole messages together with their entries.
    pub(crate) fn store_with(&self, bufs: &[IoSlice<'_>], entries: Vec<JournalEntry>) -> io::Result<()> {
        // The order matters: bytes, journal, commit. The journal's position decides after a crash: bytes
        // beyond it are dropped, and their requests are still open.
        let upto = self.log.append(bufs)?;
        self.journal.write(upto, entries)?;
        self.log.commit();
        Ok(())
    }
}

impl StoredOutput for JournaledOutput {
    fn admit(&self, out: &Outgoing) -> bool {
        if self.journal.swallow(out) {
            return false;
        }
        let mut entries = self.entries.lock();
        entries.extend(of_outgoing(out));
        true
    }

    fn store(&self, bufs: &[IoSlice<'_>]) -> io::Result<()> {
        // Entries go into the journal with the very bytes they describe, never before.
        let entries = std::mem::take(&mut *self.entries.lock());
        self.store_with(bufs, entries)
    }

    fn unsent(&self) -> u64 {
        self.log.unsent()
    }

    fn send(&self) -> io::Result<usize> {
        self.log.send()
    }

    fn writable(&self) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send + '_>> {
        Box::pin(self.log.writable())
    }

    /// The client no longer reads, so no other daemon can serve it either.
    fn lost(&self) {
        self.journal.close(HoldState::Over);
    }

    fn trim(&self) {
        self.entries.lock().shrink_to_fit();
        self.log.trim();
        self.journal.trim();
    }
}

impl Drop for JournaledOutput {
    fn drop(&mut self) {
        // Counts only if the journal is still open: an end that was recorded before keeps its state.
        self.journal.close(HoldState::LetGo);
    }
}
