//! Profiles of the current config, for fronts that look them up by name. The core applies their rights.

use std::sync::Arc;
use switchboard_core::access::Rights;
use switchboard_core::text::nearest::nearest_key;
use switchboard_process::lock::Lock;

/// The profiles, replaced by a reload.
#[derive(Debug, Default)]
pub(crate) struct Profiles(Lock<Vec<(Arc<str>, Arc<Rights>)>>);

impl Profiles {
    pub(crate) fn new(profiles: &[(String, Arc<Rights>)]) -> Self {
        let all = Self::default();
        all.set(profiles);
        all
    }

    pub(crate) fn set(&self, profiles: &[(String, Arc<Rights>)]) {
        *self.0.lock() =
            profiles.iter().map(|(name, rights)| (name.as_str().into(), rights.clone())).collect();
    }

    pub(crate) fn find(&self, name: &str) -> Option<(Arc<str>, Arc<Rights>)> {
        self.0.lock().iter().find(|(known, _)| **known == *name).cloned()
    }

    /// Error text for an unknown name.
    pub(crate) fn there_is_no(&self, name: &str) -> String {
        let known = self.0.lock();
        let (problem, hint) = unknown(name, &known.iter().map(|(name, _)| &**name).collect::<Vec<&str>>());
        format!("{problem}; {hint}")
    }
}

/// Error text for a profile that is not in a config, and a hint.
pub fn unknown_profile(name: &str, profiles: &[(String, Arc<Rights>)]) -> (String, String) {
    unknown(name, &profiles.iter().map(|(name, _)| name.as_str()).collect::<Vec<&str>>())
}

fn unknown(name: &str, known: &[&str]) -> (String, String) {
    const MAX_LISTED_NAMES: usize = 12;
    let hint = match nearest_key(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "the config has no `profiles`".to_owned(),
        None => format!("there are: {}", known[..known.len().min(MAX_LISTED_NAMES)].join(", ")),
    };
    (format!("there is no profile `{name}`"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_profile_names_the_nearest() {
        let profiles: Vec<(String, Arc<Rights>)> =
            ["work", "review"].map(|name| (name.to_owned(), Arc::default())).into();
        assert_eq!(unknown_profile("wrok", &profiles).1, "did you mean `work`?");
        assert_eq!(unknown_profile("x", &profiles).1, "there are: work, review");
        assert_eq!(unknown_profile("x", &[]).1, "the config has no `profiles`");
        let known = Profiles::new(&profiles);
        assert_eq!(known.there_is_no("wrok"), "there is no profile `wrok`; did you mean `work`?");
        assert!(known.find("work").is_some() && known.find("wrok").is_none());
        known.set(&[]);
        assert!(known.find("work").is_none());
    }
}
