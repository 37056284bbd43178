//! Every key of the file, once: its name, its type, what it means, its default and an example. The loader
//! reads with these definitions and the schema is made from them, so neither can know a key that the other
//! does not.

use std::borrow::Cow;

use jsonc_parser::ast::{Object, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use super::choices::{
    Capabilities, Dialect, Fallback, Framing, Guard, InheritEnv, LogFormat, LogLevel, Names, OnTimeout,
    Packages, Preset, RetryAfterCrash, Scope, State,
};
use super::default_keys::DefaultsEntry;
use super::lists::{ByName, Short, WordList};
use super::quantity::{spell_size, spell_time};
use super::read::{CallTime, Count, Key, Read, Size, Time, Times, expected, warn_of_unknown};
use super::report::{FilePlace, Report};
use super::syntax::span;
use super::{Variables, defaults};
use crate::presets::table::AUGGIE;

/// Keys of the outermost object that other programs use; ignored.
pub(super) const FOREIGN_AT_TOP: &[&str] = &["$schema", "inputs"];

/// Keys of a server that other programs use; ignored, so that a block pasted from one of them gives no
/// warning.
pub(super) const FOREIGN_IN_SERVER: &[&str] = &[
    "alwaysAllow",
    "alwaysLoad",
    "auth",
    "authProviderType",
    "autoApprove",
    "bearer_token_env_var",
    "default_tools_approval_mode",
    "description",
    "dev",
    "disabledTools",
    "disabled_tools",
    "enabledTools",
    "enabled_tools",
    "envFile",
    "env_http_headers",
    "env_vars",
    "excludeTools",
    "gallery",
    "headersHelper",
    "http_headers",
    "icon",
    "id",
    "includeTools",
    "name",
    "networkTimeout",
    "note",
    "oauth",
    "sandbox",
    "sandboxEnabled",
    "scopes",
    "startup_timeout_ms",
    "startup_timeout_sec",
    "supports_parallel_tool_calls",
    "tags",
    "targetAudience",
    "targetServiceAccount",
    "tool_timeout_sec",
    "transport",
    "transportType",
    "trust",
    "version",
    "watchPaths",
];

/// Declares an object of the file: a struct with a field per key, and how it is read.
macro_rules! object {
    (
        $(#[$about:meta])*
        $Name:ident, ignoring $foreign:expr, {
            $( $(#[$meaning:meta])* $key:literal => $field:ident: $Type:ty, )*
        }
    ) => {
        $(#[$about])*
        #[derive(JsonSchema)]
        #[schemars(transform = nothing_required)]
        pub(super) struct $Name {
            $( $(#[$meaning])* #[schemars(rename = $key)] pub(super) $field: Key<$Type>, )*
        }

        impl Read for $Name {
            fn read(value: &Value<'_>, place: &FilePlace, report: &mut Report<'_>) -> Option<Self> {
                let object = object(value, place, report)?;
                Some(Self::read_object(object, place, report))
            }
        }

        impl $Name {
            pub(super) const KEYS: &[&str] = &[$( $key ),*];

            pub(super) fn read_object(object: &Object<'_>, place: &FilePlace, report: &mut Report<'_>) -> Self {
                warn_of_unknown(object, Self::KEYS, $foreign, place, report);
                Self::read_keys(object, place, report)
            }

            /// Ignores unknown keys.
            pub(super) fn read_keys(object: &Object<'_>, place: &FilePlace, report: &mut Report<'_>) -> Self {
                Self { $( $field: Key::read(object, $key, place, report), )* }
            }
        }
    };
}

/// `Key` is optional in the file, which schemars cannot know.
fn nothing_required(schema: &mut Schema) {
    schema.remove("required");
}

pub(super) fn object<'v, 'a>(
    value: &'v Value<'a>,
    place: &FilePlace,
    report: &mut Report<'_>,
) -> Option<&'v Object<'a>> {
    if let Value::Object(object) = value {
        return Some(object);
    }
    expected("an object", "write { … }", value, place, report);
    None
}

object! {
    /// Switchboard's config file: JSON with comments and trailing commas.
    FileEntry, ignoring FOREIGN_AT_TOP, {
        /// The MCP servers, by name, as Claude, Cursor and others have them.
        #[schemars(example = json!({ "time": { "command": "uvx", "args": ["mcp-server-time"] } }))]
        "mcpServers" => mcp_servers: Servers,

        /// The same as `mcpServers`; VS Code's name for it.
        #[schemars(example = json!({ "time": { "command": "uvx", "args": ["mcp-server-time"] } }))]
        "servers" => servers: Servers,

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

object! {
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

object! {
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

object! {
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

object! {
    /// Which of a server's tools or prompts clients see, and what they are called.
    FilterEntry, ignoring &[], {
        /// Patterns of the server's own names: only what fits one of them is seen; `*` stands for any characters, `?` for
        /// one. Everything unless given; nothing if empty.
        #[schemars(example = json!(["read_*", "list_*"]))]
        "allow" => allow: WordList,

        /// Patterns of the server's own names: what fits one of them is not seen, whatever `allow` says.
        #[schemars(extend("default" = []), example = json!(["delete_*"]))]
        "deny" => deny: WordList,

        /// Other names, by the server's own.
        #[schemars(extend("default" = {}), example = json!({ "search_repositories": "repos" }))]
        "rename" => rename: ByName<String>,
    }
}

object! {
    /// Which of a server's resources clients see.
    ResourceFilterEntry, ignoring &[], {
        /// Patterns of URIs: only what fits one of them is seen; `*` stands for any characters, `?` for one. Everything
        /// unless given; nothing if empty.
        #[schemars(example = json!(["file:///work/*"]))]
        "allow" => allow: WordList,

        /// Patterns of URIs: what fits one of them is not seen, whatever `allow` says.
        #[schemars(extend("default" = []), example = json!(["*.env"]))]
        "deny" => deny: WordList,
    }
}

object! {
    /// One MCP server.
    ServerEntry, ignoring FOREIGN_IN_SERVER, {
        /// The program to start: a name that is looked up in `PATH`, or a path.
        #[schemars(example = json!("npx"))]
        "command" => command: String,

        /// The program's arguments.
        #[schemars(extend("default" = []), example = json!(["-y", "@modelcontextprotocol/server-github"]))]
        "args" => args: Vec<String>,

        /// Environment variables for the program, over those that it inherits.
        #[schemars(extend("default" = {}), example = json!({ "GITHUB_TOKEN": "${GITHUB_TOKEN}" }))]
        "env" => env: Variables,

        /// The folder the program starts in. A relative path starts at the workspace.
        #[schemars(example = json!("${workspaceFolder}/server"))]
        "cwd" => cwd: String,

        /// A server that Switchboard knows by name and finds itself, instead of `command`.
        #[schemars(example = json!("auggie"))]
        "preset" => preset: Preset,

        /// With `preset`: node's program. It is looked for unless given.
        #[schemars(example = json!("/usr/bin/node"))]
        "node" => node: String,

        /// With `preset`: the server's JS file. It is looked for unless given.
        #[schemars(example = json!("~/auggie/augment.mjs"))]
        "entry" => entry: String,

        /// With `preset`: the mode that the server runs in.
        #[schemars(extend("default" = "default"), example = json!("default"))]
        "mode" => mode: String,

        /// With `preset`: the server's arguments, in which `{mode}` and `{root}` are filled in.
        #[schemars(
            extend("default" = AUGGIE.args_template),
            example = json!("--mcp -m {mode} --workspace-root {root} --print")
        )]
        "argsTemplate" => args_template: String,

        /// `true`: the server stays in the file and is not used.
        #[schemars(extend("default" = defaults::DISABLED), example = json!(true))]
        "disabled" => disabled: bool,

        /// The opposite of `disabled`, as some clients write it.
        #[schemars(extend("default" = !defaults::DISABLED), example = json!(false))]
        "enabled" => enabled: bool,

        /// Whether the server is only started when one of its things is used, once it is known what it offers.
        #[schemars(extend("default" = defaults::LAZY), example = json!(false))]
        "lazy" => lazy: bool,

        /// `/readyz` is not green while it cannot be used.
        #[schemars(extend("default" = false), example = json!(true))]
        "required" => required: bool,

        /// Which of its tools clients see, and what they are called. An array is short for `allow`.
        #[schemars(example = json!({ "deny": ["delete_*"] }))]
        "tools" => tools: Short<FilterEntry>,

        /// Which of its prompts clients see, and what they are called. An array is short for `allow`.
        #[schemars(example = json!({ "rename": { "p": "review" } }))]
        "prompts" => prompts: Short<FilterEntry>,

        /// Which of its resources clients see. An array is short for `allow`.
        #[schemars(example = json!({ "deny": ["*.env"] }))]
        "resources" => resources: Short<ResourceFilterEntry>,

        /// `stdio` for a program that is started; `http` (Streamable HTTP) or `sse` for a server elsewhere. Which of the two
        /// is found out unless given.
        #[schemars(example = json!("http"))]
        "type" => kind: String,

        /// Where a remote server is, instead of `command`.
        #[schemars(example = json!("https://example.com/mcp"))]
        "url" => url: String,

        /// Gemini's name for `url`.
        #[schemars(example = json!("https://example.com/mcp"))]
        "httpUrl" => http_url: String,

        /// Windsurf's name for `url`.
        #[schemars(example = json!("https://example.com/mcp"))]
        "serverUrl" => server_url: String,

        /// Sent to a remote server with every request.
        #[schemars(extend("default" = {}), example = json!({ "Authorization": "Bearer ${TOKEN}" }))]
        "headers" => headers: ByName<String>,

        /// How messages are told apart on the server's side.
        #[schemars(extend("default" = defaults::FRAMING.word()), example = json!("content-length"))]
        "framing" => framing: Framing,

        /// Which of Switchboard's own environment variables the server gets.
        #[schemars(extend("default" = defaults::INHERIT_ENV.word()), example = json!("all"))]
        "inheritEnv" => inherit_env: InheritEnv,

        /// Names of variables that the server gets in addition; `*` stands for any characters.
        #[schemars(extend("default" = []), example = json!(["GITHUB_*"]))]
        "passEnv" => pass_env: Vec<String>,

        /// How long the server has for its first answer.
        #[schemars(extend("default" = spell_time(defaults::START_TIMEOUT)), example = json!("2m"))]
        "startTimeout" => start_timeout: Time,

        /// How long a call may take, counted anew with each progress notification. A bare number from 1000
        /// on is milliseconds.
        #[schemars(extend("default" = spell_time(defaults::TIMEOUT)), example = json!("90s"))]
        "timeout" => timeout: CallTime,

        /// When a request fails whatever progress it reports; `0` is never.
        #[schemars(extend("default" = spell_time(defaults::HARD_TIMEOUT)), example = json!("4h"))]
        "hardTimeout" => hard_timeout: Time,

        /// What happens to the server when a call takes longer than `timeout`.
        #[schemars(extend("default" = defaults::ON_TIMEOUT.word()), example = json!("restart"))]
        "onTimeout" => on_timeout: OnTimeout,

        /// What happens to unanswered requests when the server crashes.
        #[schemars(extend("default" = defaults::RETRY_AFTER_CRASH.word()), example = json!("off"))]
        "retryAfterCrash" => retry_after_crash: RetryAfterCrash,

        /// How long this server has to end by itself; the outer `shutdownGrace` unless given.
        #[schemars(example = json!("30s"))]
        "shutdownGrace" => shutdown_grace: Time,

        /// How many requests the server works on at a time; the others wait their turn, in order. `1` is for servers
        /// that cannot do more.
        #[schemars(extend("default" = defaults::MAX_IN_FLIGHT), example = json!(1))]
        "maxInFlight" => max_in_flight: Count,

        /// How many requests may wait, for their turn or for the server to be ready; one more is refused.
        #[schemars(extend("default" = defaults::MAX_QUEUE), example = json!(16))]
        "maxQueue" => max_queue: Count,

        /// What instances of the server are kept apart by.
        #[schemars(extend("default" = defaults::SCOPE.word()), example = json!("global"))]
        "scope" => scope: Scope,

        /// How many instances of the server may run at a time.
        #[schemars(extend("default" = defaults::MAX_BACKENDS), example = json!(5))]
        "maxBackends" => max_backends: Count,

        /// After how long without a request an instance is stopped; `0` is never. The pool's `idleTtl` unless given.
        #[schemars(example = json!("1h"))]
        "idleTtl" => idle_ttl: Time,

        /// How much memory one instance may have, with all the processes that it started; no limit unless given.
        #[schemars(example = json!("512MiB"))]
        "memoryLimit" => memory_limit: Size,

        /// Names of its tools' arguments that hold a path in the workspace that a call belongs to.
        #[schemars(extend("default" = []), example = json!(["directory_path"]))]
        "rootArguments" => root_arguments: Vec<String>,

        /// How often an instance that is in use is asked for a sign of life; `0` is never.
        #[schemars(extend("default" = spell_time(defaults::HEALTH)), example = json!("2m"))]
        "health" => health: Time,

        /// What an instance remembers from one call to the next, and so with whom it may be shared and when it may be
        /// stopped.
        #[schemars(extend("default" = defaults::STATE.word()), example = json!("client"))]
        "state" => state: State,

        /// Whether clients that declare different capabilities share an instance.
        #[schemars(extend("default" = defaults::CAPABILITIES.word()), example = json!("shared"))]
        "capabilities" => capabilities: Capabilities,

        /// For how long equal notifications that follow the first of a burst are held back, to be merged into one. By
        /// method; what is not given keeps its default, and `0` turns one off.
        #[schemars(
            extend("default" = Times::spelled(defaults::DEBOUNCE)),
            example = json!({ "notifications/resources/updated": "1s" })
        )]
        "debounce" => debounce: Times,

        /// Where a package runner (`npx`, `npm exec`, `pnpm dlx`, `bunx`, `yarn dlx`) takes the server from: the registry
        /// only, or the workspace's own packages first. The second runs code of whatever folder is opened.
        #[schemars(extend("default" = defaults::PACKAGES.word()), example = json!("workspace"))]
        "packages" => packages: Packages,

        /// What keeps the server's processes from outliving Switchboard.
        #[schemars(extend("default" = defaults::GUARD.word()), example = json!("strict"))]
        "guard" => guard: Guard,

        /// Names of processes that are left running when the server is stopped.
        #[schemars(extend("default" = []), example = json!(["adb"]))]
        "keep" => keep: Vec<String>,
    }
}

/// Servers by name, in the order of the file, each with the place of its name.
pub(super) struct Servers(pub(super) Vec<(String, FilePlace, ServerEntry)>);

impl Read for Servers {
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

impl JsonSchema for Servers {
    fn schema_name() -> Cow<'static, str> {
        "Servers".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let server = generator.subschema_for::<ServerEntry>();
        json_schema!({ "type": "object", "additionalProperties": server })
    }
}
