//! From text to a tree: JSON with comments and trailing commas, and no other extension.
//! Must not know any key by name.

use std::collections::HashSet;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, ParseOptions, Scanner, ScannerOptions, parse_to_ast};

use super::report::{FilePlace, Report, shown};

/// Depth limit, since the parser is recursive.
const MAX_DEPTH: usize = 100;

/// The file's outermost object, or `None` after an error was reported.
pub(super) fn parse<'a>(source: &'a str, report: &mut Report<'_>) -> Option<Object<'a>> {
    // Checked before parsing, which recurses.
    if let Some(offset) = too_deep(source) {
        let place = FilePlace::nameless(offset..offset + 1);
        report.error(
            &place,
            format!("more than {MAX_DEPTH} levels of nesting"),
            "a config file needs no more than five; is this the right file?",
        );
        return None;
    }
    let value = match parse_to_ast(source, &CollectOptions::default(), &parse_options()) {
        Ok(parsed) => parsed.value,
        Err(error) => {
            report_syntax(&error, report);
            return None;
        }
    };
    match value {
        Some(Value::Object(object)) => {
            refuse_duplicates(&object, &FilePlace::nameless(span(&object)), report);
            Some(object)
        }
        Some(other) => {
            report.error(
                &FilePlace::nameless(span(&other)),
                "the file is not a JSON object",
                r#"it should look like { "mcpServers": { … } }"#,
            );
            None
        }
        None => {
            let remedy = r#"write { "mcpServers": { … } } into it"#;
            report.error(&FilePlace::nameless(0..0), "the file is empty", remedy);
            None
        }
    }
}

fn parse_options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        // No other extension: editors and other programs read the same file.
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// Position at which the nesting gets too deep. Stops at an unreadable token, which the parser will report.
fn too_deep(source: &str) -> Option<usize> {
    let options = parse_options();
    let options = ScannerOptions {
        allow_single_quoted_strings: options.allow_single_quoted_strings,
        allow_hexadecimal_numbers: options.allow_hexadecimal_numbers,
        allow_unary_plus_numbers: options.allow_unary_plus_numbers,
        allow_bare_decimal_point_numbers: options.allow_bare_decimal_point_numbers,
        allow_non_finite_numbers: options.allow_non_finite_numbers,
        allow_extended_string_escapes: options.allow_extended_string_escapes,
    };
    let mut scanner = Scanner::new(source, &options);
    let mut depth = 0usize;
    while let Ok(Some(token)) = scanner.scan() {
        match token {
            Token::OpenBrace | Token::OpenBracket => depth += 1,
            // Unbalanced brackets are left to the parser, which reports them with their place.
            Token::CloseBrace | Token::CloseBracket => depth = depth.saturating_sub(1),
            Token::String(_)
            | Token::Word(_)
            | Token::Boolean(_)
            | Token::Number(_)
            | Token::Null
            | Token::Comma
            | Token::Colon
            | Token::CommentLine(_)
            | Token::CommentBlock(_) => {}
        }
        if depth > MAX_DEPTH {
            return Some(scanner.token_start());
        }
    }
    None
}

fn report_syntax(error: &ParseError, report: &mut Report<'_>) {
    let place = FilePlace::nameless(error.range().start..error.range().end);
    let remedy = match error.kind() {
        ParseErrorKind::SingleQuotedStringsNotAllowed => "use double quotes",
        ParseErrorKind::ExpectedStringObjectProperty => "put the key in double quotes",
        ParseErrorKind::ExpectedComma => "put a comma here",
        ParseErrorKind::UnexpectedWord => "put text in double quotes",
        ParseErrorKind::String(_) => "strings start and end with a double quote; write \\\\ for a backslash",
        ParseErrorKind::UnterminatedObject => "add the missing }",
        ParseErrorKind::UnterminatedArray => "add the missing ]",
        ParseErrorKind::UnterminatedCommentBlock => "add the missing */",
        _ => "the file is JSON; comments and trailing commas are fine",
    };
    let message = error.kind().to_string();
    let mut letters = message.chars();
    // Messages of the parser begin with a capital, ours do not.
    let lower = letters.next().map(|first| first.to_lowercase().to_string() + letters.as_str());
    report.error(&place, format!("syntax error: {}", lower.unwrap_or_default()), remedy);
}

/// Refuses duplicate keys: some programs take the first value, others the last.
fn refuse_duplicates(object: &Object<'_>, place: &FilePlace, report: &mut Report<'_>) {
    let mut seen = HashSet::with_capacity(object.properties.len());
    for property in &object.properties {
        let key = property.name.as_str();
        if !seen.insert(key) {
            let message = format!("the key `{}` is in this object twice", shown(key));
            report.error(&place.key(key, span(&property.name)), message, "remove one of the two");
        }
        if let Value::Object(_) | Value::Array(_) = property.value {
            refuse_duplicates_below(&property.value, &place.key(key, span(&property.name)), report);
        }
    }
}

fn refuse_duplicates_below(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) {
    match value {
        Value::Object(object) => refuse_duplicates(object, place, report),
        Value::Array(array) => {
            for (index, element) in array.elements.iter().enumerate() {
                if let Value::Object(_) | Value::Array(_) = element {
                    refuse_duplicates_below(element, &place.index(index, span(element)), report);
                }
            }
        }
        Value::StringLit(_) | Value::NumberLit(_) | Value::BooleanLit(_) | Value::NullKeyword(_) => {}
    }
}

/// Position of a node in the text.
pub(super) fn span(node: &impl Ranged) -> std::ops::Range<usize> {
    node.range().start..node.range().end
}
