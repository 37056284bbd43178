//! Every key of the file except those of a server, stated once: name, type, meaning, default and an example.
//! The loader reads with these definitions and the schema is made from them, so the two cannot differ.

use std::borrow::Cow;

use jsonc_parser::ast::{Object, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use super::access_keys::IdentityLimitsEntry;
use super::choices::{
    AuditClients, ClientEra, Dialect, Fallback, Framing, LogFormat, LogLevel, Names, StdioAccess,
};
use super::default_keys::DefaultsEntry;
use super::defaults;
use super::lists::{ByName, WordList};
use super::object::{file_object, nothing_required, object};
use super::profiles::ProfileForm;
use super::quantity::{spell_size, spell_time};
use super::read::{Count, Key, Read, Size, Time, warn_of_unknown};
use super::report::{FilePlace, Report};
use super::server_keys::ServerEntry;
use super::syntax::span;

/// Top-level keys of other programs; ignored.
pub(super) const FOREIGN_AT_TOP: &[&str] = &["$schema", "inputs"];

file_object! {
    /// Switchboard's config file: JSON with comments and trailing commas.
    FileEntry, ignoring FOREIGN_AT_TOP, {
        /// MCP servers by name, in the format of Claude, Cursor and others.
        #[schemars(example = json!({ "time": { "command": "uvx", "args": ["mcp-server-time"] } }))]
        "mcpServers" => mcp_servers: ServerEntries,

        /// Alias of `mcpServers`, as VS Code names it.
        #[schemars(example = json!({ "time": { "command": "uvx", "args": ["mcp-server-time"] } }))]
        "servers" => servers: ServerEntries,

        /// Keys that apply to all servers, unless a server sets its own.
        #[schemars(example = json!({ "timeout": "2m", "startTimeout": "1m" }))]
        "defaults" => defaults: DefaultsEntry,

        /// How messages are separated on the client's side.
        #[schemars(extend("default" = defaults::FRAMING.word()), example = json!("newline"))]
        "framing" => framing: Framing,

        /// Whether the client's messages have the `"jsonrpc": "2.0"` member.
        #[schemars(extend("default" = defaults::DIALECT.word()), example = json!("standard"))]
        "dialect" => dialect: Dialect,

        /// The era of MCP in which clients are served.
        #[schemars(extend("default" = defaults::CLIENT_ERA.word()), example = json!("legacy"))]
        "clientEra" => client_era: ClientEra,

        /// Largest message that a client or a server may send, from 1KiB to 1GiB.
        #[schemars(extend("default" = spell_size(defaults::MAX_MESSAGE_BYTES)), example = json!("64MiB"))]
        "maxMessageBytes" => max_message_bytes: Size,

        /// Grace period for a server to exit before it is killed.
        #[schemars(extend("default" = spell_time(defaults::SHUTDOWN_GRACE)), example = json!("10s"))]
        "shutdownGrace" => shutdown_grace: Time,

        /// How long a server's instance outlives the last client that used it; `0` ends it at once.
        #[schemars(extend("default" = spell_time(defaults::LINGER)), example = json!("5m"))]
        "linger" => linger: Time,

        /// Whether servers given on the command line (`stdio -- COMMAND`) are shared between windows too.
        /// Anyone who can start Switchboard can then make the daemon start programs.
        #[schemars(extend("default" = defaults::SHARE_AD_HOC), example = json!(true))]
        "shareAdHoc" => share_ad_hoc: bool,

        /// Limits for all servers together.
        #[schemars(example = json!({ "maxBackends": 8, "memoryLimit": "4GiB" }))]
        "pool" => pool: PoolEntry,

        /// Workspace of requests that have no other. A relative path starts at the config file's folder.
        #[schemars(example = json!("~/projects/app"))]
        "defaultRoot" => default_root: String,

        /// Whether a path argument outside of all known workspaces opens its project as a workspace.
        #[schemars(extend("default" = defaults::OPEN_ROOTS), example = json!(false))]
        "openRoots" => open_roots: bool,

        /// Whether a request without a workspace is still served.
        #[schemars(extend("default" = defaults::FALLBACK.word()), example = json!("off"))]
        "fallback" => fallback: Fallback,

        /// Names of folders that servers should skip, for servers that take such a list: the
        /// value of `${ignoredFolders}`.
        #[schemars(extend("default" = defaults::IGNORED_FOLDERS), example = json!([".git", "node_modules", ".venv"]))]
        "ignoredFolders" => ignored_folders: Vec<String>,

        /// Names of tools and prompts where clients see several servers as one.
        #[schemars(extend("default" = defaults::NAMES.word()), example = json!("plain"))]
        "names" => names: Names,

        /// How long a client of several servers waits, counted from its handshake, for servers
        /// whose lists are not known yet.
        #[schemars(extend("default" = spell_time(defaults::LIST_GRACE)), example = json!("30s"))]
        "listGrace" => list_grace: Time,

        /// Number of tools, prompts or resources on one page of a list; all of them by default.
        #[schemars(example = json!(100))]
        "pageSize" => page_size: Count,

        /// Servers that receive a client's notification, by method.
        #[schemars(extend("default" = {}), example = json!({ "notifications/editor/opened": ["search"] }))]
        "notifications" => notifications: ByName<WordList>,

        /// What clients with a profile may use, by the profile's name: `stdio --profile NAME`, `/profiles/NAME/mcp`.
        #[schemars(example = json!({ "work": ["github", "files"], "review": { "servers": ["github"], "tools": ["get_*"] } }))]
        "profiles" => profiles: ByName<ProfileForm>,

        /// Limits on the calls of each identity without limits of its own: a token, or clients without one.
        #[schemars(example = json!({ "rate": "600/min", "burst": 50, "concurrent": 20 }))]
        "limits" => limits: IdentityLimitsEntry,

        /// Who may connect.
        #[schemars(example = json!({ "stdio": "token" }))]
        "access" => access: AccessEntry,

        /// How `switchboard serve` serves clients over HTTP.
        #[schemars(example = json!({ "listen": ["127.0.0.1:7411"] }))]
        "serve" => serve: ServeEntry,

        /// Log settings.
        #[schemars(example = json!({ "level": "debug" }))]
        "log" => log: LogEntry,

        /// Record of calls: a line for each call of a tool, each read of a resource, each prompt.
        #[schemars(example = json!({ "clients": "all" }))]
        "audit" => audit: AuditEntry,
    }
}

file_object! {
    /// Who may connect.
    AccessEntry, ignoring &[], {
        /// Whether clients over stdio need a token.
        #[schemars(extend("default" = defaults::STDIO_ACCESS.word()), example = json!("token"))]
        "stdio" => stdio: StdioAccess,
    }
}

file_object! {
    /// Clients over HTTP.
    ServeEntry, ignoring &[], {
        /// Addresses to listen on, with their ports, or `unix:` and a path. `--listen` takes precedence.
        #[schemars(extend("default" = json!([defaults::LISTEN])), example = json!(["127.0.0.1:7411", "unix:/run/user/1000/mcp.sock"]))]
        "listen" => listen: WordList,

        /// File with the certificate and its chain, as PEM. Read again when it changes.
        #[schemars(example = json!("/etc/mcp/cert.pem"))]
        "tlsCert" => tls_cert: String,

        /// File with the certificate's key, as PEM.
        #[schemars(example = json!("/etc/mcp/key.pem"))]
        "tlsKey" => tls_key: String,

        /// Host names that clients may use for Switchboard, beside those of this machine.
        #[schemars(example = json!(["mcp.example.com"]))]
        "allowedHosts" => allowed_hosts: WordList,

        /// Origins of web pages that may access Switchboard, beside those of this machine.
        #[schemars(example = json!(["https://app.example.com"]))]
        "allowedOrigins" => allowed_origins: WordList,

        /// Whether a client may show its token in a message instead of a header. Bodies of clients that have
        /// shown no token are then read.
        #[schemars(extend("default" = defaults::TOKEN_IN_BODY), example = json!(true))]
        "tokenInBody" => token_in_body: bool,

        /// Idle time after which a session ends.
        #[schemars(extend("default" = spell_time(defaults::SESSION_TTL)), example = json!("1h"))]
        "sessionTtl" => session_ttl: Time,

        /// Largest number of sessions.
        #[schemars(extend("default" = defaults::MAX_SESSIONS), example = json!(200))]
        "maxSessions" => max_sessions: Count,

        /// Bytes kept for all sessions together, for clients that reconnect.
        #[schemars(extend("default" = spell_size(defaults::EVENT_BYTES)), example = json!("64MiB"))]
        "eventBytes" => event_bytes: Size,

        /// Folders that a client may name in `Switchboard-Root`, by the names it uses. Clients on other
        /// machines, and those without the owner's token, can name no others.
        #[schemars(example = json!({ "shop": "/srv/shop" }))]
        "rootMap" => root_map: ByName<String>,
    }
}

file_object! {
    /// Limits for all servers together.
    PoolEntry, ignoring &[], {
        /// Number of backends that may run at a time, of all servers together.
        #[schemars(extend("default" = defaults::POOL_MAX_BACKENDS), example = json!(8))]
        "maxBackends" => max_backends: Count,

        /// Memory limit for all their processes together; half of the machine's memory by
        /// default, and `0` is no limit.
        #[schemars(example = json!("4GiB"))]
        "memoryLimit" => memory_limit: Size,

        /// Idle time after which a backend is stopped; `0` is never.
        #[schemars(extend("default" = spell_time(defaults::IDLE_TTL)), example = json!("1h"))]
        "idleTtl" => idle_ttl: Time,
    }
}

file_object! {
    /// Log settings.
    LogEntry, ignoring &[], {
        /// Log level.
        #[schemars(extend("default" = defaults::LOG_LEVEL.word()), example = json!("debug"))]
        "level" => level: LogLevel,

        /// Format of log lines.
        #[schemars(extend("default" = defaults::LOG_FORMAT.word()), example = json!("json"))]
        "format" => format: LogFormat,

        /// Log file to use instead of the daily one in the state folder. A relative path starts
        /// at the config file's folder.
        #[schemars(example = json!("~/switchboard.log"))]
        "file" => file: String,

        /// Whether the content of messages is logged. It may contain secrets.
        #[schemars(extend("default" = defaults::LOG_BODIES), example = json!(true))]
        "bodies" => bodies: bool,
    }
}

file_object! {
    /// Record of calls.
    AuditEntry, ignoring &[], {
        /// Clients whose calls are recorded.
        #[schemars(extend("default" = defaults::AUDIT_CLIENTS.word()), example = json!("all"))]
        "clients" => clients: AuditClients,

        /// Whether the arguments of calls are recorded: the first 4 KiB, with secrets masked.
        #[schemars(extend("default" = defaults::AUDIT_ARGUMENTS), example = json!(true))]
        "arguments" => arguments: bool,

        /// File to use instead of `audit.jsonl` in the log folder. A relative path starts at the
        /// config file's folder.
        #[schemars(example = json!("/var/log/switchboard/audit.jsonl"))]
        "file" => file: String,

        /// Size at which a new file begins, at least 64KiB.
        #[schemars(extend("default" = spell_size(defaults::AUDIT_MAX_BYTES)), example = json!("100MiB"))]
        "maxBytes" => max_bytes: Size,

        /// Number of old files that are kept.
        #[schemars(extend("default" = defaults::AUDIT_KEEP), example = json!(50))]
        "keep" => keep: Count,
    }
}

/// Servers by name, in the order of the file, each with the position of its name.
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
