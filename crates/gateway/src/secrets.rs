//! Secrets of this process: values that the config gives to servers, and tokens. One list per process, which only
//! grows: a running server may still print the value of an earlier config, and a panic may come from anywhere.
//! Must not know where texts go.

use crate::config::{Config, Lookup, ServerConfig, Variables, expand};
use std::borrow::Cow;
use std::panic::PanicHookInfo;
use std::path::Path;
use switchboard_core::redact::{self, Secrets, judge};
use switchboard_process::lock::Lock;

static KNOWN: Lock<Secrets> = Lock::new(Secrets::NONE);

/// All secrets that are known now.
pub(crate) fn known() -> Secrets {
    KNOWN.lock().clone()
}

/// Adds values to the known secrets.
pub(crate) fn learn(values: Vec<String>) {
    if !values.is_empty() {
        let mut known = KNOWN.lock();
        *known = known.with(values);
    }
}

/// Adds the secrets of all servers of a config, with variables from this environment.
pub fn learn_config(config: &Config, vars: Lookup<'_>) {
    learn(config.servers.iter().flat_map(|server| of_server(server, None, vars)).collect());
}

/// A text for people without secrets.
pub fn redact(text: &str) -> String {
    known().redact(text)
}

/// A text of our own with the known secrets masked. Other texts that look like secrets stay: advice may
/// have to show how one is written.
pub fn mask_values(text: &str) -> Cow<'_, str> {
    known().mask_values(text)
}

/// Secrets in the values that a server's entry gives to it.
pub(crate) fn of_server(server: &ServerConfig, root: Option<&Path>, vars: Lookup<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for (name, value) in expand::variables(server, vars) {
        let value = value.unwrap_or_default();
        found.extend(judge::secrets_in_variable(&name, &value.to_string_lossy()));
    }
    match expand::launch_parts(server, root, vars) {
        Ok(parts) => {
            collect(&parts.command, &parts.args, &parts.env, &mut found);
            if let Some((url, headers)) = &parts.remote {
                collect(url, &[], headers, &mut found);
            }
        }
        // A variable is not set, or there is no root. The rest of the entry may hold secrets all the same.
        Err(_) => {
            collect(&server.command, &server.args, &server.env, &mut found);
            if let Some(remote) = &server.remote {
                collect(&remote.url, &[], &remote.headers, &mut found);
            }
        }
    }
    keep_names(&mut found, server, root);
    found
}

/// Leaves out what is part of the server's name or of its root: every line has these.
pub(crate) fn keep_names(found: &mut Vec<String>, server: &ServerConfig, root: Option<&Path>) {
    let root = root.map(Path::to_string_lossy).unwrap_or_default();
    found.retain(|secret| !server.name.contains(secret.as_str()) && !root.contains(secret.as_str()));
}

fn collect(command: &str, args: &[String], values: &Variables, found: &mut Vec<String>) {
    let words = std::iter::once(command).chain(args.iter().map(String::as_str));
    found.extend(judge::secrets_in_arguments(words));
    found.extend(values.iter().flat_map(|(name, value)| judge::secrets_in(name, value)));
}

/// Secrets in arguments, which every process of the machine can see: the servers, and what is in them.
pub fn exposed(config: &Config, vars: Lookup<'_>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for server in config.servers.iter().filter(|server| server.expand && !server.disabled) {
        let names = server.args.iter().flat_map(|arg| expand::names_in(arg));
        let is_secret = |name: &&str| {
            let value = vars(name).unwrap_or_default();
            redact::announces(name) || !judge::secrets_in_variable(name, &value.to_string_lossy()).is_empty()
        };
        let variables = names.filter(is_secret).map(|name| format!("`${{{name}}}`"));
        found.extend(variables.map(|what| (server.name.clone(), what)));
        // The text of the file itself. A reference to a variable is none.
        let written = server.args.join(" ");
        let is_announced = |pair: &[String]| {
            redact::announces(&pair[0]) && !pair[1].contains("${") && !pair[1].starts_with('-')
        };
        if redact::redact(&written) != written || server.args.windows(2).any(is_announced) {
            found.push((server.name.clone(), "what looks like a secret".to_owned()));
        }
    }
    found.dedup();
    found
}

