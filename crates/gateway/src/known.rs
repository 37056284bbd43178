//! Known packages: the state they keep between calls, and whether they depend on their
//! working folder, so that the config need not say it. For other packages, tool names may
//! reveal state (`state_hint` in the core).
//!
//! # Layout
//! - `table`: the packages.
//! - `paths`: relative paths in a server's entry.

mod paths;
mod table;

use crate::command_line::{self, Package};
use crate::config::{ServerConfig, State};
use table::{KNOWN, Row};

/// Dependence of a package on its working folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Folder {
    Ignored,
    /// Reads this variable from a `.env` file there, unless its environment has it.
    DotEnv(&'static str),
    /// Reads or writes files there, asks for its client's roots, or has not been examined.
    Unknown,
}

/// State that a server keeps, and the source of this knowledge.
pub(crate) fn state_of(server: &ServerConfig) -> (switchboard_core::StatePolicy, &'static str) {
    match server.state {
        State::None => (switchboard_core::StatePolicy::None, "set in the config"),
        State::Client => (switchboard_core::StatePolicy::Client, "set in the config"),
        State::Backend => (switchboard_core::StatePolicy::Backend, "set in the config"),
        State::Auto => match known(server).map(|row| row.state) {
            Some(switchboard_core::StatePolicy::Auto) | None => {
                (switchboard_core::StatePolicy::Auto, "to be told from its tools")
            }
            Some(state) => (state, "the package is known"),
        },
    }
}

/// Name of a server's package, if it works the same in every folder.
pub(crate) fn ignores_folder(server: &ServerConfig) -> Option<String> {
    let row = known(server)?;
    let ignores = match row.folder {
        Folder::Ignored => true,
        Folder::DotEnv(name) => server.env.iter().any(|(own, value)| own == name && !value.is_empty()),
        Folder::Unknown => false,
    };
    let (_, name) = row.names[0].split_once(':')?;
    ignores.then(|| name.to_owned())
}

/// First relative path in a server's launch, such as `args[2]`.
pub(crate) fn relative_path(server: &ServerConfig) -> Option<String> {
    paths::first_relative(server)
}

fn known(server: &ServerConfig) -> Option<&'static Row> {
    if server.remote.is_some() {
        return None;
    }
    let started = command_line::started(&server.command, &server.args)?;
    let mut rows = KNOWN.iter().flat_map(|(_, rows)| *rows);
    let row = rows.find(|row| row.names.iter().any(|name| is_named(name, &started.package)))?;
    // `uvx --from PACKAGE python server.py` runs another program beside the package.
    let is_own = started.program.is_none_or(|program| is_program_of(row, &started.package, &program));
    is_own.then_some(row)
}

/// Whether a program belongs to the package.
fn is_program_of(row: &Row, package: &Package, program: &str) -> bool {
    let is_listed = row.names.iter().any(|name| name.strip_prefix("program:") == Some(program));
    let is_namesake = match package {
        Package::Npm(name) => name.rsplit('/').next() == Some(program),
        Package::PyPi(name) => command_line::pypi_name(program) == *name,
        Package::Image(_) | Package::Program(_) => false,
    };
    is_listed || is_namesake
}

