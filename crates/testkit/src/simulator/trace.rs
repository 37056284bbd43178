//! What led to a failure, readable. A run is quiet; a failing one is run again with the trace on, which
//! costs nothing where nothing fails.

use crate::variables::number_of;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;
use switchboard_core::{Action, Moment};

/// So many of the last lines are shown.
const KEPT: usize = 60;
/// So much of a line.
const WIDTH: usize = 300;

/// Shared with the caller of a run, so that the lines survive a panic in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trace(Option<Rc<RefCell<VecDeque<String>>>>);

impl Trace {
    pub(crate) fn on() -> Self {
        Self(Some(Rc::default()))
    }

    pub(crate) fn note(&self, now: Moment, line: impl FnOnce() -> String) {
        let Some(lines) = &self.0 else { return };
        let line: String = line().chars().take(WIDTH).collect();
        let mut lines = lines.borrow_mut();
        if lines.len() == KEPT {
            lines.pop_front();
        }
        lines.push_back(format!("{:>10.3}  {line}", now.since_start().as_secs_f64()));
    }

    pub(crate) fn action(&self, now: Moment, action: &Action) {
        self.note(now, || match action {
            Action::ToBackend { launch, out } => {
                format!("    => {launch}  {}", String::from_utf8_lossy(&out.to_vec()))
            }
            Action::ToClient { client, out, .. } => {
                format!("    => {client}  {}", String::from_utf8_lossy(&out.to_vec()))
            }
            Action::Start { launch, framing, root, environment, .. } => {
                let root = root.as_deref().unwrap_or("no root");
                let environment = number_of(environment);
                format!("    => start {launch} ({}) at {root}, environment {environment:#b}", framing.name())
            }
            Action::Stop { launch, how } => format!("    => stop {launch} {how:?}"),
            Action::ReadOffer { launch, .. } => format!("    => read what {launch} offers"),
            Action::StoreOffer { server, .. } => format!("    => keep what {server:?} offers"),
            Action::StoreRecord { server, record } => format!("    => keep {record:?} of {server:?}"),
            Action::LookUp { client, paths, .. } => format!("    => look up {paths:?} of {client}"),
            Action::Disconnect { client } => format!("    => disconnect {client}"),
            Action::Report(fact) => format!("    -- {fact:?}"),
            Action::Finished => "    => finished".into(),
        });
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.as_ref().map(|lines| lines.borrow().iter().cloned().collect()).unwrap_or_default()
    }
}

/// A run that broke a promise.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The test that makes such runs.
    pub test: &'static str,
    pub seed: u64,
    pub step: u64,
    /// Which promise, and how.
    pub broken: String,
    /// The last events (`>`), what was to be done because of them (`=>`), and what was reported (`--`).
    pub trace: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.trace {
            writeln!(f, "{line}")?;
        }
        writeln!(f, "seed {}, step {}: {}", self.seed, self.step, self.broken)?;
        let (seed, test) = (self.seed, self.test);
        write!(
            f,
            "repeat it: SWITCHBOARD_SEED={seed} cargo test -p switchboard-testkit --test {test} one_seed"
        )
    }
}
