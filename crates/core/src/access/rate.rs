//! Limits on calls, as configured. Calls are `tools/call`, `resources/read` and `prompts/get`.

use std::num::NonZeroU32;
use std::time::Duration;

/// A number of calls per period, and how many may come at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    pub calls: NonZeroU32,
    pub period: Duration,
    /// Calls that may come at once after a pause.
    pub burst: NonZeroU32,
}

/// Limits on the calls of one identity, to one server, or of one tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallLimits {
    pub rate: Option<Rate>,
    /// Calls in progress at a time.
    pub concurrent: Option<NonZeroU32>,
}

impl CallLimits {
    pub fn is_open(&self) -> bool {
        self.rate.is_none() && self.concurrent.is_none()
    }
}
