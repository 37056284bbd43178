//! Environment variables as values.

use std::ffi::OsString;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// Lookup in an environment; outside tests `&|name| std::env::var_os(name)`.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Names and values. Values may be secrets, so `Debug` shows the names only: nothing logged
/// with `{:?}` may carry a token.
#[derive(Clone, PartialEq, Eq)]
pub struct Variables<T = String>(pub Vec<(T, T)>);

impl<T> Default for Variables<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Deref for Variables<T> {
    type Target = Vec<(T, T)>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T> DerefMut for Variables<T> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl<T> From<Vec<(T, T)>> for Variables<T> {
    fn from(pairs: Vec<(T, T)>) -> Self {
        Self(pairs)
    }
}

impl<T> IntoIterator for Variables<T> {
    type Item = (T, T);
    type IntoIter = std::vec::IntoIter<(T, T)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<T: fmt::Debug> fmt::Debug for Variables<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}
