//! A client's workspaces: the roots that it has named, and its known folders.

use crate::clients::Client;
use crate::clients::roots::{ClientRoot, RootsAnswer, RootsStage, ShownRoots};
use crate::clients::shared::Shared;
use crate::routing::Known;
use crate::routing::path::Style;
use switchboard_protocol::Message;

/// Limit on roots learnt from paths in one client's requests.
const MAX_SEEN_ROOTS: usize = 256;

impl Client {
    /// The client's known folders.
    pub(crate) fn known(&self) -> &Known {
        &self.known
    }

    pub(crate) fn shared_known(&self) -> Shared<Known> {
        self.known.clone()
    }

    /// Sets the roots that came with the handshake.
    pub(crate) fn set_first_roots(&mut self, paths: Vec<String>) {
        if !paths.is_empty() {
            self.known.client = paths;
        }
    }

    /// Remembers a root that was learnt from a path.
    pub(crate) fn note_root(&mut self, root: &str) {
        let known = &mut self.known;
        let mut all = known.given.iter().chain(&known.client).chain(&known.seen);
        if !all.any(|other| other == root) && known.seen.len() < MAX_SEEN_ROOTS {
            known.seen.push(root.to_owned());
        }
    }

    /// Takes over the roots of its aggregate client, unless it has learnt its own.
    pub(crate) fn adopt_roots(&mut self, known: &Shared<Known>) {
        match self.known.seen == known.seen {
            // A delegate starts with its client's knowledge, and only roots have been added since.
            true => self.known = known.clone(),
            false => self.known.client.clone_from(&known.client),
        }
    }

    pub(crate) fn roots_stage(&self) -> RootsStage {
        self.roots.stage()
    }

    /// The roots that the client named, unless a request for them is open.
    pub(crate) fn told_roots(&self) -> Option<&[ClientRoot]> {
        (self.roots.stage() == RootsStage::Told).then(|| self.roots.latest())
    }

    /// The roots that the client named last, including those from the handshake.
    pub(crate) fn named_roots(&self, style: Style) -> Vec<ClientRoot> {
        match self.roots.stage() {
            RootsStage::Unasked => {
                self.known.client.iter().map(|path| ClientRoot::of_path(path, style)).collect()
            }
            RootsStage::Asked | RootsStage::Told => self.roots.latest().to_vec(),
        }
    }

    /// The client's last answer to `roots/list`.
    pub(crate) fn roots_answer(&self) -> Option<&RootsAnswer> {
        self.roots.answer()
    }

    /// The roots that the client has shown to a legacy server, as a modern client.
    pub(crate) fn shown_roots(&self) -> Option<&ShownRoots> {
        self.roots.shown()
    }

    pub(crate) fn show_roots(&mut self, shown: ShownRoots) {
        self.roots.show(Some(shown));
    }

    /// Forgets the roots that the client has shown.
    pub(crate) fn hide_roots(&mut self) {
        self.roots.show(None);
    }

    /// Starts a request for the client's roots.
    pub(crate) fn begin_roots_inquiry(&mut self, style: Style) {
        let before = self.named_roots(style);
        self.roots.ask(before);
    }

    pub(crate) fn note_roots_answer(&mut self, answer: &Message) {
        self.roots.note_answer(answer);
    }

    /// Parses the roots from an answer. Returns the paths to look up on disk, with the number of the inquiry.
    pub(crate) fn read_roots(&mut self, answer: &Message, style: Style) -> Option<(u32, Vec<String>)> {
        self.roots.read(answer, style)
    }

    /// The roots of an answer, with the paths found on disk; `None` if the inquiry is outdated.
    pub(crate) fn look_up_roots(
        &mut self,
        inquiry: u32,
        found: Vec<Option<String>>,
    ) -> Option<Vec<ClientRoot>> {
        self.roots.look_up(inquiry, found)
    }

    /// Ends an inquiry without an answer; returns the previous roots.
    pub(crate) fn give_up_roots_inquiry(&mut self) -> Option<Vec<ClientRoot>> {
        self.roots.give_up()
    }

    /// Sets the client's roots; returns their paths.
    pub(crate) fn set_roots(&mut self, roots: Vec<ClientRoot>) -> Vec<String> {
        let paths: Vec<String> = roots.iter().filter_map(|root| root.path().map(str::to_owned)).collect();
        self.known.client.clone_from(&paths);
        self.roots.tell(roots);
        paths
    }
}