/// Secrets among inherited variables. Their shape does not count: an environment is full of random texts that
/// are no secrets.
pub(crate) fn of_environment<'a>(
    vars: impl IntoIterator<Item = (Cow<'a, str>, Cow<'a, str>)>,
) -> Vec<String> {
    let announced = vars.into_iter().filter(|(name, _)| redact::announces(name));
    announced.flat_map(|(name, value)| judge::secrets_in(&name, &value)).collect()
}

/// The message of a panic without secrets. Takes no lock: the panic may come from within one.
pub(crate) fn panic_text(panic: &PanicHookInfo<'_>) -> String {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("<unnamed>");
    let Some(secrets) = KNOWN.try_lock().map(|known| known.clone()) else {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        return format!("\nthread '{name}' panicked at {place} (message withheld)\n");
    };
    secrets.redact(&format!("\nthread '{name}' {panic}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{RemoteConfig, Transport};

    fn values(pairs: &[(&str, &str)]) -> Variables {
        Variables(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn secrets_of_an_entry_are_found() {
        let args = ["--token", "${FLAG}", "--db", "postgres://me:in-the-url@db/x", "--root", "${HOME}"];
        let server = ServerConfig {
            env: values(&[("API_KEY", "of-the-entry"), ("MODE", "production"), ("X", "a ${VAR} b")]),
            expand: true,
            ..ServerConfig::for_command("s", "node", args.map(str::to_owned).to_vec())
        };
        let vars = |name: &str| match name {
            "FLAG" => Some("from-a-flag".into()),
            "VAR" => Some("0a1b2c3d4e5f".into()),
            "HOME" => Some("/home/me".into()),
            _ => None,
        };
        let found = of_server(&server, None, &vars);
        for secret in ["of-the-entry", "from-a-flag", "0a1b2c3d4e5f", "in-the-url"] {
            assert!(found.iter().any(|known| known == secret), "{secret} in {found:?}");
        }
        assert!(
            !found.iter().any(|known| ["production", "/home/me", "node"].contains(&known.as_str())),
            "{found:?}"
        );
        // Without the variable.
        let found = of_server(&server, None, &|_| None);
        assert!(found.iter().any(|known| known == "of-the-entry"), "{found:?}");
    }

    #[test]
    fn secrets_of_a_remote_entry_are_found() {
        let remote = RemoteConfig {
            url: "https://me:pass-word@h/mcp?key=s3cret9988".into(),
            headers: values(&[("Authorization", "Bearer ${TOKEN}"), ("X-Version", "v1")]),
            transport: Transport::Auto,
        };
        let server = ServerConfig {
            remote: Some(remote),
            expand: true,
            ..ServerConfig::for_command("s", "", Vec::new())
        };
        let found = of_server(&server, None, &|_| Some("t0ken-of-mine".into()));
        for secret in ["pass-word", "s3cret9988", "t0ken-of-mine", "Bearer t0ken-of-mine"] {
            assert!(found.iter().any(|known| known == secret), "{secret} in {found:?}");
        }
    }

    #[test]
    fn name_of_the_server_stays_visible() {
        let server = ServerConfig {
            env: values(&[("DB_PASSWORD", "database")]),
            ..ServerConfig::for_command("my-database", "db", Vec::new())
        };
        assert_eq!(of_server(&server, None, &|_| None), Vec::<String>::new());
    }

    #[test]
    fn inherited_variables_are_judged_by_name() {
        let vars = [("GITHUB_TOKEN", "hunter22"), ("SESSION", "0a1b2c3d4e5f"), ("PATH", "/bin")];
        assert_eq!(of_environment(vars.map(|(name, value)| (name.into(), value.into()))), ["hunter22"]);
    }
}
