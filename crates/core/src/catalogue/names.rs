//! Public names of tools and prompts: `server__name`, within the limits of the strictest clients. A short
//! hash of server and name keeps names unique where one had to be altered or two would be equal. Must not
//! know which items exist.

use super::list::List;

/// Longest public name: clients allow 64 characters, and some add `mcp__switchboard__` in front.
pub const MAX_NAME_BYTES: usize = 46;
/// Separator between the names of server and item.
pub const SEPARATOR: &str = "__";
/// An underscore and eight hexadecimal digits.
const HASH_BYTES: usize = 9;
/// Characters of the server's name that a shortened name keeps, however long the item's own name is.
const MIN_SERVER_BYTES: usize = 8;

/// Style of public names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameStyle {
    /// `server__name`; resources are wrapped.
    Prefixed,
    /// The server's own names, unchanged.
    Plain,
}

/// Two items that would have the same name. Reported by `check` and `status`: nothing is hidden silently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    pub list: List,
    /// The contested name.
    pub name: String,
    /// The servers of both; the one that keeps the name, if any, comes first. Just one server if both items
    /// are its own.
    pub servers: Vec<String>,
    /// The new name of the last server's item; `None` if the item is left out.
    pub becomes: Option<String>,
}

/// A public name, and whether it differs from the exact server and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Public {
    pub(super) text: String,
    pub(super) altered: bool,
}

/// Builds `server__name`: characters outside `[a-zA-Z0-9_-]` become `_`, and a name that is too long is
/// shortened and ends in its hash.
pub(super) fn prefixed(server: &str, original: &str, shown: &str) -> Public {
    let text = joined(server, shown);
    if text.len() > MAX_NAME_BYTES {
        return Public { text: hashed(server, original, shown, 0), altered: true };
    }
    // Each character becomes one `_`: the lengths are equal only if everything was ASCII.
    let parts = [server, SEPARATOR, shown].into_iter().flat_map(str::bytes);
    let altered = original != shown || !parts.eq(text.bytes());
    Public { text, altered }
}

/// Appends `server__name` if that is exact, the usual case; `prefix` comes from [`prefix`].
pub(super) fn push_exact(prefix: &str, server: &str, name: &str, out: &mut String) -> bool {
    // The prefix differs from the server's name if one of its characters was replaced.
    let is_exact = prefix.len() + name.len() <= MAX_NAME_BYTES
        && prefix.starts_with(server)
        && name.bytes().all(|b| is_plain(char::from(b)));
    if is_exact {
        out.push_str(prefix);
        out.push_str(name);
    }
    is_exact
}

/// The form with a hash, for names that would collide. Each `attempt` gives another form, in case an earlier
/// one is taken too. The server's part is shortened first: a client that sees forty tools of one server
/// chooses by what follows it.
pub(super) fn hashed(server: &str, original: &str, shown: &str, attempt: u32) -> String {
    const MAX_PARTS_BYTES: usize = MAX_NAME_BYTES - SEPARATOR.len() - HASH_BYTES;
    let (mut server_part, mut own_part) = (plain(server), plain(shown));
    let least = server_part.len().min(MIN_SERVER_BYTES);
    server_part.truncate(MAX_PARTS_BYTES.saturating_sub(own_part.len()).max(least));
    own_part.truncate(MAX_PARTS_BYTES - server_part.len());
    format!("{server_part}{SEPARATOR}{own_part}_{:08x}", fingerprint(server, original, attempt))
}

/// The common prefix of this server's tool names.
pub(super) fn prefix(server: &str) -> String {
    joined(server, "")
}

/// The common beginning of all prefixed names of this server, including shortened ones.
pub(super) fn stem(server: &str) -> String {
    let mut text = prefix(server);
    if text.len() > MIN_SERVER_BYTES + SEPARATOR.len() {
        text.truncate(MIN_SERVER_BYTES);
    }
    text
}

/// Alternatives for a taken name, best first, without end.
pub(super) fn alternatives<'a>(
    style: NameStyle,
    server: &'a str,
    original: &'a str,
    shown: &'a str,
) -> impl Iterator<Item = String> + 'a {
    let first = match style {
        NameStyle::Plain => Some(prefixed(server, original, shown).text),
        NameStyle::Prefixed => None,
    };
    first.into_iter().chain((0..).map(move |attempt| hashed(server, original, shown, attempt)))
}

