//! Arguments of a call as `Mcp-Param-*` headers, and their comparison with the headers of a request.

use super::annotation::{ParamHeader, ParamKind};
use super::reading::at;
use super::value::{decode, encode};
use super::{Found, Mismatch, MismatchFault, PARAM_PREFIX, compare};
use crate::json::{self, Next};
use crate::method;
use std::borrow::Cow;

/// Largest integer that every JSON parser keeps exact.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// The headers of a call with these arguments (JSON): full names and encoded values. An argument that is absent, `null`,
/// an object or an array has none.
pub fn params(headers: &[ParamHeader], arguments: &[u8]) -> Vec<(String, String)> {
    let value = |header: &ParamHeader| Some(encode(&text_at(header, arguments)?).into_owned());
    headers.iter().filter_map(|header| Some((full_name(header), value(header)?))).collect()
}

/// Compares the `Mcp-Param-*` headers of a call with its arguments (JSON). Headers without an annotation are not looked at.
pub fn check_params<'a>(
    headers: &[ParamHeader],
    arguments: &[u8],
    header: impl Fn(&str) -> Found<'a>,
) -> Result<(), Mismatch> {
    for annotated in headers {
        let name = full_name(annotated);
        let found = header(&name);
        match text_at(annotated, arguments) {
            Some(expected) => {
                compare(&name, found, decode, |text| is_equal(annotated.kind, text, &expected))?;
            }
            None if found == Found::Absent => {}
            // Somebody on the way may have acted on a value that the body does not have.
            None => return Err(Mismatch { header: name, fault: MismatchFault::Unexpected }),
        }
    }
    Ok(())
}

fn full_name(header: &ParamHeader) -> String {
    format!("{PARAM_PREFIX}{}", header.name)
}

/// The text of an argument, before it is encoded.
fn text_at<'a>(header: &ParamHeader, arguments: &'a [u8]) -> Option<Cow<'a, str>> {
    let raw = at(arguments, &header.path)?;
    match json::next(raw, 0).ok()? {
        Next::String => method::text(raw),
        Next::Number => std::str::from_utf8(raw).ok().map(whole),
        Next::Literal if raw != b"null" => std::str::from_utf8(raw).ok().map(Cow::Borrowed),
        Next::Literal | Next::Object | Next::Array => None,
    }
}

/// A number without a fraction of zeros and without an exponent, where that is exact: `42.0` and `4.2e1` are `42`.
fn whole(number: &str) -> Cow<'_, str> {
    if number.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit()) {
        return Cow::Borrowed(number);
    }
    match number.parse::<f64>() {
        Ok(value) if value.fract() == 0.0 && value.abs() <= MAX_SAFE_INTEGER => {
            Cow::Owned(format!("{}", value as i64))
        }
        // Not an integer, which the server finds out by itself.
        Ok(_) | Err(_) => Cow::Borrowed(number),
    }
}

/// Integers are compared as numbers, everything else as text.
fn is_equal(kind: ParamKind, header: &str, argument: &str) -> bool {
    match kind {
        ParamKind::Integer => {
            header == argument || decimal(header).is_some_and(|it| decimal(argument) == Some(it))
        }
        ParamKind::String | ParamKind::Boolean => header == argument,
    }
}

/// Sign and digits of an integer such as `-7`, `042` or `42.00`.
fn decimal(text: &str) -> Option<(bool, &str)> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (digits, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(digits) || fraction.is_empty() || !fraction.bytes().all(|byte| byte == b'0') {
        return None;
    }
    let digits = digits.trim_start_matches('0');
    Some((text.starts_with('-') && !digits.is_empty(), digits))
}
