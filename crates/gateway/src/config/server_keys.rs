//! Every key of a server, stated once: name, type, meaning, default and an example. The loader reads with
//! these definitions and the schema is made from them.

use jsonc_parser::ast::{Object, Value};
use schemars::JsonSchema;
use serde_json::json;

use super::access_keys::{AsksEntry, ServerLimitsEntry};
use super::choices::{
    Capabilities, Dialect, Framing, Guard, InheritEnv, OnTimeout, Packages, Pinning, Preset, RetryAfterCrash,
    Scope, ServerEra, State,
};
use super::lists::{ByName, Short, WordList};
use super::object::{file_object, nothing_required, object};
use super::quantity::spell_time;
use super::read::{CallTime, Count, Key, Read, Size, Time, Times, warn_of_unknown};
use super::report::{FilePlace, Report};
use super::{Variables, defaults};
use crate::presets::table::AUGGIE;

/// Keys of other programs; ignored, so that a pasted block gives no warning.
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

file_object! {
    /// Visible tools or prompts of a server, and their names.
    FilterEntry, ignoring &[], {
        /// Patterns of the server's own names; only matching ones are visible. `*` stands for any characters,
        /// `?` for one. Everything by default; nothing if empty.
        #[schemars(example = json!(["read_*", "list_*"]))]
        "allow" => allow: WordList,

        /// Patterns of the server's own names; matching ones are hidden, whatever `allow` says.
        #[schemars(extend("default" = []), example = json!(["delete_*"]))]
        "deny" => deny: WordList,

        /// New names, by the server's own.
        #[schemars(extend("default" = {}), example = json!({ "search_repositories": "repos" }))]
        "rename" => rename: ByName<String>,
    }
}

file_object! {
    /// Visible resources of a server.
    ResourceFilterEntry, ignoring &[], {
        /// Patterns of URIs; only matching ones are visible. `*` stands for any characters, `?` for one.
        /// Everything by default; nothing if empty.
        #[schemars(example = json!(["file:///work/*"]))]
        "allow" => allow: WordList,

        /// Patterns of URIs; matching ones are hidden, whatever `allow` says.
        #[schemars(extend("default" = []), example = json!(["*.env"]))]
        "deny" => deny: WordList,
    }
}

