//! The secrets among the values of a config: by the name of a value, and by its shape. A value that must not be
//! shown but can be read, such as the password `production`, is known by its name alone; a key in a variable
//! called `X` by its shape alone. Must not know where the values come from.

use super::names::{announces, is_about};
use super::shape::{is_path, is_readable, word_count};
use crate::text::percent;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde_json::Value;

/// Shorter values are words like `v1`, which may occur anywhere.
pub(super) const MIN_SECRET_BYTES: usize = 8;
/// Variables that hold no secret, whatever they look like.
const HARMLESS: &[&str] = &[
    "DISPLAY",
    "EDITOR",
    "HOME",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "OLDPWD",
    "PAGER",
    "PATH",
    "PWD",
    "SHELL",
    "SSH_AUTH_SOCK",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "USERNAME",
    "USERPROFILE",
];
const HARMLESS_STARTS: &[&str] = &["LC_", "XDG_"];
/// Values that everybody knows. Masking them would hide the name of a server, not a secret.
const KNOWN_TO_ALL: &[&str] =
    &["anonymous", "changeme", "localhost", "password", "postgres", "required", "undefined"];
/// Values of variables with at most so many words are names, modes and the like.
const MAX_PLAIN_WORDS: usize = 2;
/// Words before the secret of a header.
const SCHEMES: &[&str] = &["apikey", "basic", "bearer", "token"];

/// The secrets in a value of the config with this name: a variable, a header, a JSON key.
pub fn secrets_in(name: &str, value: &str) -> Vec<String> {
    let mut found = Vec::new();
    collect(name, value.trim(), &mut found);
    found.retain(|secret| secret.len() >= MIN_SECRET_BYTES);
    found
}

/// The secrets in the value of a variable that the config refers to as `${NAME}`. Such a reference mostly keeps
/// a secret out of the file, so that a value counts as one unless it looks harmless.
pub fn secrets_in_variable(name: &str, value: &str) -> Vec<String> {
    let mut found = secrets_in(name, value);
    let value = value.trim();
    let is_harmless = is_harmless(name) || is_about(name) || is_plain_value(value);
    if !is_harmless && value.len() >= MIN_SECRET_BYTES && !value.contains("://") {
        found.push(value.to_owned());
    }
    found
}

/// Whether a value is a path, a number, a host or an address, or a name of one or two words.
fn is_plain_value(value: &str) -> bool {
    let is_host = || {
        let host = value.rsplit_once('@').map_or(value, |(_, host)| host);
        host.contains('.') && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':'))
    };
    is_path(value)
        || is_known_to_all(value)
        || (is_readable(value) && (word_count(value) <= MAX_PLAIN_WORDS || is_host()))
}

fn collect(name: &str, value: &str, found: &mut Vec<String>) {
    if is_harmless(name) {
        return;
    }
    // A key may begin with a slash, but hardly consist of words.
    let is_plain_path = is_path(value) && is_readable(value);
    if announces(name) && !is_plain_path && !is_known_to_all(value) {
        found.push(value.to_owned());
        // A program may print a key line by line. The first and last lines of a key are the same for all keys.
        let lines = value.lines().map(str::trim).filter(|line| *line != value && !line.starts_with("-----"));
        found.extend(lines.map(str::to_owned));
    }
    if let Ok(json @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(value) {
        return collect_json(name, &json, found);
    }
    if let Some((_, rest)) = value.split_once(' ').filter(|(first, _)| is_scheme(first)) {
        found.push(rest.trim().to_owned());
        found.extend(password_of_basic(rest.trim()));
    }
    for word in value.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '"' | '\'')) {
        collect_word(word, found);
    }
}

fn collect_word(word: &str, found: &mut Vec<String>) {
    if word.contains("://") {
        return collect_url(word, found);
    }
    // `--api-key=x`, `-eTOKEN=x`, `API_KEY=x`: the name is part of the value.
    // The `=` at the end of base64 is not meant.
    let is_named = |(name, value): &(&str, &str)| {
        is_name(name) && is_readable(name) && !value.trim_matches('=').is_empty()
    };
    if let Some((name, value)) = word.split_once('=').filter(is_named) {
        return collect(name, value, found);
    }
    if !is_path(word) && !is_readable(word) {
        found.push(word.to_owned());
    }
}

