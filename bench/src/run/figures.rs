//! What was measured: for each measure and subject one value per round. It knows units, but no targets.

use std::collections::BTreeMap;

use super::options::Section;

/// Whether there is something in the state folder at the start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Catalogue {
    Cold,
    Warm,
}

/// What a value stands for. The order is that of the report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Measure {
    RoundTripMedian,
    RoundTripP99,
    SequentialCpu,
    /// With so many callers.
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
    /// With so many servers.
    Started(Catalogue, usize),
    Sessions(Crowd),
    Backends,
}

/// Who is there when the memory of sessions is looked at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Crowd {
    /// 200, each with a connection on which it has called.
    Calling,
    /// 1,000 without a connection.
    Idle,
    /// Half of those with a stream.
    Streaming,
    /// Moreover, all of them with a connection on which they have called.
    Connected,
}

impl Measure {
    pub(super) const ALL: [Self; 27] = [
        Self::RoundTripMedian,
        Self::RoundTripP99,
        Self::SequentialCpu,
        Self::CallRate(8),
        Self::CallRate(64),
        Self::ConcurrentCpu(8),
        Self::ConcurrentCpu(64),
        Self::IdleMemory,
        Self::GuardMemory,
        Self::WardenMemory,
        Self::ColdStart,
        Self::EchoRate,
        Self::AnswerRate,
        Self::PeakMemory,
        Self::MemoryKept,
        Self::LongList,
        Self::Started(Catalogue::Cold, 1),
        Self::Started(Catalogue::Cold, 10),
        Self::Started(Catalogue::Cold, 50),
        Self::Started(Catalogue::Warm, 1),
        Self::Started(Catalogue::Warm, 10),
        Self::Started(Catalogue::Warm, 50),
        Self::Sessions(Crowd::Calling),
        Self::Backends,
        Self::Sessions(Crowd::Idle),
        Self::Sessions(Crowd::Streaming),
        Self::Sessions(Crowd::Connected),
    ];

    pub(super) fn title(self) -> String {
        let title = match self {
            Self::RoundTripMedian => "round trip, one caller, median",
            Self::RoundTripP99 => "round trip, one caller, p99",
            Self::SequentialCpu => "proxy CPU per call, one caller",
            Self::CallRate(callers) => return format!("calls per second, {callers} callers"),
            Self::ConcurrentCpu(callers) => return format!("proxy CPU per call, {callers} callers"),
            Self::IdleMemory => "memory when idle",
            Self::GuardMemory => "memory of a guard",
            Self::WardenMemory => "memory of the warden",
            Self::ColdStart => "spawn to first answer",
            Self::EchoRate => "10 MiB echo (up and back)",
            Self::AnswerRate => "10 MiB answers",
            Self::PeakMemory => "peak memory, 10 MiB messages",
            Self::MemoryKept => "memory kept 2 s after those",
            Self::LongList => "tools/list of 1,000 tools",
            Self::Started(catalogue, servers) => {
                let plural = if servers == 1 { "" } else { "s" };
                return format!("start to tools/list, {servers} server{plural}, {}", catalogue.name());
            }
            Self::Sessions(crowd) => crowd.title(),
            Self::Backends => "servers that run for 200 sessions",
        };
        title.to_owned()
    }

    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::RoundTripMedian
            | Self::RoundTripP99
            | Self::SequentialCpu
            | Self::ConcurrentCpu(_)
            | Self::LongList => "µs",
            Self::CallRate(_) => "/s",
            Self::IdleMemory
            | Self::GuardMemory
            | Self::WardenMemory
            | Self::PeakMemory
            | Self::MemoryKept
            | Self::Sessions(_) => "MiB",
            Self::Backends => "",
            Self::ColdStart | Self::Started(..) => "ms",
            Self::EchoRate | Self::AnswerRate => "MiB/s",
        }
    }

    /// The measurement that yields it.
    pub(super) fn section(self) -> Section {
        match self {
            Self::RoundTripMedian | Self::RoundTripP99 | Self::SequentialCpu => Section::Latency,
            Self::CallRate(_) | Self::ConcurrentCpu(_) => Section::Throughput,
            Self::IdleMemory | Self::GuardMemory | Self::WardenMemory => Section::Idle,
            Self::ColdStart => Section::ColdStart,
            Self::EchoRate | Self::AnswerRate | Self::PeakMemory | Self::MemoryKept => Section::Payload,
            Self::LongList => Section::Lists,
            Self::Started(..) => Section::Starts,
            Self::Sessions(_) | Self::Backends => Section::Sessions,
        }
    }

    /// The name in the JSON report.
    pub(super) fn key(self) -> String {
        let key = match self {
            Self::RoundTripMedian => "round_trip_median",
            Self::RoundTripP99 => "round_trip_p99",
            Self::SequentialCpu => "cpu_per_call_sequential",
            Self::CallRate(callers) => return format!("calls_per_second_{callers}"),
            Self::ConcurrentCpu(callers) => return format!("cpu_per_call_concurrent_{callers}"),
            Self::IdleMemory => "memory_idle",
            Self::GuardMemory => "memory_guard",
            Self::WardenMemory => "memory_warden",
            Self::ColdStart => "cold_start",
            Self::EchoRate => "echo_rate",
            Self::AnswerRate => "answer_rate",
            Self::PeakMemory => "memory_peak",
            Self::MemoryKept => "memory_kept",
            Self::LongList => "long_list",
            Self::Started(catalogue, servers) => return format!("start_{}_{servers}", catalogue.name()),
            Self::Sessions(Crowd::Calling) => "memory_sessions_calling",
            Self::Sessions(Crowd::Idle) => "memory_sessions_idle",
            Self::Sessions(Crowd::Streaming) => "memory_sessions_streaming",
            Self::Sessions(Crowd::Connected) => "memory_sessions_connected",
            Self::Backends => "servers_of_sessions",
        };
        key.to_owned()
    }
}

