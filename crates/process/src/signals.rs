//! Requests to terminate, from the system or from our parent. Must not know what follows from one.

use std::io;

/// A stream of such requests.
pub struct Signals(os::OsSignals);

impl Signals {
    /// From here on these signals no longer end the process by themselves.
    pub fn new() -> io::Result<Self> {
        os::OsSignals::new().map(Self)
    }

    /// Waits for the next signal and returns its name.
    pub async fn next(&mut self) -> &'static str {
        self.0.next().await
    }
}

#[cfg(unix)]
mod os {
    use std::io;
    use tokio::signal::unix::{Signal, SignalKind, signal};

    pub(super) struct OsSignals {
        terminate: Signal,
        interrupt: Signal,
        hang_up: Signal,
    }

    impl OsSignals {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self {
                terminate: signal(SignalKind::terminate())?,
                interrupt: signal(SignalKind::interrupt())?,
                hang_up: signal(SignalKind::hangup())?,
            })
        }

        pub(super) async fn next(&mut self) -> &'static str {
            tokio::select! {
                _ = self.terminate.recv() => "SIGTERM",
                _ = self.interrupt.recv() => "SIGINT",
                _ = self.hang_up.recv() => "SIGHUP",
            }
        }
    }
}

#[cfg(windows)]
mod os {
    use std::io;
    use tokio::signal::windows::{
        CtrlBreak, CtrlC, CtrlClose, CtrlLogoff, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close, ctrl_logoff,
        ctrl_shutdown,
    };

    pub(super) struct OsSignals {
        ctrl_c: CtrlC,
        ctrl_break: CtrlBreak,
        close: CtrlClose,
        logoff: CtrlLogoff,
        shutdown: CtrlShutdown,
    }

    impl OsSignals {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self {
                ctrl_c: ctrl_c()?,
                ctrl_break: ctrl_break()?,
                close: ctrl_close()?,
                logoff: ctrl_logoff()?,
                shutdown: ctrl_shutdown()?,
            })
        }

        pub(super) async fn next(&mut self) -> &'static str {
            tokio::select! {
                _ = self.ctrl_c.recv() => "Ctrl-C",
                _ = self.ctrl_break.recv() => "Ctrl-Break",
                _ = self.close.recv() => "the console was closed",
                _ = self.logoff.recv() => "the user logged off",
                _ = self.shutdown.recv() => "the system is shutting down",
            }
        }
    }
}