/// Passwords, keys in the query, and keys in the path. Hosts are no secrets.
fn collect_url(url: &str, found: &mut Vec<String>) {
    let Some((scheme, rest)) = url.split_once("://") else { return };
    if scheme.eq_ignore_ascii_case("file") {
        return;
    }
    let (before, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (address, query) = before.split_once('?').unwrap_or((before, ""));
    let (authority, path) = split_authority(address);
    if let Some((user_info, _)) = authority.rsplit_once('@') {
        let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
        push_decoded(password, found);
        // Some services take a token as the user.
        if !is_readable(user) {
            push_decoded(user, found);
        }
    }
    for (name, value) in query.split('&').chain(fragment.split('&')).filter_map(|pair| pair.split_once('=')) {
        let value = percent::decode(value).unwrap_or(value.into());
        collect(name, &value, found);
    }
    path.split('/').filter(|segment| !is_readable(segment)).for_each(|segment| push_decoded(segment, found));
}

/// The part of an address before its path. A password may hold a slash, although it should be encoded there.
fn split_authority(address: &str) -> (&str, &str) {
    let (authority, path) = address.split_once('/').unwrap_or((address, ""));
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let has_password =
        !authority.contains('@') && authority.rsplit_once(':').is_some_and(|(_, port)| !is_port(port));
    match address.rfind('@').filter(|_| has_password) {
        Some(at) => {
            let end = address[at..].find('/').map_or(address.len(), |length| at + length);
            (&address[..end], address[end..].trim_start_matches('/'))
        }
        None => (authority, path),
    }
}

fn push_decoded(text: &str, found: &mut Vec<String>) {
    found.push(text.to_owned());
    found.extend(percent::decode(text).filter(|plain| *plain != text).map(|plain| plain.into_owned()));
}

fn collect_json(name: &str, json: &Value, found: &mut Vec<String>) {
    match json {
        Value::String(text) => collect(name, text, found),
        Value::Array(values) => values.iter().for_each(|value| collect_json(name, value, found)),
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| collect_json(key, value, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The secrets among the arguments of a command line. A flag names the argument after it.
pub fn secrets_in_arguments<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut found = Vec::new();
    let mut flag = "";
    for argument in arguments {
        found.extend(secrets_in(flag, argument));
        // A header as an argument: `--header "X-Api-Key: x"`.
        if let Some((name, value)) = argument.split_once(':').filter(|(name, _)| is_name(name)) {
            found.extend(secrets_in(name, value));
        }
        flag = if argument.starts_with('-') && !argument.contains('=') { argument } else { "" };
    }
    found
}

/// Whether a JSON value says nothing, even under a name that announces a secret.
pub(super) fn is_plain(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => true,
        Value::String(text) => text.is_empty(),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name) || HARMLESS_STARTS.iter().any(|start| name.starts_with(start))
}

fn is_known_to_all(value: &str) -> bool {
    KNOWN_TO_ALL.iter().any(|known| value.eq_ignore_ascii_case(known))
}

fn is_scheme(word: &str) -> bool {
    SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// The password in the credentials of `Basic`.
fn password_of_basic(credentials: &str) -> Option<String> {
    let decoded = STANDARD.decode(credentials).or_else(|_| STANDARD_NO_PAD.decode(credentials)).ok()?;
    let text = String::from_utf8(decoded).ok()?;
    text.split_once(':').map(|(_, password)| password.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, value: &str, expect: &[&str]) {
        let mut found = secrets_in(name, value);
        found.sort();
        found.dedup();
        let mut expect: Vec<&str> = expect.to_vec();
        expect.sort_unstable();
        assert_eq!(found, expect, "{name}={value}");
    }

    #[test]
    fn secrets_are_known_by_name() {
        check("DB_PASSWORD", "production", &["production"]);
        check("DB_PASSWORD", "correct horse battery", &["correct horse battery"]);
        check("API_KEY", "short", &[]);
        check("POSTGRES_PASSWORD", "postgres", &[]);
        check("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json", &[]);
        check("AWS_SECRET_ACCESS_KEY", "/K7MDENG9bPxRfi2CY/EXAMPLE", &["/K7MDENG9bPxRfi2CY/EXAMPLE"]);
        check("Authorization", "Bearer t0ken-of-mine", &["Bearer t0ken-of-mine", "t0ken-of-mine"]);
        check(
            "Authorization",
            "Basic bWU6aHVudGVyMjI=",
            &["Basic bWU6aHVudGVyMjI=", "bWU6aHVudGVyMjI=", "hunter22"],
        );
    }

    #[test]
    fn secrets_are_known_by_shape() {
        check("X", "9f8a7b6c5d4e", &["9f8a7b6c5d4e"]);
        check("OPENAI_KEY", "sk-proj-a1b2c3d4e5f6", &["sk-proj-a1b2c3d4e5f6"]);
        check("URL", "https://h/mcp?key=a1b2c3d4e5", &["a1b2c3d4e5"]);
        check("URL", "https://h/s/a1b2c3d4e5/mcp", &["a1b2c3d4e5"]);
        check("DATABASE_URL", "postgres://me:hunter22@db:5432/app", &["hunter22"]);
        check("DATABASE_URL", "postgres://me:pass/word+one@db/app", &["pass/word+one"]);
        check("REGISTRY", "https://example.com:8443/@scope/package@1.2.3", &[]);
        check("DATABASE_URL", "postgres://me:p%40ssword1@db/app", &["p%40ssword1", "p@ssword1"]);
        check("OPTS", "--api-key=hunter22 --verbose", &["hunter22"]);
        check("CONFIG", r#"{"client_secret":"hunter22","port":8080,"name":"example"}"#, &["hunter22"]);
    }

    #[test]
    fn other_values_are_no_secrets() {
        for (name, value) in [
            ("PATH", "/usr/bin:/opt/a1b2c3d4e5f6/bin"),
            ("HOME", "/home/me"),
            ("DEBUG", "true"),
            ("PORT", "8080808080"),
            ("LOG_LEVEL", "critical"),
            ("NODE_ENV", "production"),
            ("AWS_REGION", "us-east-1"),
            ("MODEL", "claude-sonnet-4-20250514"),
            ("API_URL", "https://api.example.com:8443/v1?format=json"),
            ("WORKSPACE", "/home/me/projects/shop-2"),
            ("CACHE", "/tmp/.tmpA1b2C3d4/a1b2c3d4e5"),
            ("ROOT", "file:///tmp/a1b2c3d4e5f6"),
            ("MAX_TOKENS", "100000000"),
        ] {
            check(name, value, &[]);
        }
    }

    #[test]
    fn variables_are_secrets_unless_harmless() {
        let secret = |name: &str, value: &str| secrets_in_variable(name, value).contains(&value.to_owned());
        for (name, value) in [
            ("X", "canary-of-the-window-kind"),
            ("X", "correct horse battery staple"),
            ("X", "canary.of~the/window+kind"),
            ("TOKEN", "production"),
        ] {
            assert!(secret(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("HOME", "/home/me"),
            ("MODE", "production"),
            ("MODEL", "claude-sonnet-4-20250514"),
            ("HOST", "db.internal.example.com:5432"),
            ("MAIL", "jane.doe@example.com"),
            ("PROJECT_NAME", "my-very-own-project"),
            ("PORT", "80808080"),
            ("API", "https://api.example.com/v1/mcp"),
            ("X", "short"),
        ] {
            assert!(!secret(name, value), "{name}={value}");
        }
    }

    #[test]
    fn arguments_are_named_by_flags() {
        let found = secrets_in_arguments([
            "-y",
            "@scope/server@1.2.3",
            "--token",
            "letmein-please",
            "--db=postgres://me:hunter22@db/x",
            "-e",
            "API_KEY=opensesame",
            "--header",
            "X-Api-Key: swordfish",
        ]);
        for secret in ["letmein-please", "hunter22", "opensesame", "swordfish"] {
            assert!(found.iter().any(|known| known == secret), "{secret} in {found:?}");
        }
        assert!(!found.iter().any(|known| known.contains("scope")), "{found:?}");
    }

    #[test]
    fn key_is_known_line_by_line() {
        let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n-----END PRIVATE KEY-----";
        check("SSH_KEY", key, &[key, "MIIEvQIBADANBg", "kqhkiG9w0BAQEF"]);
    }
}