fn is_named(known: &str, package: &Package) -> bool {
    match (known.split_once(':'), package) {
        (Some(("npm", known)), Package::Npm(name)) => known == name,
        (Some(("pypi", known)), Package::PyPi(name)) => command_line::pypi_name(known) == *name,
        (Some(("image", known)), Package::Image(name)) => known == name,
        (Some(("program", known)), Package::Program(name)) => known == name,
        (Some(_) | None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(line: &str) -> ServerConfig {
        let mut words = line.split(' ').map(str::to_owned);
        let command = words.next().unwrap();
        ServerConfig::for_command("s", command, words.collect())
    }

    #[test]
    fn state_by_package() {
        use switchboard_core::StatePolicy;
        let check = |line: &str, expect: StatePolicy| assert_eq!(state_of(&server(line)).0, expect, "{line}");
        check("npx -y @playwright/mcp@0.0.75", StatePolicy::Client);
        check("npx @playwright/mcp", StatePolicy::Client);
        check("node /x/node_modules/@playwright/mcp/cli.js", StatePolicy::Client);
        check(r"node C:\x\node_modules\@playwright\mcp\cli.js", StatePolicy::Client);
        check("uvx mcp-server-time==2025.1", StatePolicy::None);
        check("/opt/bin/mcp-server-git", StatePolicy::None);
        check("npx -y @playwright/mcp-tools", StatePolicy::Auto);
        check("npx -y not-chrome-devtools-mcp", StatePolicy::Auto);
        check("python3 server.py", StatePolicy::Auto);
        // Only the package counts, not the other words.
        check("npx -y thing @playwright/mcp", StatePolicy::Auto);
        check("thing /x/node_modules/@playwright/mcp/cli.js", StatePolicy::Auto);
        check("uvx mcp-remote", StatePolicy::Auto);
        check("npx @modelcontextprotocol/server-memory", StatePolicy::None);
        // Its graph is in the container.
        check("docker run -i mcp/memory", StatePolicy::Backend);
    }

    #[test]
    fn config_overrides_table() {
        let mut server = server("npx @playwright/mcp");
        server.state = State::Backend;
        assert_eq!(state_of(&server).0, switchboard_core::StatePolicy::Backend);
    }

    #[test]
    fn folder_by_package() {
        let check = |line: &str, expect: Option<&str>| {
            assert_eq!(ignores_folder(&server(line)).as_deref(), expect, "{line}");
        };
        check("npx -y @upstash/context7-mcp@latest", Some("@upstash/context7-mcp"));
        check("uvx mcp-server-time", Some("mcp-server-time"));
        check("python -m mcp_server_time", Some("mcp-server-time"));
        check("docker run -i --rm mcp/time", Some("mcp-server-time"));
        check(
            "docker run -i --rm -e X ghcr.io/github/github-mcp-server",
            Some("ghcr.io/github/github-mcp-server"),
        );
        check(
            "uvx awslabs.aws-documentation-mcp-server@latest",
            Some("awslabs.aws-documentation-mcp-server"),
        );
        check("npx -y mcp-remote https://example.com/mcp", Some("mcp-remote"));
        check("npx -y @modelcontextprotocol/server-filesystem /x", None);
        check("npx -y @playwright/mcp", None);
        check("npx -y thing mcp-remote", None);
        check("npx -y tavily-mcp", None);
        check("uvx --from mcp-server-time mcp_server_time", Some("mcp-server-time"));
        check("npx -p @upstash/context7-mcp context7-mcp", Some("@upstash/context7-mcp"));
        check("npx -p @amap/amap-maps-mcp-server mcp-amap", Some("@amap/amap-maps-mcp-server"));
        check("uvx --from mcp-server-time python", None);
    }

    #[test]
    fn dotenv_needs_the_key() {
        let mut server = server("npx -y tavily-mcp");
        server.env.push(("TAVILY_API_KEY".to_owned(), "${TAVILY_API_KEY}".to_owned()));
        assert_eq!(ignores_folder(&server).as_deref(), Some("tavily-mcp"));
    }

    #[test]
    fn docs_state_the_table() {
        let docs = include_str!("../../../docs/workspaces.md");
        let (_, section) = docs.split_once("\n### Known packages\n").expect("the section");
        let listed: Vec<&str> = section
            .lines()
            .skip_while(|line| !line.starts_with("|---"))
            .skip(1)
            .take_while(|line| line.starts_with('|'))
            .collect();
        let known: Vec<String> = KNOWN.iter().flat_map(|(_, rows)| *rows).map(shown).collect();
        assert_eq!(listed, known);
    }

    fn shown(row: &Row) -> String {
        let names: Vec<String> = row.names.iter().map(|name| format!("`{name}`")).collect();
        let keeps = match row.state {
            switchboard_core::StatePolicy::None => "nothing",
            switchboard_core::StatePolicy::Client => "client state",
            switchboard_core::StatePolicy::Backend => "shared state",
            switchboard_core::StatePolicy::Auto => "unknown",
        };
        let folder = match row.folder {
            Folder::Ignored => "ignored".to_owned(),
            Folder::DotEnv(name) => format!("ignored if `env` sets `{name}`"),
            Folder::Unknown => "used".to_owned(),
        };
        format!("| {} | {keeps} | {folder} |", names.join(", "))
    }

    #[test]
    fn each_name_is_in_one_row() {
        let mut names: Vec<&str> =
            KNOWN.iter().flat_map(|(_, rows)| *rows).flat_map(|row| row.names).copied().collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