impl Catalogue {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Warm => "warm",
        }
    }
}

impl Crowd {
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Calling => "memory with 200 sessions that called",
            Self::Idle => "memory with 1,000 idle sessions",
            Self::Streaming => "the same, half of them with a stream",
            Self::Connected => "and all of them with a connection",
        }
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
    /// By measure and subject, then by round.
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

    /// What `relate` makes of the values that these subjects had in the same round, over all rounds that
    /// all of them came through. Comparing within a round takes the machine's drift out.
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

/// The value below which so much of the sorted `samples` lies.
pub(super) fn quantile(samples: &[u32], share: f64) -> f64 {
    let last = samples.len().saturating_sub(1);
    samples.get((last as f64 * share).round() as usize).copied().map_or(0.0, f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_of_the_middle_and_the_ends() {
        let summary =
            |values: &[f64]| Summary::of(values.iter().copied()).map(|it| (it.least, it.median, it.greatest));
        assert_eq!(summary(&[]), None);
        assert_eq!(summary(&[3.0, 1.0, 2.0]), Some((1.0, 2.0, 3.0)));
        assert_eq!(summary(&[4.0, 1.0]), Some((1.0, 2.5, 4.0)));
    }

    #[test]
    fn only_rounds_that_all_came_through_are_related() {
        let mut figures = Figures::new(2);
        figures.record(Measure::CallRate(64), 0, 0, 100.0);
        figures.record(Measure::CallRate(64), 0, 1, 200.0);
        figures.record(Measure::CallRate(64), 1, 1, 50.0);
        let ratio = figures.related(Measure::CallRate(64), [1, 0], |[ours, floor]| ours / floor);
        assert_eq!(ratio.map(|it| it.median), Some(0.25));
    }

    #[test]
    fn a_quantile_is_a_sample() {
        let samples: Vec<u32> = (0..=100).collect();
        assert_eq!(quantile(&samples, 0.5), 50.0);
        assert_eq!(quantile(&samples, 0.99), 99.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}
