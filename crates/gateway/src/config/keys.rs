//! Every key of the file, once, save those of a server: its name, its type, what it means, its default and an example. The
//! loader reads with these definitions and the schema is made from them, so neither can know a key that the other does not.

use std::borrow::Cow;

use jsonc_parser::ast::{Object, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use super::choices::{Dialect, Fallback, Framing, LogFormat, LogLevel, Names};
use super::default_keys::DefaultsEntry;
use super::defaults;
use super::lists::{ByName, WordList};
use super::object::{file_object, nothing_required, object};
use super::quantity::{spell_size, spell_time};
use super::read::{Count, Key, Read, Size, Time, warn_of_unknown};
use super::report::{FilePlace, Report};
use super::server_keys::ServerEntry;
use super::syntax::span;

/// Keys of the outermost object that other programs use; ignored.
pub(super) const FOREIGN_AT_TOP: &[&str] = &["$schema", "inputs"];

file_object! {
    /// Switchboard's config file: JSON with comments and trailing commas.
    FileEntry, ignoring FOREIGN_AT_TOP, {
        /// The MCP servers, by name, as Claude, Cursor and others have them.
        #[schemars(example = json!({ "time": { "command": "uvx", "args": ["mcp-server-time"] } }))]
        "mcpServers" => mcp_servers: ServerEntries,

        /// The same as `mcpServers`; VS Code's name for it.
        #[schemars(example = json!({ "time": { "command": "uvx", "args": ["mcp-server-time"] } }))]
        "servers" => servers: ServerEntries,

        /// Keys of a server that count for all servers, unless a server has its own.
        #[schemars(example = json!({ "timeout": "2m", "startTimeout": "1m" }))]
        "defaults" => defaults: DefaultsEntry,

        /// How messages are told apart on the client's side.
        #[schemars(extend("default" = defaults::FRAMING.word()), example = json!("newline"))]
        "framing" => framing: Framing,

        /// Whether the client's messages have the `"jsonrpc": "2.0"` member.
        #[schemars(extend("default" = defaults::DIALECT.word()), example = json!("standard"))]
        "dialect" => dialect: Dialect,

        /// The largest message that a client or a server may send, from 1KiB to 1GiB.
        #[schemars(extend("default" = spell_size(defaults::MAX_MESSAGE_BYTES)), example = json!("64MiB"))]
        "maxMessageBytes" => max_message_bytes: Size,

        /// How long a server has to end by itself before it is killed.
        #[schemars(extend("default" = spell_time(defaults::SHUTDOWN_GRACE)), example = json!("10s"))]
        "shutdownGrace" => shutdown_grace: Time,

        /// How long a server's instance stays when the last client that used it has gone; `0` is not at all.
        #[schemars(extend("default" = spell_time(defaults::LINGER)), example = json!("5m"))]
        "linger" => linger: Time,

        /// Whether a server that is given on the command line (`stdio -- COMMAND`) is shared between windows too. Whoever can
        /// start Switchboard can then have the daemon start programs.
        #[schemars(extend("default" = defaults::SHARE_AD_HOC), example = json!(true))]
        "shareAdHoc" => share_ad_hoc: bool,

        /// What all servers together may use.
        #[schemars(example = json!({ "maxBackends": 8, "memoryLimit": "4GiB" }))]
        "pool" => pool: PoolEntry,

        /// The workspace of a request that nothing else gives one. A relative path starts at the config file's folder.
        #[schemars(example = json!("~/projects/app"))]
        "defaultRoot" => default_root: String,

        /// Whether a path argument outside of all known workspaces makes the project that it lies in one.
        #[schemars(extend("default" = defaults::OPEN_ROOTS), example = json!(false))]
        "openRoots" => open_roots: bool,

        /// Whether a request that belongs to no workspace is served all the same.
        #[schemars(extend("default" = defaults::FALLBACK.word()), example = json!("off"))]
        "fallback" => fallback: Fallback,

        /// Names of folders that servers should not look into, for those that take such a list: what
        /// `${ignoredFolders}` stands for.
        #[schemars(extend("default" = defaults::IGNORED_FOLDERS), example = json!([".git", "node_modules", ".venv"]))]
        "ignoredFolders" => ignored_folders: Vec<String>,

        /// What the tools and prompts of several servers are called.
        #[schemars(extend("default" = defaults::NAMES.word()), example = json!("plain"))]
        "names" => names: Names,

        /// How long a client of several servers waits, from its handshake on, for those whose lists are not known yet.
        #[schemars(extend("default" = spell_time(defaults::LIST_GRACE)), example = json!("30s"))]
        "listGrace" => list_grace: Time,

        /// How many tools, prompts or resources are on one page of a list; all of them unless given.
        #[schemars(example = json!(100))]
        "pageSize" => page_size: Count,

        /// By method: the servers that a client's notification goes to, of several.
        #[schemars(extend("default" = {}), example = json!({ "notifications/editor/opened": ["search"] }))]
        "notifications" => notifications: ByName<WordList>,

        /// Selections of servers, by name, that are served as one at `/profiles/NAME/mcp`.
        #[schemars(example = json!({ "work": ["github", "files"] }))]
        "profiles" => profiles: ByName<WordList>,

        /// How `switchboard serve` serves clients over HTTP.
        #[schemars(example = json!({ "listen": ["127.0.0.1:7411"] }))]
        "serve" => serve: ServeEntry,

        /// What is logged, and where to.
        #[schemars(example = json!({ "level": "debug" }))]
        "log" => log: LogEntry,
    }
}

file_object! {
    /// Clients over HTTP.
    ServeEntry, ignoring &[], {
        /// Where to listen: addresses with their ports, or `unix:` and a path. `--listen` is over it.
        #[schemars(extend("default" = json!([defaults::LISTEN])), example = json!(["127.0.0.1:7411", "unix:/run/user/1000/mcp.sock"]))]
        "listen" => listen: WordList,

        /// A file with the certificate, and those it was made with, as PEM. Read again when it changes.
        #[schemars(example = json!("/etc/mcp/cert.pem"))]
        "tlsCert" => tls_cert: String,

        /// A file with the certificate's key, as PEM.
        #[schemars(example = json!("/etc/mcp/key.pem"))]
        "tlsKey" => tls_key: String,

        /// Names under which we are reached, beside those of this machine.
        #[schemars(example = json!(["mcp.example.com"]))]
        "allowedHosts" => allowed_hosts: WordList,

        /// Web pages that may talk to us, beside those of this machine.
        #[schemars(example = json!(["https://app.example.com"]))]
        "allowedOrigins" => allowed_origins: WordList,

        /// A session that nobody has used for so long ends.
        #[schemars(extend("default" = spell_time(defaults::SESSION_TTL)), example = json!("1h"))]
        "sessionTtl" => session_ttl: Time,

        /// How many sessions there may be.
        #[schemars(extend("default" = defaults::MAX_SESSIONS), example = json!(200))]
        "maxSessions" => max_sessions: Count,

        /// What all sessions together keep for clients that come back after a lost connection.
        #[schemars(extend("default" = spell_size(defaults::EVENT_BYTES)), example = json!("64MiB"))]
        "eventBytes" => event_bytes: Size,

        /// Folders that a client may name in `Switchboard-Root`, by the names that it uses. Clients on other machines can
        /// name no others.
        #[schemars(example = json!({ "shop": "/srv/shop" }))]
        "rootMap" => root_map: ByName<String>,
    }
}

file_object! {
    /// What all servers together may use.
    PoolEntry, ignoring &[], {
        /// How many backends may run at a time, of all servers together.
        #[schemars(extend("default" = defaults::POOL_MAX_BACKENDS), example = json!(8))]
        "maxBackends" => max_backends: Count,

        /// How much memory all their processes may have together; half of the machine's memory unless given, and `0` is
        /// no limit.
        #[schemars(example = json!("4GiB"))]
        "memoryLimit" => memory_limit: Size,

        /// After how long without a request a backend is stopped; `0` is never.
        #[schemars(extend("default" = spell_time(defaults::IDLE_TTL)), example = json!("1h"))]
        "idleTtl" => idle_ttl: Time,
    }
}

file_object! {
    /// What is logged, and where to.
    LogEntry, ignoring &[], {
        /// How much is logged.
        #[schemars(extend("default" = defaults::LOG_LEVEL.word()), example = json!("debug"))]
        "level" => level: LogLevel,

        /// How a log line is written.
        #[schemars(extend("default" = defaults::LOG_FORMAT.word()), example = json!("json"))]
        "format" => format: LogFormat,

        /// A file to log to instead of the daily one in the state folder. A relative path starts at the config
        /// file's folder.
        #[schemars(example = json!("~/switchboard.log"))]
        "file" => file: String,

        /// Whether the content of messages is logged too. It may hold anything, secrets included.
        #[schemars(extend("default" = defaults::LOG_BODIES), example = json!(true))]
        "bodies" => bodies: bool,
    }
}

/// Servers by name, in the order of the file, each with the place of its name.
pub(super) struct ServerEntries(pub(super) Vec<(String, FilePlace, ServerEntry)>);

impl Read for ServerEntries {
    fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
        let mut servers = Vec::new();
        for property in &object(value, place, report)?.properties {
            let name = property.name.as_str();
            let named = place.key(name, span(&property.name));
            let valued = place.key(name, span(&property.value));
            if let Some(entry) = ServerEntry::read(&property.value, &valued, report) {
                servers.push((name.to_owned(), named, entry));
            }
        }
        Some(Self(servers))
    }
}

impl JsonSchema for ServerEntries {
    fn schema_name() -> Cow<'static, str> {
        "Servers".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let server = generator.subschema_for::<ServerEntry>();
        json_schema!({ "type": "object", "additionalProperties": server })
    }
}
