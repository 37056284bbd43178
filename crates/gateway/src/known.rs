//! Packages of which we know what they keep between calls, so that nobody has to say it in the config. What is not
//! here may still be told from the names of its tools (`core/sharing.rs`).

use crate::config::{ServerConfig, State};

/// By a part of an argument or of the command: npm and PyPI names.
const PACKAGES: &[(&str, switchboard_core::State)] = &[
    // A browser, with its pages and its log-ins.
    ("@playwright/mcp", switchboard_core::State::Client),
    ("@executeautomation/playwright-mcp-server", switchboard_core::State::Client),
    ("@modelcontextprotocol/server-puppeteer", switchboard_core::State::Client),
    ("chrome-devtools-mcp", switchboard_core::State::Client),
    ("@browsermcp/mcp", switchboard_core::State::Client),
    // A train of thought.
    ("@modelcontextprotocol/server-sequential-thinking", switchboard_core::State::Client),
    ("mcp-sequentialthinking-tools", switchboard_core::State::Client),
    // Shells that go on.
    ("@wonderwhy-er/desktop-commander", switchboard_core::State::Client),
    ("iterm-mcp", switchboard_core::State::Client),
    // What they know lies on disk, or elsewhere.
    ("@modelcontextprotocol/server-filesystem", switchboard_core::State::None),
    ("@modelcontextprotocol/server-memory", switchboard_core::State::None),
    ("@modelcontextprotocol/server-github", switchboard_core::State::None),
    ("mcp-server-git", switchboard_core::State::None),
    ("mcp-server-fetch", switchboard_core::State::None),
    ("mcp-server-time", switchboard_core::State::None),
    ("@augmentcode/auggie", switchboard_core::State::None),
];

/// What a server keeps, and by whose word.
pub(crate) fn state_of(server: &ServerConfig) -> (switchboard_core::State, &'static str) {
    match server.state {
        State::None => (switchboard_core::State::None, "the config says so"),
        State::Client => (switchboard_core::State::Client, "the config says so"),
        State::Backend => (switchboard_core::State::Backend, "the config says so"),
        State::Auto => {
            let words = std::iter::once(&server.command).chain(&server.args);
            let words: Vec<String> = words.map(|word| word.replace('\\', "/")).collect();
            let known = PACKAGES.iter().find(|(package, _)| words.iter().any(|word| names(word, package)));
            match known {
                Some((_, state)) => (*state, "the package is known"),
                None => (switchboard_core::State::Auto, "to be told from its tools"),
            }
        }
    }
}

/// Whether a word of a command line names a package: as it is, with a version, or as a path that goes through it.
fn names(word: &str, package: &str) -> bool {
    let starts = std::iter::once(0).chain(word.match_indices('/').map(|(at, _)| at + 1));
    let is_end = |rest: &str| rest.is_empty() || rest.starts_with(['@', '/', '=', '.']);
    starts.filter_map(|at| word[at..].strip_prefix(package)).any(is_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_known_however_they_are_started() {
        let check = |command: &str, args: &[&str], expect: switchboard_core::State| {
            let args = args.iter().map(|&arg| arg.to_owned()).collect();
            let (state, _) = state_of(&ServerConfig::for_command("s", command, args));
            assert_eq!(state, expect, "{command} {:?}", command);
        };
        use switchboard_core::State;
        check("npx", &["-y", "@playwright/mcp@0.0.75"], State::Client);
        check("npx", &["@playwright/mcp"], State::Client);
        check("node", &["/x/node_modules/@playwright/mcp/cli.js"], State::Client);
        check("node", &[r"C:\x\node_modules\@playwright\mcp\cli.js"], State::Client);
        check("uvx", &["mcp-server-time==2025.1"], State::None);
        check("/opt/bin/mcp-server-git", &[], State::None);
        check("npx", &["-y", "@playwright/mcp-tools"], State::Auto);
        check("npx", &["-y", "not-chrome-devtools-mcp"], State::Auto);
        check("python3", &["server.py"], State::Auto);
    }

    #[test]
    fn the_config_has_the_last_word() {
        let mut server = ServerConfig::for_command("s", "npx", vec!["@playwright/mcp".to_owned()]);
        server.state = State::Backend;
        assert_eq!(state_of(&server).0, switchboard_core::State::Backend);
    }
}
