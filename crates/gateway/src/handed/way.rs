//! How bytes get to a peer: directly, or through a log from which the next one can go on.

use super::books::Entry;
use super::ledger::{Ledger, State, meaning};
use std::io::{self, IoSlice};
use std::sync::{Arc, Mutex, PoisonError};
use switchboard_process::handover::Log;
use switchboard_process::pipe::ByteWriter;
use switchboard_protocol::Outgoing;

pub(crate) enum Way {
    Direct(ByteWriter),
    Kept(Kept),
}

impl From<ByteWriter> for Way {
    fn from(writer: ByteWriter) -> Self {
        Self::Direct(writer)
    }
}

impl Way {
    pub(crate) async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Direct(writer) => writer.writable().await,
            Self::Kept(kept) => kept.log.writable().await,
        }
    }

    /// What the system keeps can be given out without a copy.
    pub(crate) fn is_pipe(&self) -> bool {
        match self {
            Self::Direct(writer) => writer.is_pipe(),
            Self::Kept(_) => false,
        }
    }

    pub(crate) async fn drained(&self) {
        match self {
            Self::Direct(writer) => writer.drained().await,
            Self::Kept(_) => {}
        }
    }
}

/// What is put here is given out by us, or by the next.
pub(crate) struct Kept {
    pub(crate) log: Log,
    pub(crate) ledger: Arc<Ledger>,
    /// What is to be entered together with the bytes that wait.
    entries: Mutex<Vec<Entry>>,
}

impl Kept {
    pub(crate) fn new(log: Log, ledger: Arc<Ledger>) -> Self {
        Self { log, ledger, entries: Mutex::default() }
    }

    /// To be told of every message; `false` if it is not to go out.
    pub(crate) fn note(&self, out: &Outgoing) -> bool {
        if self.ledger.swallow(out) {
            return false;
        }
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.extend(meaning(out));
        true
    }

    /// Gives back memory that is not needed while the client is quiet.
    pub(crate) fn trim(&self) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).shrink_to_fit();
        self.log.trim();
        self.ledger.trim();
    }

    /// Whole messages. From here on they are given out, whatever happens to us.
    pub(crate) fn keep(&self, bufs: &[IoSlice<'_>]) -> io::Result<()> {
        let entries = std::mem::take(&mut *self.entries.lock().unwrap_or_else(PoisonError::into_inner));
        self.keep_with(bufs, entries)
    }

    /// The same, with what it means.
    pub(crate) fn keep_with(&self, bufs: &[IoSlice<'_>], entries: Vec<Entry>) -> io::Result<()> {
        let upto = self.log.append(bufs)?;
        self.ledger.write(upto, entries)?;
        self.log.commit();
        Ok(())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.ledger.close(State::LetGo);
    }
}
