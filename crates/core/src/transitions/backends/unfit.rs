//! Processes that run and are of no use: their handshake is not answered, or refused. They are stopped, and whoever waits
//! learns the reason, not the signal that stopped them.

use crate::answers::Cause;
use crate::backends::{AfterStop, BackendState, HandshakeFailure};
use crate::core::Core;
use crate::event::StopHow;
use crate::fact::Fact;
use crate::ids::{BackendId, Launch};
use crate::servers::LastStart;

impl Core {
    /// Stops a process whose handshake came to nothing. Its last words are known once it is gone.
    pub(crate) fn give_up(&mut self, launch: Launch, unfit: HandshakeFailure) {
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        // One that is being stopped has a reason already.
        if let BackendState::Starting { .. } = b.state {
            let why = unfit.why();
            b.record_crash(self.clock.now());
            b.state = BackendState::Stopping { number: launch.number, then: AfterStop::Fail(unfit) };
            self.report(Fact::Stopping { backend: launch.backend, why });
        }
        self.stop(launch, StopHow::Kill);
    }

    /// A process was stopped because of its handshake, and is gone.
    pub(crate) fn handshake_failed(&mut self, backend: BackendId, unfit: HandshakeFailure, stderr: &str) {
        let said = self.last_words(backend, stderr);
        let why = unfit.why();
        let cause = match unfit {
            HandshakeFailure::Silent { within } => Cause::Silent { within, said },
            HandshakeFailure::Refused { message } => Cause::Refused { message },
        };
        self.note_start(backend, LastStart::Failed);
        self.fail_with(backend, &cause, why);
        self.recover(backend, why);
    }
}
