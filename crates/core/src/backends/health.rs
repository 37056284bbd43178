//! The health of a backend's process: liveness probes, memory use and CPU time. Must not know how a process is
//! probed or measured.

use crate::moment::Moment;
use std::time::Duration;

#[derive(Debug, Default)]
pub(crate) struct Health {
    /// The next regular check.
    check_at: Option<Moment>,
    probe: Option<Probe>,
    /// The last measurement.
    used: Option<ProcessUsage>,
    /// Whether the last measurement was over the limit.
    is_over_memory: bool,
}

/// What a process and its descendants use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessUsage {
    pub memory_bytes: u64,
    /// CPU time since the start.
    pub cpu: Duration,
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

    /// Bytes at the last measurement.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.used.map(|used| used.memory_bytes)
    }

    /// CPU time since the start, at the last measurement.
    pub(crate) fn cpu(&self) -> Option<Duration> {
        self.used.map(|used| used.cpu)
    }

    /// Records a measurement. CPU time that was used stays used, although the system may lose that of ended
    /// descendants.
    pub(crate) fn record_usage(&mut self, used: ProcessUsage) {
        let before = self.cpu().unwrap_or_default();
        self.used = Some(ProcessUsage { cpu: used.cpu.max(before), ..used });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_grows_until_the_next_process() {
        let used = |memory_bytes, seconds| ProcessUsage { memory_bytes, cpu: Duration::from_secs(seconds) };
        let mut health = Health::default();
        assert_eq!((health.memory(), health.cpu()), (None, None));
        for (measured, expect) in
            [(used(9, 3), used(9, 3)), (used(5, 2), used(5, 3)), (used(7, 4), used(7, 4))]
        {
            health.record_usage(measured);
            assert_eq!((health.memory(), health.cpu()), (Some(expect.memory_bytes), Some(expect.cpu)));
        }
        health.begin_process();
        assert_eq!((health.memory(), health.cpu()), (None, None));
        health.record_usage(used(1, 0));
        assert_eq!(health.cpu(), Some(Duration::ZERO));
    }
}
