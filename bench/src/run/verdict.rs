//! Targets for Switchboard's cost, met or missed in this run. Must not measure.

use super::Bench;
use super::figures::{Catalogue, Crowd, Measure, Summary};
use super::options::Suite;
use super::subject::{Role, Subject};

/// Limit on memory above the idle size after large messages, in MiB.
const MAX_KEPT_MIB: f64 = 4.0;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass,
    Miss,
    /// No target; informational.
    Shown,
    /// A target, but the subject failed.
    Failed,
}

impl Verdict {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Miss => "MISS",
            Self::Shown => "",
            Self::Failed => "FAIL",
        }
    }
}

#[derive(Clone, Copy)]
enum Target {
    AtMost(f64),
    AtLeast(f64),
    None,
}

/// A line of the table of targets.
pub(super) struct Line {
    pub(super) title: String,
    pub(super) unit: &'static str,
    pub(super) value: Option<Summary>,
    target: Target,
    pub(super) verdict: Verdict,
}

impl Line {
    fn new(title: String, unit: &'static str, value: Option<Summary>, target: Target) -> Self {
        let verdict = match (target, value) {
            (Target::None, _) => Verdict::Shown,
            (Target::AtMost(_) | Target::AtLeast(_), None) => Verdict::Failed,
            (Target::AtMost(limit), Some(value)) if value.median <= limit => Verdict::Pass,
            (Target::AtLeast(limit), Some(value)) if value.median >= limit => Verdict::Pass,
            (Target::AtMost(_) | Target::AtLeast(_), Some(_)) => Verdict::Miss,
        };
        Self { title, unit, value, target, verdict }
    }

    pub(super) fn target(&self) -> String {
        match self.target {
            Target::AtMost(limit) => format!("≤ {limit}"),
            Target::AtLeast(limit) => format!("≥ {limit}"),
            Target::None => String::new(),
        }
    }
}

/// Empty if Switchboard is not among the subjects.
pub(super) fn lines(bench: &Bench) -> Vec<Line> {
    let Some(ours) = bench.subjects.iter().position(|subject| subject.role == Role::Switchboard) else {
        return Vec::new();
    };
    let measured: Vec<_> = Measure::all().filter(|measure| bench.figures.measured(*measure)).collect();
    measured.into_iter().flat_map(|measure| of_measure(bench, ours, measure)).collect()
}