file_object! {
    /// One MCP server.
    ServerEntry, ignoring FOREIGN_IN_SERVER, {
        /// Program to start: a name that is looked up in `PATH`, or a path.
        #[schemars(example = json!("npx"))]
        "command" => command: String,

        /// Arguments of the program.
        #[schemars(extend("default" = []), example = json!(["-y", "@modelcontextprotocol/server-github"]))]
        "args" => args: Vec<String>,

        /// Environment variables for the program, in addition to inherited ones.
        #[schemars(extend("default" = {}), example = json!({ "GITHUB_TOKEN": "${GITHUB_TOKEN}" }))]
        "env" => env: Variables,

        /// Working folder of the program. A relative path starts at the workspace.
        #[schemars(example = json!("${workspaceFolder}/server"))]
        "cwd" => cwd: String,

        /// Server that Switchboard knows by name and locates itself, instead of `command`.
        #[schemars(example = json!("auggie"))]
        "preset" => preset: Preset,

        /// With `preset`: path of node. Located automatically by default.
        #[schemars(example = json!("/usr/bin/node"))]
        "node" => node: String,

        /// With `preset`: the server's JS file. Located automatically by default.
        #[schemars(example = json!("~/auggie/augment.mjs"))]
        "entry" => entry: String,

        /// With `preset`: the server's mode.
        #[schemars(extend("default" = "default"), example = json!("default"))]
        "mode" => mode: String,

        /// With `preset`: the server's arguments, with `{mode}` and `{root}` as placeholders.
        #[schemars(
            extend("default" = AUGGIE.args_template),
            example = json!("--mcp -m {mode} --workspace-root {root} --print")
        )]
        "argsTemplate" => args_template: String,

        /// `true` keeps the server in the file without using it.
        #[schemars(extend("default" = defaults::DISABLED), example = json!(true))]
        "disabled" => disabled: bool,

        /// The opposite of `disabled`, as some clients write it.
        #[schemars(extend("default" = !defaults::DISABLED), example = json!(false))]
        "enabled" => enabled: bool,

        /// Whether the server is started only on first use, once its offers are known.
        #[schemars(extend("default" = defaults::LAZY), example = json!(false))]
        "lazy" => lazy: bool,

        /// `/readyz` fails while this server cannot be used.
        #[schemars(extend("default" = false), example = json!(true))]
        "required" => required: bool,

        /// Visible tools, and their names. An array is short for `allow`.
        #[schemars(example = json!({ "deny": ["delete_*"] }))]
        "tools" => tools: Short<FilterEntry>,

        /// Visible prompts, and their names. An array is short for `allow`.
        #[schemars(example = json!({ "rename": { "p": "review" } }))]
        "prompts" => prompts: Short<FilterEntry>,

        /// Visible resources. An array is short for `allow`.
        #[schemars(example = json!({ "deny": ["*.env"] }))]
        "resources" => resources: Short<ResourceFilterEntry>,

        /// `stdio` for a program; `http` (Streamable HTTP) or `sse` for a remote server, detected by default.
        #[schemars(example = json!("http"))]
        "type" => kind: String,

        /// Address of a remote server, instead of `command`.
        #[schemars(example = json!("https://example.com/mcp"))]
        "url" => url: String,

        /// Gemini's name for `url`.
        #[schemars(example = json!("https://example.com/mcp"))]
        "httpUrl" => http_url: String,

        /// Windsurf's name for `url`.
        #[schemars(example = json!("https://example.com/mcp"))]
        "serverUrl" => server_url: String,

        /// Headers sent to a remote server with every request.
        #[schemars(extend("default" = {}), example = json!({ "Authorization": "Bearer ${TOKEN}" }))]
        "headers" => headers: ByName<String>,

        /// How messages are separated on the server's side.
        #[schemars(extend("default" = defaults::FRAMING.word()), example = json!("content-length"))]
        "framing" => framing: Framing,

        /// The era of MCP in which the server is spoken to.
        #[schemars(extend("default" = defaults::SERVER_ERA.word()), example = json!("modern"))]
        "era" => era: ServerEra,

        /// Whether messages to the server have the `jsonrpc` member.
        #[schemars(extend("default" = defaults::DIALECT.word()), example = json!("bare"))]
        "dialect" => dialect: Dialect,

        /// Which of Switchboard's own environment variables the server inherits.
        #[schemars(extend("default" = defaults::INHERIT_ENV.word()), example = json!("all"))]
        "inheritEnv" => inherit_env: InheritEnv,

        /// Names of further variables that the server inherits; `*` stands for any characters.
        #[schemars(extend("default" = []), example = json!(["GITHUB_*"]))]
        "passEnv" => pass_env: Vec<String>,

        /// Time limit for the server's first answer.
        #[schemars(extend("default" = spell_time(defaults::START_TIMEOUT)), example = json!("2m"))]
        "startTimeout" => start_timeout: Time,

        /// Time limit for a call, restarted by each progress notification. A bare number
        /// from 1000 on is milliseconds.
        #[schemars(extend("default" = spell_time(defaults::TIMEOUT)), example = json!("90s"))]
        "timeout" => timeout: CallTime,

        /// Time limit for a request, whatever progress it reports; `0` is never.
        #[schemars(extend("default" = spell_time(defaults::HARD_TIMEOUT)), example = json!("4h"))]
        "hardTimeout" => hard_timeout: Time,

        /// Time for a modern client to continue a call for which this server, a legacy one, wants input.
        #[schemars(extend("default" = spell_time(defaults::INPUT_TIMEOUT)), example = json!("1h"))]
        "inputTimeout" => input_timeout: Time,

        /// Reaction to a call that exceeds `timeout`.
        #[schemars(extend("default" = defaults::ON_TIMEOUT.word()), example = json!("restart"))]
        "onTimeout" => on_timeout: OnTimeout,

        /// Handling of unanswered requests when the server crashes.
        #[schemars(extend("default" = defaults::RETRY_AFTER_CRASH.word()), example = json!("off"))]
        "retryAfterCrash" => retry_after_crash: RetryAfterCrash,

        /// Grace period for this server to exit; the outer `shutdownGrace` by default.
        #[schemars(example = json!("30s"))]
        "shutdownGrace" => shutdown_grace: Time,

        /// Requests that the server handles at a time; the others wait in order. Use `1` for
        /// servers that cannot handle more.
        #[schemars(extend("default" = defaults::MAX_IN_FLIGHT), example = json!(1))]
        "maxInFlight" => max_in_flight: Count,

        /// Requests that may wait, for their turn or for the server to be ready; any more are refused.
        #[schemars(extend("default" = defaults::MAX_QUEUE), example = json!(16))]
        "maxQueue" => max_queue: Count,

        /// What separates instances of the server.
        #[schemars(extend("default" = defaults::SCOPE.word()), example = json!("global"))]
        "scope" => scope: Scope,

        /// Instances of the server that may run at a time.
        #[schemars(extend("default" = defaults::MAX_BACKENDS), example = json!(5))]
        "maxBackends" => max_backends: Count,

        /// Idle time after which an instance is stopped; `0` is never. The pool's `idleTtl` by default.
        #[schemars(example = json!("1h"))]
        "idleTtl" => idle_ttl: Time,

        /// Memory limit for one instance, including all processes it started; no limit by default.
        #[schemars(example = json!("512MiB"))]
        "memoryLimit" => memory_limit: Size,

        /// Names of its tools' arguments that hold a path in the call's workspace.
        #[schemars(extend("default" = []), example = json!(["directory_path"]))]
        "rootArguments" => root_arguments: Vec<String>,

        /// Interval of health checks for an instance in use; `0` is never.
        #[schemars(extend("default" = spell_time(defaults::HEALTH)), example = json!("2m"))]
        "health" => health: Time,

        /// State that an instance keeps between calls. It decides who may share the
        /// instance and when it may be stopped.
        #[schemars(extend("default" = defaults::STATE.word()), example = json!("client"))]
        "state" => state: State,

        /// Whether clients that declare different capabilities share an instance.
        #[schemars(extend("default" = defaults::CAPABILITIES.word()), example = json!("shared"))]
        "capabilities" => capabilities: Capabilities,

        /// Limits on the calls to the server, shared by all clients.
        #[schemars(example = json!({ "rate": "100/min", "burst": 20, "concurrent": 4 }))]
        "limits" => limits: ServerLimitsEntry,

        /// Requests that the server may send to its clients.
        #[schemars(example = json!({ "sampling": "deny" }))]
        "asks" => asks: AsksEntry,

        /// Reaction to a tool whose definition differs from the approved one.
        #[schemars(extend("default" = defaults::PINNING.word()), example = json!("hold"))]
        "pinning" => pinning: Pinning,

        /// Delay by method: equal notifications that follow the first of a burst are merged into one. Methods
        /// not given keep their default, and `0` turns one off.
        #[schemars(
            extend("default" = Times::spelled(defaults::DEBOUNCE)),
            example = json!({ "notifications/resources/updated": "1s" })
        )]
        "debounce" => debounce: Times,

        /// Where a package runner (`npx`, `npm exec`, `pnpm dlx`, `bunx`, `yarn dlx`) finds the
        /// server: the registry only, or the workspace's own packages first. The second runs code
        /// of whatever folder is opened.
        #[schemars(extend("default" = defaults::PACKAGES.word()), example = json!("workspace"))]
        "packages" => packages: Packages,

        /// How the server's processes are kept from outliving Switchboard.
        #[schemars(extend("default" = defaults::GUARD.word()), example = json!("strict"))]
        "guard" => guard: Guard,

        /// Names of processes that are left running when the server is stopped.
        #[schemars(extend("default" = []), example = json!(["adb"]))]
        "keep" => keep: Vec<String>,
    }
}
