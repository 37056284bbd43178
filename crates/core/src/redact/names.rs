//! Names of variables, headers, flags and JSON keys that announce a secret: `GITHUB_TOKEN`, `x-api-key`,
//! `clientSecret`. Must not know values.

/// Words that announce a secret.
const WORDS: &[&str] = &[
    "token",
    "secret",
    "secrets",
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passcode",
    "credential",
    "credentials",
    "authorization",
    "cookie",
    "bearer",
    "jwt",
];
/// Ends of words that were joined: `githubtoken`, `DBPASSWORD`.
const WORD_ENDS: &[&str] = &["token", "secret", "password", "passwd", "passphrase", "apikey", "accesskey"];
/// Two words that announce a secret together. `key` alone may be any key.
const PAIRS: &[(&str, &str)] = &[
    ("api", "key"),
    ("access", "key"),
    ("account", "key"),
    ("auth", "key"),
    ("deploy", "key"),
    ("encryption", "key"),
    ("license", "key"),
    ("master", "key"),
    ("private", "key"),
    ("secret", "key"),
    ("service", "key"),
    ("signing", "key"),
    ("ssh", "key"),
    ("storage", "key"),
    ("subscription", "key"),
    ("session", "auth"),
    ("db", "pwd"),
    ("db", "pass"),
    ("user", "pass"),
];
/// Last words that turn a name into one about a secret: `TOKEN_URL`, `SECRET_NAME`.
const ABOUT: &[&str] = &[
    "algorithm",
    "audience",
    "column",
    "count",
    "dir",
    "enabled",
    "endpoint",
    "env",
    "expires",
    "expiry",
    "field",
    "file",
    "folder",
    "header",
    "host",
    "id",
    "issuer",
    "length",
    "lifetime",
    "limit",
    "manager",
    "mode",
    "name",
    "path",
    "port",
    "prefix",
    "provider",
    "region",
    "required",
    "scope",
    "scopes",
    "size",
    "store",
    "timeout",
    "ttl",
    "type",
    "uri",
    "url",
    "version",
];

/// Whether a value of this name is a secret, whatever it looks like.
pub fn announces(name: &str) -> bool {
    let words = words(name);
    if is_about_words(&words) {
        return false;
    }
    let is_word =
        |word: &String| WORDS.contains(&word.as_str()) || WORD_ENDS.iter().any(|end| word.ends_with(end));
    let is_pair = |pair: &[String]| PAIRS.iter().any(|(one, other)| pair[0] == *one && pair[1] == *other);
    words.iter().any(is_word) || words.windows(2).any(is_pair)
}

/// Whether a name says that its value is no secret: a path, a host, a mode.
pub(super) fn is_about(name: &str) -> bool {
    is_about_words(&words(name))
}

fn is_about_words(words: &[String]) -> bool {
    words.last().is_some_and(|last| ABOUT.contains(&last.as_str()))
}

/// The words of a name in any of the usual spellings, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut is_new, mut was_lower) = (true, false);
    for c in name.chars() {
        if !c.is_alphanumeric() {
            (is_new, was_lower) = (true, false);
            continue;
        }
        // `apiKey` has two words, `APIKEY` one.
        is_new |= was_lower && c.is_uppercase();
        was_lower = c.is_lowercase() || c.is_numeric();
        match words.last_mut() {
            Some(word) if !is_new => word.extend(c.to_lowercase()),
            Some(_) | None => words.push(c.to_lowercase().collect()),
        }
        is_new = false;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_announce_secrets() {
        for name in [
            "GITHUB_TOKEN",
            "token",
            "apiKey",
            "API_KEY",
            "APIKEY",
            "x-api-key",
            "clientSecret",
            "AWS_SECRET_ACCESS_KEY",
            "Authorization",
            "Proxy-Authorization",
            "AUGMENT_SESSION_AUTH",
            "dbpassword",
            "--auth-token",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ] {
            assert!(announces(name), "{name}");
        }
        for name in [
            "",
            "PATH",
            "tokens",
            "max_tokens",
            "TOKEN_URL",
            "SECRET_NAME",
            "AWS_ACCESS_KEY_ID",
            "key",
            "project_key",
            "tokenizer",
            "monkey",
            "author",
            "cookies_enabled",
        ] {
            assert!(!announces(name), "{name}");
        }
    }
}
