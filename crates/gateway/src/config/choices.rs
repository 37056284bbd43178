//! Settings that are one word of a fixed set. Each enum lists its words once: the loader accepts them, the
//! schema lists them, and `Display` writes them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Enum that the file spells as one of a fixed set of words.
pub(super) trait Choice: Copy + 'static {
    const WORDS: &'static [(&'static str, Self)];
}

macro_rules! choice {
    ($(#[$about:meta])* $Name:ident { $( $(#[$meaning:meta])* $Variant:ident = $word:literal, )* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
        pub enum $Name {
            $( $(#[$meaning])* #[serde(rename = $word)] $Variant, )*
        }

        impl $Name {
            /// Spelling of this choice in the config file.
            pub const fn word(self) -> &'static str {
                match self { $( Self::$Variant => $word, )* }
            }
        }

        impl Choice for $Name {
            const WORDS: &'static [(&'static str, Self)] = &[ $( ($word, Self::$Variant), )* ];
        }

        impl fmt::Display for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}

choice! {
    /// How messages are separated in a byte stream.
    Framing {
        /// Detected from the first bytes that the other side sends.
        Auto = "auto",
        /// One message per line, as MCP specifies.
        Newline = "newline",
        /// A `Content-Length` header before each message, as in the Language Server Protocol.
        ContentLength = "content-length",
    }
}

choice! {
    /// The era of MCP in which clients are served.
    ClientEra {
        /// As each client speaks.
        Auto = "auto",
        /// Only with a handshake, as before 2026-07-28.
        Legacy = "legacy",
    }
}

choice! {
    /// The era of MCP in which a server is spoken to.
    ServerEra {
        /// As the server turns out to speak.
        Auto = "auto",
        /// With a handshake, as before 2026-07-28.
        Legacy = "legacy",
        /// Without a handshake, as from 2026-07-28 on.
        Modern = "modern",
    }
}

choice! {
    /// Form of messages.
    Dialect {
        /// Detected from the client's first message; the same as `standard` for a server.
        Auto = "auto",
        /// JSON-RPC 2.0 as MCP specifies.
        Standard = "standard",
        /// Messages without the `"jsonrpc": "2.0"` member.
        Bare = "bare",
    }
}

choice! {
    /// Whether clients over stdio need a token.
    StdioAccess {
        /// They need none, and act for the owner unless they show one.
        Open = "open",
        /// They are served only with a token.
        Token = "token",
    }
}

choice! {
    /// Clients whose calls are recorded.
    AuditClients {
        /// Clients over HTTP, and clients with a token of their own.
        Remote = "remote",
        /// All clients, including the owner's windows.
        All = "all",
        /// No client.
        None = "none",
    }
}

choice! {
    /// Which of Switchboard's own environment variables a server inherits.
    InheritEnv {
        /// The documented safe list: variables that programs need to run, without secrets.
        Safe = "safe",
        /// All variables, including secrets.
        All = "all",
        /// No variables.
        None = "none",
    }
}

choice! {
    /// Where package runners such as `npx` find packages.
    Packages {
        /// The registry, as in an empty folder.
        Isolated = "isolated",
        /// The workspace's `node_modules` first, with the workspace's settings.
        Workspace = "workspace",
    }
}

choice! {
    /// How a server's processes are kept from outliving Switchboard.
    Guard {
        /// A guard process, and every measure that the server cannot notice.
        Auto = "auto",
        /// Also a PID namespace, where the system allows one: nothing survives even if
        /// Switchboard and its guards are killed.
        Strict = "strict",
        /// A process group only: processes that the server starts may outlive Switchboard.
        Off = "off",
    }
}

choice! {
    /// Reaction to a call that exceeds `timeout`.
    OnTimeout {
        /// Ping the backend; restart it only if it does not answer.
        Probe = "probe",
        /// Restart the backend at once.
        Restart = "restart",
        /// Keep the backend; only the call fails.
        Keep = "keep",
    }
}

choice! {
    /// Handling of requests that a backend had not answered when it crashed.
    RetryAfterCrash {
        /// Requests without side effects (lists, reads) are sent once more; tool calls never are.
        Safe = "safe",
        /// No request is sent again; each gets an error.
        Off = "off",
    }
}

choice! {
    /// What separates the instances of a server.
    Scope {
        /// The workspace if the server may depend on it, otherwise nothing. See docs/workspaces.md.
        Auto = "auto",
        /// The workspace: clients of one workspace share an instance.
        Root = "root",
        /// Nothing: all clients share one instance.
        Global = "global",
        /// The client: each has its own instance.
        Client = "client",
    }
}

choice! {
    /// State that a backend keeps between calls. It decides who may share the
    /// backend and when it may be stopped.
    State {
        /// No state: the backend is shared, and stopped when idle.
        None = "none",
        /// State of one client: each client has its own backend for as long as it is connected.
        Client = "client",
        /// State of all clients: the backend is shared, and kept while any client is connected.
        Backend = "backend",
        /// Known for some packages, guessed from tool names for others, otherwise `none`.
        Auto = "auto",
    }
}

choice! {
    /// Whether clients that declare different capabilities share a backend.
    Capabilities {
        /// Once the server has offered both the same and asked neither for anything.
        Auto = "auto",
        /// Never.
        Exact = "exact",
        /// Always.
        Shared = "shared",
    }
}

choice! {
    /// Whether a server may send a request to its clients.
    Ask {
        /// It is declared to the server, and delivered.
        Allow = "allow",
        /// It is neither declared nor delivered: the server gets an error.
        Deny = "deny",
    }
}

choice! {
    /// Reaction to a tool whose definition differs from the approved one.
    Pinning {
        /// None; definitions are not compared.
        Off = "off",
        /// A warning in the log and in `status`.
        Warn = "warn",
        /// The same, and the tool is hidden until `switchboard approve tools SERVER`.
        Hold = "hold",
    }
}

choice! {
    /// Servers that Switchboard knows by name.
    Preset {
        /// The context engine of Augment Code: `@augmentcode/auggie`, started with node.
        Auggie = "auggie",
    }
}

choice! {
    /// Whether a request without a workspace still gets a backend.
    Fallback {
        /// Yes, with a warning.
        On = "on",
        /// No, it gets an error.
        Off = "off",
    }
}

choice! {
    /// Names of tools and prompts where clients see several servers as one.
    Names {
        /// Prefixed with the server's name: `server__tool`.
        Prefixed = "prefixed",
        /// As the server names them.
        Plain = "plain",
    }
}

choice! {
    /// Format of log lines.
    LogFormat {
        /// Text for people.
        Human = "human",
        /// One JSON object per line.
        Json = "json",
    }
}

choice! {
    /// Log level; includes all levels above it.
    LogLevel {
        /// Failures.
        Error = "error",
        /// Likely failures, and ignored settings.
        Warn = "warn",
        /// Starts, stops and restarts.
        Info = "info",
        /// Every request, without its content.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
}
