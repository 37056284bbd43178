//! Redaction: secrets are masked in every text that leaves Switchboard other than as a message to its receiver.
//! Two nets, one behind the other: exact values that the config is known to hold ([`Secrets`]), and
//! texts that are written as secrets usually are ([`redact`]). Must not know where a text comes from.
//!
//! # Layout
//! - `shape`: whether a text looks random or can be read. `names`: names that announce a secret.
//! - [`judge`]: the secrets among the values of a config.
//! - `forms`: other spellings of a value: JSON, percent-encoding, base64. `values`: search for exact values.
//! - `tokens`: keys of well-known services. `announced`: values after words such as `password:`.
//!   `embedded`: private keys, and passwords in addresses. `patterns`: search for all of these.
//! - `lines`: private keys that span several lines.

mod shape;
mod names;
pub mod judge;
mod forms;
mod values;
mod tokens;
mod announced;
mod embedded;
mod patterns;
mod lines;

pub use lines::KeyLines;
pub use names::announces;

use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use values::Values;

/// The text in place of a secret.
pub const MASK: &str = "[redacted]";

/// Bytes beyond a limit that [`Secrets::redact_cut`] uses: a secret at the limit must be seen whole.
pub const CUT_SLACK_BYTES: usize = forms::MAX_VALUE_BYTES;

/// Enough for the beginning of a key of a well-known service.
const MIN_SLACK_BYTES: usize = 128;

/// The text with everything masked that is written like a secret.
pub fn redact(text: &str) -> String {
    patterns::mask(text).into_owned()
}

/// Exact values that must not be shown, and the search for them. A value of its own kind: copies share memory.
#[derive(Clone, Default)]
pub struct Secrets(Option<Arc<Values>>);

impl Secrets {
    /// No exact values: texts that are written like secrets are masked all the same.
    pub const NONE: Self = Self(None);

    /// These secrets and further ones. Values of fewer than eight bytes are left out: they may occur anywhere.
    pub fn with(&self, more: impl IntoIterator<Item = String>) -> Self {
        match Values::with(self.0.as_deref(), more) {
            Some(values) => Self(Some(Arc::new(values))),
            None => self.clone(),
        }
    }

    /// The text without secrets: neither exact values nor texts that are written like secrets.
    pub fn redact(&self, text: &str) -> String {
        // Exact values first: a pattern may end in the middle of one.
        let text = self.mask_values(text);
        match patterns::mask(&text) {
            Cow::Owned(masked) => masked,
            Cow::Borrowed(_) => text.into_owned(),
        }
    }

    /// The text with exact values masked, for texts of our own that may quote one.
    pub fn mask_values<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.0.as_ref().map_or(Cow::Borrowed(text), |values| values.mask(text))
    }

    /// The first `limit` bytes of a text, without secrets. A secret that the limit cuts in two is masked too:
    /// give [`CUT_SLACK_BYTES`] more than the limit, or the whole text.
    pub fn redact_cut(&self, text: &[u8], limit: usize) -> String {
        let is_cut = text.len() > limit;
        // As much as can belong to a secret at the limit.
        let slack =
            self.0.as_ref().map_or(0, |values| values.longest()).clamp(MIN_SLACK_BYTES, CUT_SLACK_BYTES);
        let text = String::from_utf8_lossy(&text[..text.len().min(limit + slack)]);
        let mut masked = match is_cut {
            // The end of the slack may be half a secret, and masks before it may move it below the limit. Values
            // come first: the last word may be the end of one.
            true => {
                let end = self.0.as_ref().map_or(text.len(), |values| values.whole_until(&text));
                redact(patterns::whole_words(&self.mask_values(&text[..end])))
            }
            false => self.redact(&text),
        };
        let mut end = limit.min(masked.len());
        while !masked.is_char_boundary(end) {
            end -= 1;
        }
        masked.truncate(end);
        masked
    }

    /// Masks the secrets of a JSON value in place, so that it stays JSON.
    pub fn redact_json(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.redact(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.redact_json(value)),
            Value::Object(members) => {
                let all = std::mem::take(members).into_iter().map(|(key, mut value)| {
                    // What a key announces is a secret of any type.
                    if announces(&key) && !judge::is_plain(&value) {
                        value = MASK.into();
                    }
                    self.redact_json(&mut value);
                    (self.redact(&key), value)
                });
                *members = all.collect();
            }
            Value::Number(number) => {
                if let Cow::Owned(masked) = self.mask_values(&number.to_string()) {
                    *value = masked.into();
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

/// Shows the number of values only.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.as_ref().map_or(0, |values| values.len()))
    }
}

#[cfg(test)]
mod tests;
