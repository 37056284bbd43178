//! A deliberate fault between the core and its peers is found, and the run is shrunk to a short story.

#![forbid(unsafe_code)]

use switchboard_testkit::simulator::{Failure, Flaw, connection};

/// The first failing seed with this fault.
fn failure(flaw: Flaw) -> Failure {
    let found = (0..200).find_map(|seed| connection::run_with(flaw, seed).err());
    *found.expect("a fault like this is found within 200 runs")
}

#[test]
fn lost_answer_makes_a_short_story() {
    let failure = failure(Flaw::LosesAnswers);
    let (before, after) = failure.steps;
    assert!(after <= 20 && after < before, "{after} of {before} steps are left:\n{failure}");
    assert!(failure.story.len() <= 60, "{failure}");
}

#[test]
fn misdirected_answer_makes_a_short_story() {
    let failure = failure(Flaw::MisdirectsAnswers);
    assert!(failure.steps.1 <= 20, "{failure}");
    assert!(failure.broken.contains("belongs") || failure.broken.contains("asked"), "{failure}");
}

#[test]
fn story_names_time_party_and_event() {
    let failure = failure(Flaw::LosesAnswers);
    let first = failure.story.first().expect("a story has lines");
    assert!(first.trim_start().starts_with("0.000 s") && first.contains("client-1 connects"), "{first}");
    assert!(failure.to_string().contains("repeat it: SWITCHBOARD_SEED="), "{failure}");
}

#[test]
fn shrinking_is_repeatable() {
    let (one, other) = (failure(Flaw::LosesAnswers), failure(Flaw::LosesAnswers));
    assert_eq!((one.seed, one.story), (other.seed, other.story));
}