fn joined(server: &str, shown: &str) -> String {
    let mut text = String::with_capacity(server.len() + SEPARATOR.len() + shown.len());
    for part in [server, SEPARATOR, shown] {
        text.extend(part.chars().map(plain_char));
    }
    text
}

/// ASCII only, so that it can be cut anywhere.
fn plain(text: &str) -> String {
    text.chars().map(plain_char).collect()
}

fn plain_char(c: char) -> char {
    if is_plain(c) { c } else { '_' }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// 64-bit FNV-1a over the server's name, a zero byte and the original name (and, from the second attempt on,
/// a zero byte and its number in little-endian order); both halves are combined by exclusive or. Clients
/// store names in permissions and histories, so this must never change.
fn fingerprint(server: &str, original: &str, attempt: u32) -> u32 {
    let more = attempt.to_le_bytes();
    let more: &[u8] = if attempt == 0 { &[] } else { &more };
    let separator: &[u8] = if attempt == 0 { &[] } else { &[0] };
    let hash = fnv1a([server.as_bytes(), &[0], original.as_bytes(), separator, more].into_iter().flatten());
    (hash >> 32) as u32 ^ hash as u32
}

pub(super) fn fnv1a<'a>(bytes: impl Iterator<Item = &'a u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(server: &str, name: &str) -> String {
        prefixed(server, name, name).text
    }

    #[test]
    fn names_are_prefixed_cleaned_and_cut() {
        assert_eq!(name("git", "commit"), "git__commit");
        assert_eq!(name("my.server", "read file"), "my_server__read_file");
        assert_eq!(name("git", "größe"), "git__gr__e");
        assert!(!prefixed("git", "commit", "commit").altered);
        assert!(prefixed("git", "größe", "größe").altered);
        assert!(prefixed("git", "commit", "record").altered);
        // Exactly at the limit, and one more.
        assert_eq!(name("s", &"x".repeat(43)).len(), 46);
        assert!(!prefixed("s", &"x".repeat(43), &"x".repeat(43)).altered);
        assert_eq!(name("s", &"x".repeat(44)), format!("s__{}_dd4888b5", "x".repeat(34)));
    }

    #[test]
    fn server_part_is_shortened_first() {
        let server = "my-company-internal-knowledge-base-server";
        assert_eq!(name(server, "read_file"), "my-company-internal-knowle__read_file_63862966");
        assert_eq!(
            name(server, "search_the_whole_archive"),
            "my-company-__search_the_whole_archive_262c594a"
        );
        let long = "x".repeat(60);
        assert_eq!(name(server, &long), format!("my-compa__{}_e00d581a", "x".repeat(27)));
        // A server with a short name keeps it, and its tools keep their names.
        assert_eq!(name("eight-ch", &long), format!("eight-ch__{}_1a08b3f0", "x".repeat(27)));
    }

    #[test]
    fn hash_is_the_documented_one() {
        assert_eq!(fnv1a(b"".iter()), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"foobar".iter()), 0x8594_4171_f739_67e8);
    }

    proptest! {
        #[test]
        fn names_respect_alphabet_and_length(server in ".{0,60}", tool in ".{0,80}", attempt in 0u32..3) {
            let public = prefixed(&server, &tool, &tool);
            prop_assert_eq!(&public, &prefixed(&server, &tool, &tool));
            let forms = [public.text, hashed(&server, &tool, &tool, attempt)];
            for text in forms {
                prop_assert!(text.len() <= MAX_NAME_BYTES);
                prop_assert!(text.chars().all(is_plain));
                prop_assert!(text.starts_with(&stem(&server)));
            }
        }

        #[test]
        fn unaltered_name_is_exact(server in "[a-c._]{1,5}", tool in "[a-c._]{1,5}") {
            let public = prefixed(&server, &tool, &tool);
            prop_assert_eq!(!public.altered, public.text == format!("{server}__{tool}"));
            let mut exact = String::new();
            prop_assert_eq!(push_exact(&prefix(&server), &server, &tool, &mut exact), !public.altered);
            prop_assert!(public.altered || exact == public.text);
        }
    }
}
