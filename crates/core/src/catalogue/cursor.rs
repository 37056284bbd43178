//! Page cursors: a view and an offset in it. Opaque to clients; a checksum distinguishes ours from any other
//! text. Must not know the lists.

use super::names::fnv1a;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

pub fn write(view: u64, offset: usize) -> String {
    let mut bytes = [0; 20];
    bytes[..8].copy_from_slice(&view.to_be_bytes());
    bytes[8..16].copy_from_slice(&(offset as u64).to_be_bytes());
    let check = check(&bytes[..16]);
    bytes[16..].copy_from_slice(&check);
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// Decodes the number of the view, and the offset.
pub fn read(text: &str) -> Option<(u64, usize)> {
    // Clients may send anything: only texts of the right length are decoded.
    let bytes: [u8; 20] =
        (text.len() == 27).then(|| BASE64_URL_SAFE_NO_PAD.decode(text).ok())??.try_into().ok()?;
    let (place, sum) = bytes.split_at(16);
    let (view, offset) = place.split_at(8);
    let number = |bytes: &[u8]| bytes.iter().fold(0u64, |number, &b| number << 8 | u64::from(b));
    (check(place) == sum).then_some(())?;
    Some((number(view), usize::try_from(number(offset)).ok()?))
}

fn check(place: &[u8]) -> [u8; 4] {
    let hash = fnv1a(b"switchboard cursor".iter().chain(place));
    ((hash >> 32) as u32 ^ hash as u32).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn foreign_cursors_are_refused() {
        for text in ["", "2", "eyJwYWdlIjoyfQ", "AAAAAAAAAAAAAAAAAAAAAAAAAAA", "🙂", "ééééééééééééé1"]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn cursor_survives_a_round_trip(view: u64, offset: u32, place in 0usize..27) {
            let text = write(view, offset as usize);
            prop_assert_eq!(read(&text), Some((view, offset as usize)));
            let mut other = text.into_bytes();
            other[place] = if other[place] == b'A' { b'B' } else { b'A' };
            prop_assert_eq!(read(std::str::from_utf8(&other).unwrap()), None);
        }
    }
}
