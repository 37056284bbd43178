//! Retries of one message: sent again only where that is safe.

use super::budget::{jittered, pause};
use super::fault::{Fault, Prospect};
use super::requests::RemoteRequest;
use std::time::Duration;

pub(super) const MAX_CONNECTS: u32 = 5;
const MAX_WAITS: u32 = 3;
/// Longest wait before a message is sent again.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(30);

/// Retries of one message, by cause.
#[derive(Default)]
pub(super) struct Retries {
    connects: u32,
    waits: u32,
    is_repeated: bool,
}

impl Retries {
    /// Pause before the next attempt; `None` gives up.
    pub(super) fn after(&mut self, fault: &Fault, request: &RemoteRequest) -> Option<Duration> {
        match fault {
            // Nothing was sent.
            Fault::Unreachable { prospect: Prospect::Soon, .. } if self.connects < MAX_CONNECTS => {
                self.connects += 1;
                Some(pause(self.connects - 1))
            }
            // The request may have been executed, which changed nothing.
            Fault::Broken { .. } | Fault::NotResumed { .. }
                if request.is_repeatable() && !self.is_repeated =>
            {
                self.is_repeated = true;
                Some(pause(0))
            }
            Fault::Busy { after, .. } if request.is_repeatable() && self.waits < MAX_WAITS => {
                self.waits += 1;
                let wait = after.map_or_else(|| pause(self.waits + 2), jittered_up);
                // A longer wait is left to the client, which is told the time.
                Some(wait).filter(|wait| *wait <= MAX_RETRY_WAIT)
            }
            _ => None,
        }
    }
}

/// Adds a little jitter, never going below the requested time.
fn jittered_up(time: Duration) -> Duration {
    time + jittered(Duration::from_millis(200))
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_protocol::{Method, Outgoing, RawId};

    fn request(method: &str) -> RemoteRequest {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
        RemoteRequest::of(&Outgoing::request(Method::from_name(method), RawId::from_number(1), text.into()))
    }

    #[test]
    fn call_is_resent_only_if_unsent() {
        let unreachable = Fault::Unreachable { why: String::new(), hint: "", prospect: Prospect::Soon };
        let broken = Fault::Broken { why: String::new() };
        let busy = |seconds| Fault::Busy {
            status: 503,
            after: Some(Duration::from_secs(seconds)),
            said: String::new(),
        };
        let tries = |method: &str, fault: &Fault| {
            let (mut again, request) = (Retries::default(), request(method));
            std::iter::from_fn(|| again.after(fault, &request)).take(100).count()
        };
        assert_eq!(tries("tools/call", &unreachable), MAX_CONNECTS as usize);
        assert_eq!(tries("tools/call", &broken), 0);
        assert_eq!(tries("tools/call", &busy(1)), 0);
        assert_eq!(tries("tools/list", &broken), 1);
        assert_eq!(tries("tools/list", &busy(1)), MAX_WAITS as usize);
        assert_eq!(tries("tools/list", &busy(3600)), 0);
        assert_eq!(tries("some/other", &broken), 0);
        for prospect in [Prospect::Later, Prospect::Never] {
            let unreachable = Fault::Unreachable { why: String::new(), hint: "", prospect };
            assert_eq!(tries("tools/list", &unreachable), 0);
        }
    }
}
