//! Scope of a server whose config leaves it open (`scope: auto`): per workspace where the server may depend
//! on it, global where it is known not to. The server's later behavior can change that
//! (`core/transitions/routing/sharing.rs`).

use crate::config::{Lookup, Scope, ServerConfig, expand};
use crate::known;
use switchboard_core::ScopeReason;

/// Scope of a server's backends and its reason, as far as its entry shows. `splits`:
/// its launch depends on the root.
pub(crate) fn choose(server: &ServerConfig, splits: bool) -> (switchboard_core::Scope, ScopeReason) {
    use switchboard_core::Scope as Chosen;
    match server.scope {
        Scope::Root => (Chosen::Root, ScopeReason::Given),
        Scope::Global => (Chosen::Global, ScopeReason::Given),
        Scope::Client => (Chosen::Client, ScopeReason::Given),
        Scope::Auto if splits => (Chosen::Root, ScopeReason::UsesRoot),
        Scope::Auto if server.remote.is_some() => (Chosen::Global, ScopeReason::Remote),
        Scope::Auto => match (known::relative_path(server), known::ignores_folder(server)) {
            // A relative path ties even a known package to its folder.
            (Some(path), _) => (Chosen::Root, ScopeReason::RelativePath(path)),
            (None, Some(package)) => (Chosen::Global, ScopeReason::KnownPackage(package)),
            (None, None) => (Chosen::Root, ScopeReason::Unknown),
        },
    }
}

/// Whether a server has a backend per root, instead of one for all roots of a client.
pub(crate) fn splits(server: &ServerConfig, vars: Lookup<'_>) -> bool {
    expand::uses_root(server, vars) || !server.root_arguments.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(words: &[&str]) -> String {
        let args = words[1..].iter().map(|word| word.to_string()).collect();
        let server = ServerConfig {
            scope: Scope::Auto,
            expand: true,
            ..ServerConfig::for_command("s", words[0], args)
        };
        let (scope, reason) = choose(&server, splits(&server, &|_| None));
        format!("{}: {reason}", scope.name())
    }

    #[track_caller]
    fn check(line: &str, expect: &str) {
        assert_eq!(chosen(&line.split(' ').collect::<Vec<_>>()), expect, "{line}");
    }

    #[test]
    fn launch_decides() {
        check(
            "npx -y @modelcontextprotocol/server-memory",
            "global: @modelcontextprotocol/server-memory does not depend on the folder",
        );
        check(
            "uvx mcp-server-time --local-timezone ${TZ:-UTC}",
            "global: mcp-server-time does not depend on the folder",
        );
        check("uvx mcp-server-time ${workspaceFolder}", "root: its launch depends on the workspace");
        check("uvx mcp-server-time ./zones", "root: its launch contains a relative path (args[1])");
        check("other mcp-server-time", "root: it may depend on the folder (set `scope` if not)");
    }

    /// Entries from the READMEs of known packages.
    #[test]
    fn usual_arguments_keep_a_package_global() {
        let entries: &[&[&str]] = &[
            &["uvx", "mcp-server-time", "--local-timezone=America/New_York"],
            &["uvx", "mcp-server-time", "--local-timezone", "Europe/Berlin"],
            &["docker", "run", "-i", "--rm", "-e", "LOCAL_TIMEZONE=Europe/Berlin", "mcp/time"],
            &["docker", "run", "-i", "-v", "claude-memory:/app/dist", "--rm", "mcp/memory"],
            &["docker", "run", "-i", "--rm", "--mount", "type=bind,src=/d,dst=/d", "mcp/time"],
            &["uvx", "mcp-server-fetch", "--user-agent=Mozilla/5.0 (X11; Linux)"],
            &["npx", "-y", "mcp-remote", "https://x/sse", "--header", "Authorization: Bearer ab/cd=="],
            &["npx", "mcp-remote", "https://x/sse", "--static-oauth-client-info", "@/home/u/client.json"],
            &["bunx", "-y", "@upstash/context7-mcp"],
        ];
        let wrong: Vec<String> =
            entries.iter().map(|entry| chosen(entry)).filter(|text| !text.starts_with("global")).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    /// Launches with relative files, and programs that only run beside a known package.
    #[test]
    fn launch_that_needs_the_folder() {
        let entries: &[&[&str]] = &[
            &["uvx", "--from", "mcp-server-fetch", "python", "server.py"],
            &["npx", "-y", "-p", "mcp-remote", "node", "server.js"],
            &["npm", "exec", "--package=mcp-remote", "--", "tsx", "server.ts"],
            &["pipx", "run", "--spec", "mcp-server-time", "python", "server.py"],
            &["uvx", "--with-requirements", "requirements.txt", "mcp-server-time"],
            &["uvx", "-c", "constraints.txt", "mcp-server-time"],
            &["uvx", "--with-editable", "mylib", "mcp-server-time"],
            &["uvx", "--find-links", "wheels", "mcp-server-time"],
            &["uvx", "--python", ".venv", "mcp-server-time"],
            &["npx", "--userconfig", "company.npmrc", "-y", "mcp-remote", "https://x"],
            &["npx", "--cafile=ca.pem", "-y", "mcp-remote", "https://x"],
            &["npx", "-y", "--prefix", "tools", "mcp-remote", "https://x"],
            &["npx", "mcp-remote", "https://x/sse", "--static-oauth-client-info", "@client.json"],
            &["uvx", "mcp-server-fetch", r"data\rules.txt"],
        ];
        let wrong: Vec<_> = entries.iter().filter(|entry| chosen(entry).starts_with("global")).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    /// `status` and `explain` show the reason. `status` shows no other argument.
    #[test]
    fn reason_shows_no_secret() {
        for entry in [
            &["npx", "-y", "mcp-remote", "https://x/sse", "--header", "Authorization: Bearer s3/cret"][..],
            &["npx", "-y", "@stripe/mcp", "--api-key=s3/cret"],
            &["thing", "--token", "s3/cret"],
            &["thing", "--database-url=user:s3/cret@host"],
        ] {
            assert!(!chosen(entry).contains("s3/cret"), "{}", chosen(entry));
        }
    }
}
