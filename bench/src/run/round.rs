//! All subjects running side by side for one round, taking turns. One that fails is reported and leaves the
//! round; the others go on. Must not know the measurement.

use super::link::{self, Link};
use super::options::Section;
use super::{Bench, Failure};

pub(super) struct Round<'a> {
    bench: &'a mut Bench,
    section: Section,
    index: usize,
    turn: usize,
    /// Links by subject; `None` if it failed, in this round or an earlier one.
    open: Vec<Option<Box<dyn Link>>>,
}

impl<'a> Round<'a> {
    /// Starts every subject, up to the point at which it can be called.
    pub(super) fn open(bench: &'a mut Bench, section: Section, index: usize) -> Self {
        let mut open = Vec::new();
        for subject in 0..bench.subjects.len() {
            if bench.figures.failed(section, subject) || !bench.subjects[subject].is_of(section) {
                open.push(None);
                continue;
            }
            let link = link::spawn(&bench.subjects[subject], &bench.watchdog, &bench.scratch);
            open.push(link.map_err(|failure| bench.fail(section, index, subject, &failure)).ok());
        }
        let mut round = Self { bench, section, index, turn: index, open };
        round.each(|_, link| link.settle());
        round
    }

    /// Gives every subject its turn. The first subject changes from turn to turn, so that the effect of cold caches is
    /// spread over all.
    pub(super) fn each(&mut self, mut turn: impl FnMut(usize, &mut dyn Link) -> Result<(), Failure>) {
        let (count, first) = (self.open.len(), self.turn);
        for subject in (0..count).map(|step| (step + first) % count) {
            let Some(link) = &mut self.open[subject] else { continue };
            if let Err(failure) = link::turn(&mut **link, |link| turn(subject, link)) {
                self.bench.fail(self.section, self.index, subject, &failure);
                self.open[subject] = None;
            }
        }
        self.turn += 1;
    }

    /// Ends the round. Returns the subjects that completed it and ended on request.
    pub(super) fn close(mut self) -> Vec<usize> {
        let mut through = Vec::new();
        for subject in 0..self.open.len() {
            let Some(link) = self.open[subject].take() else { continue };
            match link.close() {
                Ok(()) => through.push(subject),
                Err(failure) => self.bench.fail(self.section, self.index, subject, &failure),
            }
        }
        through
    }
}
