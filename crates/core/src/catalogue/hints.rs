//! Cache hints of lists (MCP 2026-07-28): how long a client may take a list for fresh, and who may share it. Pure
//! values. Must not know the time: the age of a list is not part of it.

use super::scan;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Hints of one server about one list, as far as it gave any.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hints {
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_scope: Option<CacheScope>,
}

/// Who may be shown a result that another client got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    Public,
    Private,
}

/// Hints as a client gets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freshness {
    pub ttl_ms: u64,
    pub scope: CacheScope,
}

impl Hints {
    /// Hints in the `result` of an answer. Anything that is not a hint counts as absent.
    pub fn of_result(result: &[u8]) -> Self {
        let part = |name| Some(&result[scan::member(result, name).ok()??.range()]);
        let ttl_ms = part("ttlMs").and_then(|raw| serde_json::from_slice::<f64>(raw).ok());
        let cache_scope = part("cacheScope").and_then(|raw| serde_json::from_slice(raw).ok());
        // The conversion is exact for integers up to 2^53, and negative numbers become 0.
        Self { ttl_ms: ttl_ms.map(|ttl| ttl as u64), cache_scope }
    }

    /// Hints for all pages of a list together.
    pub(super) fn of_pages<'a>(pages: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let all: Vec<Self> = pages.into_iter().map(Self::of_result).collect();
        if all.iter().all(|hints| *hints == Self::default()) {
            return Self::default();
        }
        let Freshness { ttl_ms, scope } = Freshness::of_all(all.into_iter().map(Self::freshness));
        Self { ttl_ms: Some(ttl_ms), cache_scope: Some(scope) }
    }

    /// The same for a list whose age is not known: from now on it may be stale.
    pub(super) fn aged(self) -> Self {
        Self { ttl_ms: self.ttl_ms.map(|_| 0), ..self }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The time for which a list is fresh, if its server has said so.
    pub(crate) fn ttl(self) -> Option<Duration> {
        self.ttl_ms.map(Duration::from_millis)
    }

    /// The hints with defaults where the server gave none.
    pub fn freshness(self) -> Freshness {
        Freshness { ttl_ms: self.ttl_ms.unwrap_or(0), scope: self.cache_scope.unwrap_or(CacheScope::Private) }
    }
}

impl Freshness {
    /// Stale at once, and for nobody else.
    pub const NONE: Self = Self { ttl_ms: 0, scope: CacheScope::Private };

    /// Hints for a result made of these: as fresh as the one that expires first, private if one of them is.
    pub fn of_all(parts: impl IntoIterator<Item = Self>) -> Self {
        parts.into_iter().reduce(Self::and).unwrap_or(Self::NONE)
    }

    fn and(self, other: Self) -> Self {
        let scope = match (self.scope, other.scope) {
            (CacheScope::Public, CacheScope::Public) => CacheScope::Public,
            (CacheScope::Private, _) | (_, CacheScope::Private) => CacheScope::Private,
        };
        Self { ttl_ms: self.ttl_ms.min(other.ttl_ms), scope }
    }

    /// The same for one client only.
    pub(super) fn private(self) -> Self {
        Self { scope: CacheScope::Private, ..self }
    }
}

impl CacheScope {
    pub fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(ttl_ms: u64, scope: CacheScope) -> Freshness {
        Freshness { ttl_ms, scope }
    }

    #[test]
    fn hints_are_read() {
        use CacheScope::{Private, Public};
        for (result, expect) in [
            (r#"{"ttlMs":300000,"cacheScope":"public","tools":[]}"#, fresh(300_000, Public)),
            (r#"{"tools":[{"ttlMs":1}],"cacheScope":"private", "ttlMs" : 1.5e3 }"#, fresh(1500, Private)),
            (r#"{"ttlMs":-5,"cacheScope":"PUBLIC"}"#, fresh(0, Private)),
            (r#"{"ttlMs":"7","cacheScope":7}"#, fresh(0, Private)),
            (r#"{"cacheScope":"public"}"#, fresh(0, Public)),
            ("[]", fresh(0, Private)),
        ] {
            assert_eq!(Hints::of_result(result.as_bytes()).freshness(), expect, "{result}");
        }
    }

    #[test]
    fn pages_share_the_strictest_hints() {
        let of = |pages: &[&str]| Hints::of_pages(pages.iter().map(|page| page.as_bytes()));
        let long = r#"{"ttlMs":9,"cacheScope":"public"}"#;
        let short = r#"{"ttlMs":5,"cacheScope":"public"}"#;
        assert_eq!(of(&[long, short]).freshness(), fresh(5, CacheScope::Public));
        assert_eq!(of(&[long, "{}"]).freshness(), fresh(0, CacheScope::Private));
        assert!(of(&["{}", "{}"]).is_empty() && of(&[]).is_empty(), "a legacy server gives none");
        assert_eq!(of(&[long]).aged().freshness(), fresh(0, CacheScope::Public));
    }

    #[test]
    fn merged_hints_are_the_strictest() {
        use CacheScope::{Private, Public};
        let all = |parts: &[Freshness]| Freshness::of_all(parts.iter().copied());
        assert_eq!(all(&[fresh(9, Public), fresh(5, Public)]), fresh(5, Public));
        assert_eq!(all(&[fresh(9, Public), fresh(50, Private)]), fresh(9, Private));
        assert_eq!(all(&[]), Freshness::NONE);
    }
}
