//! Values shared by copies until one changes.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A copy-on-write value: the delegates of a client differ in little.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shared<T>(Arc<T>);

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}
