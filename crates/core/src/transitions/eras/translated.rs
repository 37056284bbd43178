//! Processes that do not speak the era of their clients: each has a translator. A legacy client's `initialize` goes to a
//! modern server as `server/discover`. Must not know how messages are translated.

use crate::core::Core;
use crate::ids::Launch;
use crate::messages::own_message;
use crate::settings::EraChoice;
use crate::translation::{Step, Translator};
use switchboard_protocol::{Era, Message, Outgoing};

impl Core {
    /// Chooses a translator for a process that is about to get `initialize`, if its server wants none.
    pub(crate) fn choose_translator(&mut self, launch: Launch) {
        let Some(b) = self.backends.get(&launch.backend).filter(|b| !b.is_translated()) else { return };
        let is_legacy = b.handshake().era() == Era::Legacy;
        if !is_legacy || b.settings().era != EraChoice::Fixed(Era::Modern) {
            return;
        }
        if let Some(b) = self.backends.get_mut(&launch.backend).filter(|b| b.is_current(launch)) {
            b.translate(Translator::for_legacy());
        }
    }

    /// Sends a message through the translator of a process.
    pub(crate) fn translate_to_backend(&mut self, launch: Launch, out: &Outgoing) {
        let Some(b) = self.backends.get_mut(&launch.backend).filter(|b| b.is_current(launch)) else { return };
        let Some(message) = own_message(out.to_vec().into()) else { return };
        let steps = b.translator_mut().map(|it| it.outbound(&message)).unwrap_or_default();
        self.take_steps(launch, steps);
    }

    /// Handles a message of a process through its translator.
    pub(crate) fn translate_from_backend(&mut self, launch: Launch, message: Message) {
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        let steps = b.translator_mut().map(|it| it.inbound(message)).unwrap_or_default();
        self.take_steps(launch, steps);
    }

    /// Writes what goes to the server. What goes to the core waits for the end of the event: whoever sends a request may
    /// not have recorded it yet.
    fn take_steps(&mut self, launch: Launch, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::ToServer(out) => self.write_to_backend(launch, out),
                step @ (Step::ToCore(_) | Step::Ask { .. }) => self.translated.push_back((launch, step)),
            }
        }
    }

    /// Handles the messages that translators have made.
    pub(crate) fn run_translated(&mut self) {
        while let Some((launch, step)) = self.translated.pop_front() {
            // Of a process that has ended meanwhile.
            if !self.backends.get(&launch.backend).is_some_and(|b| b.is_current(launch)) {
                continue;
            }
            match step {
                Step::ToServer(out) => self.write_to_backend(launch, out),
                Step::ToCore(message) => self.backend_says(launch, message),
                Step::Ask { about, question } => self.backend_request(launch, &question, Some(about)),
            }
        }
    }
}
