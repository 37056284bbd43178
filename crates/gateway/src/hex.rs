//! Bytes in hexadecimal.

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The bytes of such a text, in small or capital letters.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}

#[test]
fn every_byte_has_two_digits() {
    assert_eq!(hex(&[0x00, 0x0a, 0xff, 0x1c]), "000aff1c");
    assert_eq!(unhex("000aFF1c"), Some(vec![0x00, 0x0a, 0xff, 0x1c]));
    assert_eq!((unhex("0"), unhex("0g"), unhex("")), (None, None, Some(vec![])));
}
