//! The median of several values, and the quartiles around it.

use std::fmt;

pub(crate) struct Spread {
    pub(crate) median: f64,
    quartiles: (f64, f64),
}

impl Spread {
    /// `None` if there are no values.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        let at = |quarter: usize| values.get(values.len().checked_sub(1)? * quarter / 4).copied();
        Some(Self { median: at(2)?, quartiles: (at(1)?, at(3)?) })
    }
}

/// Formats with as many decimals as the precision.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(1);
        let (first, third) = self.quartiles;
        write!(f, "{:.digits$} ({first:.digits$}–{third:.digits$})", self.median)
    }
}
