//! The name of an address: a hash of its world and identity. It must be the same in every version of the
//! program, so the hash function is written out here. A collision would only confuse processes of the same user.

/// Number of digits that identify the world.
const WORLD_DIGITS: usize = 6;
const NAME_DIGITS: usize = 16;

/// The world's digits come first, so that one folder can hold addresses of several worlds.
pub(super) fn of(world: &[u8], identity: &[u8]) -> String {
    let mut name = digits(hash(&[world]), WORLD_DIGITS);
    name.push_str(&digits(hash(&[world, identity]), NAME_DIGITS - WORLD_DIGITS));
    name
}

/// Whether the name belongs to this world.
pub(super) fn is_of(name: &str, world: &[u8]) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.len() == NAME_DIGITS
        && name.bytes().all(is_digit)
        && name.starts_with(&digits(hash(&[world]), WORLD_DIGITS))
}

/// The topmost digits, which the multiplications mix best.
fn digits(hash: u128, count: usize) -> String {
    format!("{hash:032x}")[..count].to_owned()
}

/// 128-bit FNV-1a over the parts and their lengths.
fn hash(parts: &[&[u8]]) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let bytes = parts
        .iter()
        .flat_map(|part| (part.len() as u64).to_le_bytes().into_iter().chain(part.iter().copied()));
    // Extra rounds, so that the last bytes affect the topmost digits.
    bytes.chain([0; 16]).fold(BASIS, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn name_is_stable_across_versions() {
        assert_eq!(of(b"world", b"identity"), "62945334416b18f4");
        assert_eq!(of(b"", b""), "c5975d28ee198ca5");
    }

    #[test]
    fn similar_identities_have_different_names() {
        let names: HashSet<String> =
            (0..10_000u32).map(|n| of(b"world", format!("/a/path/{n}").as_bytes())).collect();
        assert_eq!(names.len(), 10_000);
        let last: HashSet<String> = (0..=255u8).map(|last| of(&[last], &[])).collect();
        assert_eq!(last.len(), 256);
        assert_ne!(of(b"ab", b"c"), of(b"a", b"bc"));
    }

    #[test]
    fn name_identifies_its_world() {
        assert!(is_of(&of(b"here", b"x"), b"here"));
        assert!(!is_of(&of(b"here", b"x"), b"there"));
        for other in ["", "short", "../../../../../x"] {
            assert!(!is_of(other, b"here"), "{other}");
        }
    }
}
