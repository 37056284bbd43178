//! The content of one file: the pins of a launch, with dates and definitions for people. Every part is bounded,
//! since servers choose it.

use crate::hex::hex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::SystemTime;
use switchboard_core::catalogue::Digest;
use switchboard_core::pins::{MAX_APPROVED, MAX_CHANGED, Pin, PinNews, Pins, Sight};
use switchboard_core::text::dates::Timestamp;

/// Format of the files. To be raised when older versions of the program cannot read newer files.
const FORMAT_VERSION: u32 = 1;

/// Longest definition that is stored as text, and the limit for all of a file. Beyond it a change can be approved,
/// but not shown.
const MAX_DEFINITION_BYTES: usize = 64 << 10;
const MAX_DEFINITIONS_BYTES: usize = 8 << 20;

/// Pins of one launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredPins {
    format: u32,
    /// For readers of the folder; one launch may have several names.
    server: String,
    /// An earlier file was lost, so nothing is approved at first sight.
    #[serde(default, skip_serializing_if = "is_false")]
    is_closed: bool,
    tools: BTreeMap<String, StoredTool>,
}

/// Pins of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredTool {
    /// The latest first.
    pub approved: Vec<Definition>,
    /// Kinds of clients that have seen it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    seen_by: Vec<String>,
    /// The latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<Definition>,
}

/// A definition that a server was seen with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// Of its canonical form, in hexadecimal.
    pub sha256: String,
    /// Time of the approval, or of the first sight of a change.
    pub date: String,
    /// The server's own words, unless they are too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Definition {
    fn new(digest: Digest, text: &[u8], now: SystemTime) -> Self {
        let text = (text.len() <= MAX_DEFINITION_BYTES).then(|| String::from_utf8_lossy(text).into_owned());
        Self { sha256: hex(digest.bytes()), date: Timestamp(now).to_string(), text }
    }

    fn is(&self, digest: Digest) -> bool {
        self.sha256 == hex(digest.bytes())
    }

    fn digest(&self) -> Option<Digest> {
        let digit = |at: usize| u8::from_str_radix(self.sha256.get(2 * at..2 * at + 2)?, 16).ok();
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = digit(at)?;
        }
        (self.sha256.len() == 64).then(|| Digest::new(bytes))
    }
}

impl StoredTool {
    fn approve(&mut self, new: Definition) {
        self.changed.retain(|changed| changed.sha256 != new.sha256);
        self.approved.retain(|known| known.sha256 != new.sha256);
        self.approved.insert(0, new);
        self.approved.truncate(MAX_APPROVED);
        // A change is shown against the latest one.
        self.approved.iter_mut().skip(1).for_each(|older| older.text = None);
    }

    fn see(&mut self, Sight(number): Sight) {
        let word = format!("{number:016x}");
        if !self.seen_by.contains(&word) {
            self.seen_by.push(word);
        }
    }

    fn pin(&self) -> Option<Pin> {
        let digests =
            |all: &[Definition]| all.iter().map(Definition::digest).collect::<Option<Vec<Digest>>>();
        let sight = |word: &String| u64::from_str_radix(word, 16).ok().map(Sight);
        let sights = self.seen_by.iter().map(sight).collect::<Option<Vec<Sight>>>()?;
        Some(Pin::new(digests(&self.approved)?, sights, digests(&self.changed)?))
    }
}

impl StoredPins {
    pub(super) fn new(server: &str, is_closed: bool) -> Self {
        Self { format: FORMAT_VERSION, server: server.to_owned(), is_closed, tools: BTreeMap::new() }
    }

    /// Parses a file. The error is for people.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let stored: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if stored.format > FORMAT_VERSION {
            return Err("it was written by a newer release of Switchboard".to_owned());
        }
        // Also checks that everything in it can be read.
        stored.pins().map(|_| stored).ok_or_else(|| "it has a digest that is none".to_owned())
    }

    /// The pins as the core needs them.
    pub(super) fn pins(&self) -> Option<Pins> {
        let pin = |(name, tool): (&String, &StoredTool)| Some((name.as_str().into(), tool.pin()?));
        let tools = self.tools.iter().map(pin).collect::<Option<Vec<_>>>()?;
        Some(Pins::new(tools, self.is_closed))
    }

    pub fn tools(&self) -> &BTreeMap<String, StoredTool> {
        &self.tools
    }

    /// Tools with a definition that is not approved.
    pub fn changed(&self) -> impl Iterator<Item = (&String, &StoredTool)> {
        self.tools.iter().filter(|(_, tool)| !tool.changed.is_empty())
    }

    /// Approves changed definitions, by tool and digest: those that the owner was shown.
    pub(super) fn approve(&mut self, shown: &[(String, Vec<String>)], now: SystemTime) {
        for (name, digests) in shown {
            let Some(tool) = self.tools.get_mut(name) else { continue };
            for digest in digests {
                let at = tool.changed.iter().position(|changed| changed.sha256 == *digest);
                if let Some(changed) = at.map(|at| tool.changed.remove(at)) {
                    tool.approve(Definition { date: Timestamp(now).to_string(), ..changed });
                }
            }
        }
        // The owner has seen everything that there is to approve.
        if self.changed().next().is_none() {
            self.is_closed = false;
        }
    }

    /// Applies what the core has found.
    pub(super) fn apply(&mut self, news: &[PinNews], now: SystemTime) {
        for it in news {
            match it {
                PinNews::FirstSight { tool, digest, sight, definition } => {
                    let tool = self.tools.entry(tool.to_string()).or_default();
                    tool.see(*sight);
                    // Another process may have stored it before, with its date.
                    if !tool.approved.iter().any(|known| known.is(*digest)) {
                        tool.approve(Definition::new(*digest, definition, now));
                    }
                }
                PinNews::Seen { tool, sight } => {
                    self.tools.entry(tool.to_string()).or_default().see(*sight);
                }
                PinNews::Changed { tool, digest, sight, definition } => {
                    let tool = self.tools.entry(tool.to_string()).or_default();
                    tool.see(*sight);
                    let is_known = |known: &Definition| known.is(*digest);
                    // The owner may have approved it meanwhile.
                    if tool.approved.iter().any(is_known) || tool.changed.iter().any(is_known) {
                        continue;
                    }
                    tool.changed.push(Definition::new(*digest, definition, now));
                    let excess = tool.changed.len().saturating_sub(MAX_CHANGED);
                    tool.changed.drain(..excess);
                }
                PinNews::Restored { tool } => {
                    if let Some(tool) = self.tools.get_mut(&**tool) {
                        tool.changed.clear();
                    }
                }
                PinNews::Dropped { tool, digest } => {
                    if let Some(tool) = self.tools.get_mut(&**tool) {
                        tool.approved.retain(|known| !known.is(*digest));
                    }
                }
                PinNews::Forgotten => {
                    self.tools.clear();
                    self.is_closed = false;
                }
            }
        }
        self.limit_texts();
    }

    /// Removes texts beyond the limit. Those of changes stay longest.
    fn limit_texts(&mut self) {
        let mut left = MAX_DEFINITIONS_BYTES;
        let mut keep = |definition: &mut Definition| {
            let length = definition.text.as_ref().map_or(0, String::len);
            match left.checked_sub(length) {
                Some(rest) => left = rest,
                None => definition.text = None,
            }
        };
        self.tools.values_mut().flat_map(|tool| &mut tool.changed).for_each(&mut keep);
        self.tools.values_mut().flat_map(|tool| &mut tool.approved).for_each(&mut keep);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tools.is_empty() && !self.is_closed
    }
}
