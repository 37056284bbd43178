//! Test environment.

use std::ffi::OsString;

/// Environment of these variables only.
pub(crate) fn lookup(vars: &[(&str, &str)]) -> impl Fn(&str) -> Option<OsString> {
    let vars: Vec<(String, OsString)> =
        vars.iter().map(|(name, value)| (name.to_string(), value.into())).collect();
    move |name| vars.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}
