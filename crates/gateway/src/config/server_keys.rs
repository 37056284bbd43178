//! Every key of a server, once: its name, its type, what it means, its default and an example. The loader reads with these
//! definitions and the schema is made from them.

use jsonc_parser::ast::{Object, Value};
use schemars::JsonSchema;
use serde_json::json;

use super::choices::{
    Capabilities, Framing, Guard, InheritEnv, OnTimeout, Packages, Preset, RetryAfterCrash, Scope, State,
};
use super::lists::{ByName, Short, WordList};
use super::object::{file_object, nothing_required, object};
use super::quantity::spell_time;
use super::read::{CallTime, Count, Key, Read, Size, Time, Times, warn_of_unknown};
use super::report::{FilePlace, Report};
use super::{Variables, defaults};
use crate::presets::table::AUGGIE;

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

file_object! {
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

file_object! {
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

file_object! {
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
