//! Runs of a seed, and the shrinking of a failing one: steps are dropped in ever smaller chunks while the run still
//! breaks the same promise. Each step has a random stream of its own, so a dropped step leaves the others as they were.

use super::story::Story;
use super::{Check, Flaw, Scenario, Stats, World};
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Limit on replays for one shrinking.
const MAX_REPLAYS: usize = 600;

/// A run that broke a promise, shrunk.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Test binary that makes such runs.
    pub test: &'static str,
    pub seed: u64,
    /// Steps before the failure, in the original run and after shrinking.
    pub steps: (usize, usize),
    /// The broken promise.
    pub broken: String,
    /// The shrunk run, one line per event.
    pub story: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { test, seed, steps: (before, after), broken, story } = self;
        writeln!(f, "seed {seed} breaks a promise after {before} steps; {after} of them are enough:")?;
        story.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        writeln!(f, "broken: {broken}")?;
        write!(
            f,
            "repeat it: SWITCHBOARD_SEED={seed} cargo test -p switchboard-testkit --test {test} one_seed"
        )
    }
}

/// Step and text of a failure.
type Broken = (usize, String);

/// Runs a seed; a failing run is shrunk.
pub(crate) fn run<S: Scenario>(seed: u64, flaw: Option<Flaw>) -> Result<Stats, Box<Failure>> {
    let attempt = |kept: Option<&[usize]>, story: &Story| attempt::<S>(seed, flaw, kept, story);
    let (step, broken) = match attempt(None, &Story::default()) {
        Ok(stats) => return Ok(stats),
        Err(found) => found,
    };
    let all: Vec<usize> = (0..=step).collect();
    let kept = shrunk(all.clone(), |kept| {
        let again = attempt(Some(kept), &Story::default());
        again.is_err_and(|(_, other)| shape(&other) == shape(&broken))
    });
    let story = Story::on();
    let broken = match attempt(Some(&kept), &story) {
        Err((_, other)) if shape(&other) == shape(&broken) => other,
        other => format!("{broken}\nand the second run of the seed went another way: {other:?}"),
    };
    let steps = (all.len(), kept.len());
    Err(Box::new(Failure { test: S::TEST, seed, steps, broken, story: story.lines() }))
}

/// Runs the steps in `kept`, or all of them. Fails with the step and the broken promise.
fn attempt<S: Scenario>(
    seed: u64,
    flaw: Option<Flaw>,
    kept: Option<&[usize]>,
    story: &Story,
) -> Result<Stats, Broken> {
    let step = Cell::new(0);
    let live = || -> Check<Stats> {
        let mut world = World::<S>::new(seed, flaw, story.clone());
        let is_kept = |step: usize| kept.is_none_or(|kept| kept.binary_search(&step).is_ok());
        world.live(seed, is_kept, &step)?;
        Ok(world.stats)
    };
    match catch_unwind(AssertUnwindSafe(live)) {
        Ok(outcome) => outcome.map_err(|broken| (step.get(), broken)),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
            Err((step.get(), format!("a panic: {}", text.unwrap_or_default())))
        }
    }
}

/// Smallest failing set of steps that dropping chunks finds.
fn shrunk(mut kept: Vec<usize>, fails: impl Fn(&[usize]) -> bool) -> Vec<usize> {
    let mut replays = 0;
    let mut size = kept.len().div_ceil(2);
    while size > 0 {
        let (mut at, mut has_dropped) = (0, false);
        while at < kept.len() {
            if replays == MAX_REPLAYS {
                return kept;
            }
            replays += 1;
            let mut fewer = kept.clone();
            fewer.drain(at..(at + size).min(kept.len()));
            if fails(&fewer) {
                (kept, has_dropped) = (fewer, true);
            } else {
                at += size;
            }
        }
        // Single steps are tried again as long as one of them can be dropped.
        if size > 1 || !has_dropped {
            size /= 2;
        }
    }
    kept
}

/// A failure without the parts that differ between runs: numbers, and everything from the first quotation on.
fn shape(broken: &str) -> String {
    let text = broken.split(['{', '[', '"', '`', '\n']).next().unwrap_or_default();
    let words = text.split_whitespace().filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_that_do_not_matter_are_dropped() {
        let fails = |kept: &[usize]| [3, 50, 51].iter().all(|step| kept.contains(step));
        assert_eq!(shrunk((0..100).collect(), fails), [3, 50, 51]);
    }

    #[test]
    fn numbers_do_not_make_another_failure() {
        assert_eq!(shape("client-1 waits for 7 {x}"), shape("client-22 waits for 9 {y}"));
        assert_ne!(shape("client-1 waits for 7"), shape("client-1 is lost"));
    }
}
