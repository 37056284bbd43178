//! Bytes in hexadecimal.

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[test]
fn every_byte_has_two_digits() {
    assert_eq!(hex(&[0x00, 0x0a, 0xff, 0x1c]), "000aff1c");
}
