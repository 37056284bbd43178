//! All sources that can name a workspace, in order of precedence, with the one that was used.

use super::{Rung, Spread};
use std::slice;
use switchboard_core::routing::{Decision, Known, NamedBy, NamedPath, Policy, Why, decide};

pub(super) struct Ladder<'a> {
    pub(super) known: &'a Known,
    /// Paths in the request, used or not.
    pub(super) paths: &'a [NamedPath],
    pub(super) policy: Policy,
    pub(super) spread: Spread,
    pub(super) decision: &'a Decision,
}

impl Ladder<'_> {
    pub(super) fn rungs(&self) -> Vec<Rung> {
        if self.spread == Spread::Home {
            return Vec::new();
        }
        let known = self.known;
        let mut rungs = self.rung("pinned", known.pinned.as_slice(), &Why::Pinned, None);
        // An instance that all clients share ignores the sources of a single client.
        if self.spread != Spread::All {
            rungs.extend(self.request());
            rungs.extend(self.rung("client", &known.client, &Why::Client, None));
            rungs.extend(self.rung("environment", known.environment.as_slice(), &Why::Environment, None));
            rungs.push(self.working_folder());
        }
        rungs.extend(self.rung("default", known.default.as_slice(), &Why::Default, None));
        rungs.extend(self.rung("given", &known.given, &Why::FirstKnown, None));
        if self.spread != Spread::All {
            rungs.push(self.fallback());
        }
        rungs
    }

    fn fallback(&self) -> Rung {
        Rung {
            rung: "fallback",
            value: Some(if self.policy.fallback { "on" } else { "off" }.to_owned()),
            named_by: None,
            used: matches!(self.decision, Decision::Fallback | Decision::Nowhere),
            note: None,
        }
    }

    /// One rung per value. The note is for values that were not used.
    fn rung(
        &self,
        rung: &'static str,
        values: &[String],
        why: &Why,
        note: Option<&'static str>,
    ) -> Vec<Rung> {
        let counts = |value: &String| match self.decision {
            Decision::Root { root, why: counted } => counted == why && root == value,
            Decision::Fallback | Decision::Nowhere => false,
        };
        let one = |value: &String| {
            let used = counts(value);
            Rung { rung, value: Some(value.clone()), named_by: None, used, note: note.filter(|_| !used) }
        };
        match values {
            [] => vec![Rung { rung, value: None, named_by: None, used: false, note: None }],
            values => values.iter().map(one).collect(),
        }
    }

    fn request(&self) -> Vec<Rung> {
        const RUNG: &str = "request";
        if self.paths.is_empty() {
            return vec![Rung { rung: RUNG, value: None, named_by: None, used: false, note: None }];
        }
        // Closed by the first path that decides, and from the start where paths do not count.
        let mut is_open = self.spread == Spread::Root && self.known.pinned.is_none();
        let one = |place: &NamedPath| {
            let obstacle = self.obstacle(place);
            let used = is_open && obstacle.is_none();
            let note = match self.spread {
                Spread::Root => obstacle.filter(|_| is_open),
                Spread::Roots | Spread::All | Spread::Home => Some("ignored: one instance serves all roots"),
            };
            is_open &= !used;
            let (value, named_by) = (Some(place.path.clone()), Some(place.named_by.to_string()));
            Rung { rung: RUNG, value, named_by, used, note }
        };
        self.paths.iter().map(one).collect()
    }

    /// Reason why a path decides nothing.
    fn obstacle(&self, place: &NamedPath) -> Option<&'static str> {
        // Judged without the pin, which would hide the reason.
        let unpinned = Known { pinned: None, ..self.known.clone() };
        if let Decision::Root { why: Why::Within(_) | Why::Project(_), .. } =
            decide(&unpinned, slice::from_ref(place), self.policy)
        {
            return None;
        }
        Some(match (&place.named_by, &place.project) {
            (NamedBy::Uri, _) => "in no known root",
            (NamedBy::Argument(_), None) => "in no known root, and in no project",
            (NamedBy::Argument(_), Some(_)) => "in no known root, and `openRoots` is false",
        })
    }

    /// The working folder; the root that is used may be a folder above it.
    fn working_folder(&self) -> Rung {
        let (used, is_passed_over) = match self.decision {
            Decision::Root { why, .. } => {
                (*why == Why::WorkingFolder, matches!(why, Why::Default | Why::FirstKnown))
            }
            Decision::Fallback | Decision::Nowhere => (false, true),
        };
        let value = self.known.working_folder.clone();
        // Asks whether the working folder would do if no root were given.
        let alone = Known { given: Vec::new(), default: None, ..self.known.clone() };
        let would_do =
            matches!(decide(&alone, &[], self.policy), Decision::Root { why: Why::WorkingFolder, .. });
        let note = match would_do {
            true => "in none of the given roots",
            false => "too high in the folder tree for a workspace",
        };
        let note = (is_passed_over && value.is_some()).then_some(note);
        Rung { rung: "workingFolder", value, named_by: None, used, note }
    }
}