fn of_measure(bench: &Bench, ours: usize, measure: Measure) -> Vec<Line> {
    let position = |role| bench.subjects.iter().position(|subject| subject.role == role);
    let direct = position(Role::Direct).expect("direct is always a subject");
    let floor = bench.subjects.iter().position(Subject::is_floor).expect("the floor is always a subject");
    let floors = format!("the {}'s", bench.subjects[floor].name);
    let figures = &bench.figures;
    let plain = || figures.summary(measure, ours);
    let to = |other| figures.related(measure, [ours, other], |[ours, other]| ours / other);
    let to_floor = || to(floor);
    let added = || figures.related(measure, [ours, direct], |[ours, direct]| ours - direct);
    let failed = figures.failed(measure.section(), ours);
    let line = |title: &str, unit, value: Option<Summary>, target| {
        Line::new(title.to_owned(), unit, value.filter(|_| !failed), target)
    };
    // Some targets for pipes do not apply to HTTP.
    let on_pipes = |target| if bench.suite == Suite::Http { Target::None } else { target };
    match measure {
        Measure::RoundTripMedian => {
            let added_to_floor = figures.related(measure, [ours, floor, direct], |[ours, floor, direct]| {
                (ours - direct) / (floor - direct)
            });
            vec![
                line("latency added, median", "µs", added(), Target::None),
                line(&format!("latency added, times {floors}"), "×", added_to_floor, Target::AtMost(2.0)),
                line(&format!("whole round trip, times {floors}"), "×", to_floor(), Target::None),
            ]
        }
        Measure::RoundTripP99 => vec![line("latency added, p99", "µs", added(), Target::None)],
        Measure::SequentialCpu => {
            vec![line(&format!("CPU per call, one caller, times {floors}"), "×", to_floor(), Target::None)]
        }
        Measure::CallRate(callers) => {
            let limit = if bench.suite == Suite::Http { 0.75 } else { 0.6 };
            let title = format!("calls/s with {callers} callers, of {floors}");
            let mut lines = vec![line(&title, "×", to_floor(), Target::AtLeast(limit))];
            if let Some(aggregate) = position(Role::Aggregate) {
                let share =
                    figures.related(measure, [aggregate, floor], |[aggregate, floor]| aggregate / floor);
                lines.push(line(&format!("the same at /mcp, of {floors}"), "×", share, Target::None));
            }
            lines
        }
        Measure::ConcurrentCpu(callers) => {
            let title = format!("CPU per call, {callers} callers, times {floors}");
            vec![line(&title, "×", to_floor(), Target::None)]
        }
        Measure::IdleMemory => {
            let (title, limit) = match bench.suite {
                Suite::One => ("memory when idle", 8.0),
                Suite::Many => ("memory with ten servers, without the guards", 16.0),
                Suite::Http => ("memory of the gateway", 16.0),
            };
            vec![line(title, "MiB", plain(), Target::AtMost(limit))]
        }
        Measure::GuardMemory => vec![line("memory of a guard", "MiB", plain(), Target::AtMost(2.5))],
        Measure::WardenMemory => vec![line("memory of the warden", "MiB", plain(), Target::None)],
        Measure::ColdStart => {
            let unguarded = position(Role::Unguarded).expect("it stands beside Switchboard");
            let by_guard = figures.related(measure, [ours, unguarded], |[ours, unguarded]| ours - unguarded);
            vec![
                line("cold start added", "ms", added(), Target::AtMost(15.0)),
                line("of that by warden and guard", "ms", by_guard, Target::AtMost(6.0)),
            ]
        }
        Measure::EchoRate => {
            let target = on_pipes(Target::AtLeast(0.55));
            vec![line(&format!("10 MiB echo, of {floors} rate"), "×", to_floor(), target)]
        }
        Measure::AnswerRate => {
            let target = on_pipes(Target::AtLeast(0.35));
            vec![line(&format!("10 MiB answers, of {floors} rate"), "×", to_floor(), target)]
        }
        Measure::PeakMemory => {
            let limit = match bench.suite {
                Suite::One | Suite::Many => 4.0 * bench.plan.payload_bytes as f64 / f64::from(1 << 20),
                Suite::Http => 64.0,
            };
            vec![line("peak memory with 10 MiB messages", "MiB", plain(), Target::AtMost(limit))]
        }
        Measure::MemoryKept => {
            vec![line("memory kept 2 s after those", "MiB", plain(), on_pipes(Target::AtMost(MAX_KEPT_MIB)))]
        }
        Measure::LongList => {
            let title = "tools/list of 1,000 tools, times one server's own";
            vec![line(title, "×", to(direct), Target::AtMost(1.0))]
        }
        Measure::Started(Catalogue::Cold, _) => vec![line(measure.title(), "ms", plain(), Target::None)],
        Measure::Started(Catalogue::Warm, _) => {
            vec![line(measure.title(), "ms", plain(), Target::AtMost(10.0))]
        }
        Measure::Sessions(crowd) => vec![line(measure.title(), "MiB", plain(), session_target(crowd))],
        Measure::Backends => vec![line(measure.title(), "", plain(), Target::AtMost(1.0))],
    }
}

fn session_target(crowd: Crowd) -> Target {
    match crowd {
        Crowd::Calling => Target::AtMost(20.0),
        Crowd::Idle | Crowd::Streaming => Target::AtMost(40.0),
        Crowd::Connected => Target::None,
    }
}

/// A failed subject is always an error; a missed target only in strict mode.
pub(super) fn exit_code(bench: &Bench, lines: &[Line], strict: bool) -> u8 {
    if bench.figures.failures().next().is_some() {
        return 3;
    }
    let missed = lines.iter().any(|line| line.verdict == Verdict::Miss);
    u8::from(strict && missed)
}
