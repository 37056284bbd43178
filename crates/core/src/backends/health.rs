//! The health of a backend's process: liveness probes and memory use. Must not know how a process is probed
//! or measured.

use crate::moment::Moment;

#[derive(Debug, Default)]
pub(crate) struct Health {
    /// The next regular check.
    check_at: Option<Moment>,
    probe: Option<Probe>,
    /// Bytes at the last measurement.
    memory: Option<u64>,
    /// Whether the last measurement was over the limit.
    is_over_memory: bool,
}

/// A request that only checks for a sign of life.
#[derive(Debug, Clone, Copy)]
struct Probe {
    id: u64,
    deadline: Moment,
}

/// Verdict on the memory of a process. A single excess is tolerated: a server may need much for a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryVerdict {
    Fine,
    OverOnce,
    OverAgain,
}

impl Health {
    /// Resets for a new process.
    pub(super) fn begin_process(&mut self) {
        // The regular check continues across restarts.
        *self = Self { check_at: self.check_at, ..Self::default() };
    }

    pub(crate) fn next_check(&self) -> Option<Moment> {
        self.check_at
    }

    pub(crate) fn plan_check(&mut self, at: Option<Moment>) {
        self.check_at = at;
    }

    pub(crate) fn is_probed(&self) -> bool {
        self.probe.is_some()
    }

    pub(crate) fn begin_probe(&mut self, id: u64, deadline: Moment) {
        self.probe = Some(Probe { id, deadline });
    }

    pub(crate) fn probe_deadline(&self) -> Option<Moment> {
        self.probe.map(|probe| probe.deadline)
    }

    /// The id of a probe that was not answered in time.
    pub(crate) fn overdue_probe(&self, now: Moment) -> Option<u64> {
        self.probe.filter(|probe| probe.deadline <= now).map(|probe| probe.id)
    }

    pub(crate) fn postpone_probe(&mut self, deadline: Moment) {
        if let Some(probe) = &mut self.probe {
            probe.deadline = deadline;
        }
    }

    /// Ends the probe: the process gave a sign of life, or is gone.
    pub(crate) fn end_probe(&mut self) {
        self.probe = None;
    }

    pub(crate) fn memory(&self) -> Option<u64> {
        self.memory
    }

    pub(crate) fn record_memory(&mut self, bytes: u64) {
        self.memory = Some(bytes);
    }

    /// Compares the measured bytes with the limit.
    pub(crate) fn judge_memory(&mut self, bytes: u64, limit: u64) -> MemoryVerdict {
        let is_over = bytes > limit;
        match (is_over, std::mem::replace(&mut self.is_over_memory, is_over)) {
            (false, _) => MemoryVerdict::Fine,
            (true, false) => MemoryVerdict::OverOnce,
            (true, true) => MemoryVerdict::OverAgain,
        }
    }
}
