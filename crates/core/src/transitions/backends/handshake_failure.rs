//! Running processes that do not answer `initialize`, or refuse it. They are stopped; waiting clients are
//! told the reason, not the signal that stopped the process.

use crate::answers::Cause;
use crate::backends::{AfterStop, HandshakeFailure};
use crate::core::Core;
use crate::event::StopHow;
use crate::fact::Fact;
use crate::ids::{BackendId, Launch};
use crate::servers::LastStart;

impl Core {
    /// Stops a process whose handshake failed. Its last words are known once it is gone.
    pub(crate) fn give_up(&mut self, launch: Launch, failure: HandshakeFailure) {
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        // A process that is being stopped has a reason already.
        if b.is_starting() {
            let why = failure.why();
            b.record_crash(self.clock.now());
            b.begin_stop(AfterStop::Fail(failure));
            self.report(Fact::Stopping { backend: launch.backend, why });
        }
        // Even if it is being stopped already: a kill cuts the grace period short.
        self.stop(launch, StopHow::Kill);
    }

    /// Handles the end of a process that was stopped because of its handshake.
    pub(crate) fn handshake_failed(&mut self, backend: BackendId, failure: HandshakeFailure, stderr: &str) {
        let said = self.last_words(backend, stderr);
        let why = failure.why();
        let cause = match failure {
            HandshakeFailure::Silent { within } => Cause::Silent { within, said },
            HandshakeFailure::Refused { message } => Cause::Refused { message },
        };
        self.record_start(backend, LastStart::Failed);
        self.fail_with(backend, &cause, why);
        self.recover(backend, why);
    }
}
