//! The measured values: one value per round for each measure and subject. Knows units, but no targets.

use std::collections::BTreeMap;

use super::options::Section;

/// Content of the state folder at the start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Catalogue {
    Cold,
    Warm,
}

/// The meaning of a value, in the order of the report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Measure {
    RoundTripMedian,
    RoundTripP99,
    SequentialCpu,
    /// With this many callers.
    CallRate(usize),
    ConcurrentCpu(usize),
    IdleMemory,
    GuardMemory,
    WardenMemory,
    ColdStart,
    EchoRate,
    AnswerRate,
    PeakMemory,
    MemoryKept,
    LongList,
    /// With this many servers.
    Started(Catalogue, usize),
    Sessions(Crowd),
    Backends,
}

/// The sessions whose memory is measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Crowd {
    /// 200, each with a connection that was used for a call.
    Calling,
    /// 1,000 without a connection.
    Idle,
    /// Half of those with a stream.
    Streaming,
    /// All of them with a connection that was used for a call, in addition.
    Connected,
}

/// A measure with its section, its unit, its name in the JSON report, and its title.
struct Row(Measure, Section, &'static str, &'static str, &'static str);

/// All measures, in the order of the report.
#[rustfmt::skip]
const TABLE: [Row; 27] = {
    use Catalogue::{Cold, Warm};
    use Measure::*;
    [
        Row(RoundTripMedian, Section::Latency, "µs", "round_trip_median", "round trip, one caller, median"),
        Row(RoundTripP99, Section::Latency, "µs", "round_trip_p99", "round trip, one caller, p99"),
        Row(SequentialCpu, Section::Latency, "µs", "cpu_per_call_sequential", "proxy CPU per call, one caller"),
        Row(CallRate(8), Section::Throughput, "/s", "calls_per_second_8", "calls per second, 8 callers"),
        Row(CallRate(64), Section::Throughput, "/s", "calls_per_second_64", "calls per second, 64 callers"),
        Row(ConcurrentCpu(8), Section::Throughput, "µs", "cpu_per_call_concurrent_8", "proxy CPU per call, 8 callers"),
        Row(ConcurrentCpu(64), Section::Throughput, "µs", "cpu_per_call_concurrent_64", "proxy CPU per call, 64 callers"),
        Row(IdleMemory, Section::Idle, "MiB", "memory_idle", "memory when idle"),
        Row(GuardMemory, Section::Idle, "MiB", "memory_guard", "memory of a guard"),
        Row(WardenMemory, Section::Idle, "MiB", "memory_warden", "memory of the warden"),
        Row(ColdStart, Section::ColdStart, "ms", "cold_start", "spawn to first answer"),
        Row(EchoRate, Section::Payload, "MiB/s", "echo_rate", "10 MiB echo (up and back)"),
        Row(AnswerRate, Section::Payload, "MiB/s", "answer_rate", "10 MiB answers"),
        Row(PeakMemory, Section::Payload, "MiB", "memory_peak", "peak memory, 10 MiB messages"),
        Row(MemoryKept, Section::Payload, "MiB", "memory_kept", "memory kept 2 s after those"),
        Row(LongList, Section::Lists, "µs", "long_list", "tools/list of 1,000 tools"),
        Row(Started(Cold, 1), Section::Starts, "ms", "start_cold_1", "start to tools/list, 1 server, cold"),
        Row(Started(Cold, 10), Section::Starts, "ms", "start_cold_10", "start to tools/list, 10 servers, cold"),
        Row(Started(Cold, 50), Section::Starts, "ms", "start_cold_50", "start to tools/list, 50 servers, cold"),
        Row(Started(Warm, 1), Section::Starts, "ms", "start_warm_1", "start to tools/list, 1 server, warm"),
        Row(Started(Warm, 10), Section::Starts, "ms", "start_warm_10", "start to tools/list, 10 servers, warm"),
        Row(Started(Warm, 50), Section::Starts, "ms", "start_warm_50", "start to tools/list, 50 servers, warm"),
        Row(Sessions(Crowd::Calling), Section::Sessions, "MiB", "memory_sessions_calling", "memory with 200 sessions that called"),
        Row(Backends, Section::Sessions, "", "servers_of_sessions", "servers that run for 200 sessions"),
        Row(Sessions(Crowd::Idle), Section::Sessions, "MiB", "memory_sessions_idle", "memory with 1,000 idle sessions"),
        Row(Sessions(Crowd::Streaming), Section::Sessions, "MiB", "memory_sessions_streaming", "the same, half of them with a stream"),
        Row(Sessions(Crowd::Connected), Section::Sessions, "MiB", "memory_sessions_connected", "and all of them with a connection"),
    ]
};

impl Measure {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|Row(measure, ..)| *measure)
    }

    fn row(self) -> &'static Row {
        TABLE.iter().find(|Row(measure, ..)| *measure == self).expect("every measure has a row")
    }

    /// The measurement that yields it.
    pub(super) fn section(self) -> Section {
        self.row().1
    }

    pub(super) fn unit(self) -> &'static str {
        self.row().2
    }

    /// The name in the JSON report.
    pub(super) fn key(self) -> &'static str {
        self.row().3
    }

    pub(super) fn title(self) -> &'static str {
        self.row().4
    }
}

