//! The choice of a limiter, as a setting.

use super::fair::FairLimiter;
use super::limiter::CallLimiter;
use std::fmt;
use std::sync::Arc;

/// Creates the limiter of a core. The default is [`FairLimiter`].
#[derive(Clone, Default)]
pub struct NewLimiter(Option<Arc<dyn Fn() -> Box<dyn CallLimiter> + Send + Sync>>);

impl NewLimiter {
    /// Another policy. It is asked about every call, limits or not.
    pub fn by(create: impl Fn() -> Box<dyn CallLimiter> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(create)))
    }

    pub(crate) fn create(&self) -> Box<dyn CallLimiter> {
        self.0.as_ref().map_or_else(|| Box::new(FairLimiter::default()) as Box<dyn CallLimiter>, |it| it())
    }

    /// Whether calls without configured limits need not be asked about.
    pub(crate) fn is_default(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Debug for NewLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_default() { "FairLimiter" } else { "another limiter" })
    }
}
