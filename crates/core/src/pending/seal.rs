//! The `requestState` of a paused call, encrypted so that a client can neither read nor forge it. Must not know which calls
//! are open.

use crate::ids::{Principal, ServerId};
use crate::moment::Moment;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::Aead;
use chacha20poly1305::{ChaCha20Poly1305, Key, KeyInit, Nonce};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Bytes of a nonce.
const NONCE_BYTES: usize = 12;

/// The content of a state: which call it continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallState {
    /// Minted id of the paused call; `None` for a refused call that is to be sent again.
    pub(crate) paused: Option<u64>,
    /// Unique per state, which is valid once.
    pub(crate) round: u64,
    pub(crate) principal: Principal,
    pub(crate) server: ServerId,
    /// Digest of the method and its parameters.
    pub(crate) digest: [u8; 32],
    pub(crate) expires: Moment,
}

/// Encrypts states with a key that only this process has.
pub(crate) struct Seal {
    cipher: ChaCha20Poly1305,
    /// Number of encrypted states. It is the nonce, which must not repeat under one key.
    sealed: u64,
}

/// The plain text of a state.
#[derive(Serialize, Deserialize)]
struct Plain {
    call: Option<u64>,
    round: u64,
    principal: u32,
    server: u32,
    digest: [u8; 32],
    expires_ms: u64,
}

impl Seal {
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self { cipher: ChaCha20Poly1305::new(&Key::from(key)), sealed: 0 }
    }

    /// The state as text that needs no escapes in JSON.
    pub(crate) fn close(&mut self, state: &CallState) -> String {
        self.sealed += 1;
        let mut nonce = [0; NONCE_BYTES];
        nonce[..8].copy_from_slice(&self.sealed.to_le_bytes());
        let plain = Plain {
            call: state.paused,
            round: state.round,
            principal: state.principal.0,
            server: state.server.0,
            digest: state.digest,
            expires_ms: state.expires.since(Moment::default()).as_millis() as u64,
        };
        let plain = serde_json::to_vec(&plain).unwrap_or_default();
        let sealed = self.cipher.encrypt(&Nonce::from(nonce), plain.as_slice()).unwrap_or_default();
        URL_SAFE_NO_PAD.encode([nonce.as_slice(), &sealed].concat())
    }

    /// Decrypts a state; `None` if this process did not make it.
    pub(crate) fn open(&self, text: &str) -> Option<CallState> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE_BYTES)?;
        let nonce: [u8; NONCE_BYTES] = nonce.try_into().ok()?;
        let plain = self.cipher.decrypt(&Nonce::from(nonce), sealed).ok()?;
        let plain: Plain = serde_json::from_slice(&plain).ok()?;
        Some(CallState {
            paused: plain.call,
            round: plain.round,
            principal: Principal(plain.principal),
            server: ServerId(plain.server),
            digest: plain.digest,
            expires: Moment::default() + Duration::from_millis(plain.expires_ms),
        })
    }
}

/// Hides the key.
impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seal").field("sealed", &self.sealed).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> CallState {
        CallState {
            paused: Some(7),
            round: 2,
            principal: Principal(3),
            server: ServerId(4),
            digest: [5; 32],
            expires: Moment::default() + Duration::from_millis(600_123),
        }
    }

    #[test]
    fn sealed_state_round_trips() {
        let mut seal = Seal::new([1; 32]);
        let (one, other) = (seal.close(&state()), seal.close(&state()));
        assert_ne!(one, other, "each has a nonce of its own");
        assert_eq!(seal.open(&one), Some(state()));
        let again = CallState { paused: None, ..state() };
        let text = seal.close(&again);
        assert_eq!(seal.open(&text), Some(again));
    }

    #[test]
    fn foreign_and_changed_states_are_refused() {
        let mut seal = Seal::new([1; 32]);
        let text = seal.close(&state());
        assert_eq!(Seal::new([2; 32]).open(&text), None, "another process");
        for at in 0..text.len() {
            let other = if text.as_bytes()[at] == b'A' { "B" } else { "A" };
            let changed = format!("{}{other}{}", &text[..at], &text[at + 1..]);
            assert_eq!(seal.open(&changed), None, "changed at {at}");
        }
        for garbage in ["", "A", "AAAAAAAAAAAAAAAA", "not base64!", &text[1..], &text[..text.len() - 1]] {
            assert_eq!(seal.open(garbage), None, "{garbage}");
        }
    }
}
