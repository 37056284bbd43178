//! All subjects running side by side for one round, taking turns. One that fails is reported and leaves the
//! round; the others go on. It knows nothing of what is measured.

use super::link::Link;
use super::options::Section;
use super::{Bench, Failure};

pub(super) struct Round<'a> {
    bench: &'a mut Bench,
    section: Section,
    index: usize,
    turn: usize,
    /// One for each subject; `None` if it failed, in this round or an earlier one.
    open: Vec<Option<Link>>,
}

impl<'a> Round<'a> {
    /// Starts every subject and brings it to where it can be called.
    pub(super) fn open(bench: &'a mut Bench, section: Section, index: usize) -> Self {
        let mut open = Vec::new();
        for subject in 0..bench.subjects.len() {
            if bench.figures.failed(section, subject) || !bench.subjects[subject].is_of(section) {
                open.push(None);
                continue;
            }
            let link = Link::spawn(&bench.subjects[subject], &bench.watchdog, &bench.scratch);
            open.push(link.map_err(|failure| bench.fail(section, index, subject, &failure)).ok());
        }
        let mut round = Self { bench, section, index, turn: index, open };
        round.each(|_, link| link.settle());
        round
    }

    /// Lets every subject have its turn. Who begins changes from turn to turn, so that none is always the
    /// one to find the caches as another left them.
    pub(super) fn each(&mut self, mut turn: impl FnMut(usize, &mut Link) -> Result<(), Failure>) {
        let (count, first) = (self.open.len(), self.turn);
        for subject in (0..count).map(|step| (step + first) % count) {
            let Some(link) = &mut self.open[subject] else { continue };
            if let Err(failure) = link.turn(|link| turn(subject, link)) {
                self.bench.fail(self.section, self.index, subject, &failure);
                self.open[subject] = None;
            }
        }
        self.turn += 1;
    }

    /// Ends the round. Returns who came through it, who must also have left when asked to.
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
