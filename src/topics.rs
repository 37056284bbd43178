//! Pages of the documentation, embedded in the binary so that installed users have them.

/// One page, printed by `switchboard help NAME`.
pub(crate) struct Topic {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) page: &'static str,
}

macro_rules! topics {
    ($( $name:literal: $about:literal, )*) => {
        pub(crate) const TOPICS: &[Topic] = &[$( Topic {
            name: $name,
            about: $about,
            page: include_str!(concat!("../docs/", $name, ".md")),
        } ),*];
        /// Names of the topics, in order.
        pub(crate) const TOPIC_NAMES: &[&str] = &[$( $name ),*];
    };
}

topics! {
    "guide": "Install, connect an IDE, solve problems",
    "config": "The config file: its place, every key, the environment of a server",
    "servers": "Several servers as one: names, lists, slow and broken servers",
    "workspaces": "Which workspace a request belongs to, and which servers are shared",
    "daemon": "The daemon that all windows share",
    "http": "Serving over HTTP: clients, tokens, TLS, sessions",
    "remote": "Servers on other machines",
    "logs": "Where the logs are, and what is in them",
    "errors": "The errors a client can get, and what to do",
    "failure": "Crashes, timeouts, restarts and limits",
    "processes": "How leftover processes are prevented",
    "access": "Tokens, rights, rate limits, tool pinning and the audit",
    "security": "Tokens, secrets, trust and the environment of servers",
    "windows": "Windows: what differs",
    "cli": "All subcommands, flags, variables and exit codes",
}
