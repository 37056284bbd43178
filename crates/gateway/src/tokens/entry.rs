//! One stored token: its name, its hash, its rights and limits. Pure.

use super::secret::Digest;
use super::spelling;
use crate::hex::{hex, unhex};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use switchboard_core::access::{CallLimits, Rights};

/// Rights and limits of a token to be made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewToken {
    pub name: String,
    /// `None` means that it does not expire.
    pub lifetime: Option<Duration>,
    pub rights: RightsEntry,
    pub profile: Option<String>,
    /// As written: `5/min`.
    pub rate: Option<String>,
    pub burst: Option<NonZeroU32>,
    pub concurrent: Option<NonZeroU32>,
}

/// Patterns as written: `!` in front denies. An empty list allows everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RightsEntry {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<String>,
}

/// A stored token. Unknown members are an error: a restriction that this release does not know must not be
/// ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenEntry {
    pub name: String,
    sha256: HexDigest,
    /// In seconds since 1970, as is `expires`.
    created: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<u64>,
    #[serde(default)]
    pub rights: RightsEntry,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rate: Option<RateText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<NonZeroU32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<NonZeroU32>,
}

/// A digest, in hexadecimal in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct HexDigest(Digest);

/// A rate that can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct RateText(String);

impl TokenEntry {
    /// The entry of a new token. The rate must be one that [`spelling::rate`] accepts.
    pub(super) fn new(new: NewToken, digest: Digest, now: SystemTime) -> Self {
        let NewToken { name, lifetime, rights, profile, rate, burst, concurrent } = new;
        let created = seconds(now);
        Self {
            name,
            sha256: HexDigest(digest),
            created,
            expires: lifetime.map(|time| created.saturating_add(time.as_secs())),
            rights,
            profile,
            rate: rate.map(RateText),
            burst,
            concurrent,
        }
    }

    pub(super) fn digest(&self) -> &Digest {
        &self.sha256.0
    }

    pub fn created(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.created)
    }

    pub fn expires(&self) -> Option<SystemTime> {
        self.expires.and_then(|at| UNIX_EPOCH.checked_add(Duration::from_secs(at)))
    }

    pub fn is_expired(&self, now: SystemTime) -> bool {
        self.expires.is_some_and(|at| at <= seconds(now))
    }

    /// The rate as written: `5/min`.
    pub fn rate(&self) -> Option<&str> {
        self.rate.as_ref().map(|rate| rate.0.as_str())
    }

    /// The token's own rights; `None` if they allow everything.
    pub(super) fn rights(&self) -> Option<Arc<Rights>> {
        let RightsEntry { servers, tools, prompts, resources, methods } = &self.rights;
        let rights = Rights {
            servers: spelling::patterns(servers),
            tools: spelling::patterns(tools),
            prompts: spelling::patterns(prompts),
            resources: spelling::patterns(resources),
            methods: spelling::patterns(methods),
        };
        (!rights.is_open()).then(|| Arc::new(rights))
    }

    pub(super) fn limits(&self) -> CallLimits {
        let rate = self.rate().and_then(|rate| spelling::rate(rate).ok());
        let rate = rate.map(|rate| self.burst.map_or(rate, |burst| rate.with_burst(burst)));
        CallLimits { rate, concurrent: self.concurrent }
    }
}

/// Whole seconds since 1970.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

impl TryFrom<String> for HexDigest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let bytes = unhex(&text).and_then(|bytes| Digest::try_from(bytes).ok());
        bytes.map(Self).ok_or("`sha256` is not a SHA-256 in hexadecimal")
    }
}

impl From<HexDigest> for String {
    fn from(digest: HexDigest) -> Self {
        hex(&digest.0)
    }
}

impl TryFrom<String> for RateText {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        spelling::rate(&text)?;
        Ok(Self(text))
    }
}

impl From<RateText> for String {
    fn from(rate: RateText) -> Self {
        rate.0
    }
}