/// Median, least and greatest over the rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Summary {
    pub(super) median: f64,
    pub(super) least: f64,
    pub(super) greatest: f64,
}

impl Summary {
    /// `None` without values.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (least, greatest) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median =
            if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
        Some(Self { median, least, greatest })
    }
}

pub(super) struct Figures {
    subjects: usize,
    /// Values by measure and subject, then by round.
    values: BTreeMap<(Measure, usize), BTreeMap<usize, f64>>,
    failures: Vec<(Section, usize, String)>,
}

impl Figures {
    pub(super) fn new(subjects: usize) -> Self {
        Self { subjects, values: BTreeMap::new(), failures: Vec::new() }
    }

    pub(super) fn record(&mut self, measure: Measure, subject: usize, round: usize, value: f64) {
        self.values.entry((measure, subject)).or_default().insert(round, value);
    }

    pub(super) fn fail(&mut self, section: Section, subject: usize, message: String) {
        self.failures.push((section, subject, message));
    }

    pub(super) fn failed(&self, section: Section, subject: usize) -> bool {
        self.failures.iter().any(|failure| failure.0 == section && failure.1 == subject)
    }

    pub(super) fn failures(&self) -> impl Iterator<Item = &str> {
        self.failures.iter().map(|(_, _, message)| message.as_str())
    }

    pub(super) fn rounds(&self, measure: Measure, subject: usize) -> impl Iterator<Item = f64> {
        self.values.get(&(measure, subject)).into_iter().flat_map(|rounds| rounds.values().copied())
    }

    pub(super) fn summary(&self, measure: Measure, subject: usize) -> Option<Summary> {
        Summary::of(self.rounds(measure, subject))
    }

    pub(super) fn measured(&self, measure: Measure) -> bool {
        (0..self.subjects).any(|subject| self.values.contains_key(&(measure, subject)))
    }

    /// The result of `relate` for the values of these subjects in the same round, over all rounds that all of them
    /// completed. Comparing within a round takes the machine's drift out.
    pub(super) fn related<const N: usize>(
        &self,
        measure: Measure,
        subjects: [usize; N],
        relate: impl Fn([f64; N]) -> f64,
    ) -> Option<Summary> {
        let rounds = self.values.get(&(measure, subjects[0]))?.keys();
        Summary::of(rounds.filter_map(|round| {
            let mut values = [0.0; N];
            for (value, subject) in values.iter_mut().zip(subjects) {
                *value = *self.values.get(&(measure, subject))?.get(round)?;
            }
            Some(relate(values))
        }))
    }
}

/// The value below which this share of the sorted `samples` lies.
pub(super) fn quantile(samples: &[u32], share: f64) -> f64 {
    let last = samples.len().saturating_sub(1);
    samples.get((last as f64 * share).round() as usize).copied().map_or(0.0, f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_has_median_and_extremes() {
        let summary =
            |values: &[f64]| Summary::of(values.iter().copied()).map(|it| (it.least, it.median, it.greatest));
        assert_eq!(summary(&[]), None);
        assert_eq!(summary(&[3.0, 1.0, 2.0]), Some((1.0, 2.0, 3.0)));
        assert_eq!(summary(&[4.0, 1.0]), Some((1.0, 2.5, 4.0)));
    }

    #[test]
    fn incomplete_rounds_are_not_related() {
        let mut figures = Figures::new(2);
        figures.record(Measure::CallRate(64), 0, 0, 100.0);
        figures.record(Measure::CallRate(64), 0, 1, 200.0);
        figures.record(Measure::CallRate(64), 1, 1, 50.0);
        let ratio = figures.related(Measure::CallRate(64), [1, 0], |[ours, floor]| ours / floor);
        assert_eq!(ratio.map(|it| it.median), Some(0.25));
    }

    #[test]
    fn quantile_is_a_sample() {
        let samples: Vec<u32> = (0..=100).collect();
        assert_eq!(quantile(&samples, 0.5), 50.0);
        assert_eq!(quantile(&samples, 0.99), 99.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}
