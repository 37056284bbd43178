//! The settings that are one word out of a few. Each enum states its words once: the loader accepts them,
//! the schema lists them, and `Display` writes them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An enum that stands in the file as one of a fixed set of words.
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
            /// The word for this choice in the config file.
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
    /// How messages are told apart in a stream of bytes.
    Framing {
        /// Seen from the first bytes that the other side sends.
        Auto = "auto",
        /// One message per line, as MCP says.
        Newline = "newline",
        /// A `Content-Length` header before each message, as the Language Server Protocol has it.
        ContentLength = "content-length",
    }
}

choice! {
    /// What the client's messages look like.
    Dialect {
        /// Seen from the first message.
        Auto = "auto",
        /// JSON-RPC 2.0 as MCP says.
        Standard = "standard",
        /// Messages without the `"jsonrpc": "2.0"` member.
        Bare = "bare",
    }
}

choice! {
    /// Which of our own environment variables a server gets.
    InheritEnv {
        /// Those on the documented safe list: what programs need to run, and no secrets.
        Safe = "safe",
        /// All of them, secrets included.
        All = "all",
        /// None.
        None = "none",
    }
}

choice! {
    /// Where package runners such as `npx` take packages from.
    Packages {
        /// The registry, as in an empty folder.
        Isolated = "isolated",
        /// The workspace's `node_modules` first, with the workspace's settings.
        Workspace = "workspace",
    }
}

choice! {
    /// What keeps a server's processes from outliving us.
    Guard {
        /// A guard process, and all that does not change how the server sees the world.
        Auto = "auto",
        /// A PID namespace as well, where the system allows one: nothing survives even if all of us are killed.
        Strict = "strict",
        /// A process group only: what the server starts may outlive us.
        Off = "off",
    }
}

choice! {
    /// What happens to a backend when a call runs into `timeout`.
    OnTimeout {
        /// Ask whether it still lives; restart it only if it does not answer.
        Probe = "probe",
        /// Restart it at once.
        Restart = "restart",
        /// Leave it alone; only the call fails.
        Keep = "keep",
    }
}

choice! {
    /// What happens to the requests that a backend had not answered when it crashed.
    RetryAfterCrash {
        /// Those without side effects (lists, reads) are sent once more; tool calls never are.
        Safe = "safe",
        /// None is; each gets an error.
        Off = "off",
    }
}

choice! {
    /// What instances of a server are kept apart by.
    Scope {
        /// By the workspace if the server may depend on it, else by nothing. See docs/workspaces.md.
        Auto = "auto",
        /// By the workspace: whoever works there shares one.
        Root = "root",
        /// By nothing: there is one for everybody.
        Global = "global",
        /// By the client: each has its own.
        Client = "client",
    }
}

choice! {
    /// What a backend remembers from one call to the next, and so with whom it may be shared and when it may be
    /// stopped.
    State {
        /// Nothing: it is shared, and stopped when nobody needs it.
        None = "none",
        /// Something of its client's: each client has its own, for as long as it is there.
        Client = "client",
        /// Something of everybody's: it is shared, and kept while anybody is there.
        Backend = "backend",
        /// Known for some packages, guessed from the names of the tools for others, else `none`.
        Auto = "auto",
    }
}

choice! {
    /// Whether clients that declare different capabilities share a backend.
    Capabilities {
        /// Once it was seen that the server offers both the same and asks neither for anything.
        Auto = "auto",
        /// Never.
        Exact = "exact",
        /// Always.
        Shared = "shared",
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
    /// Whether a request that belongs to no workspace gets a backend all the same.
    Fallback {
        /// It does, with a warning.
        On = "on",
        /// It gets an error.
        Off = "off",
    }
}

choice! {
    /// What tools and prompts are called, where clients see several servers as one.
    Names {
        /// With the server's name: `server__tool`.
        Prefixed = "prefixed",
        /// As the server calls them.
        Plain = "plain",
    }
}

choice! {
    /// How a log line is written.
    LogFormat {
        /// For people.
        Human = "human",
        /// One JSON object per line.
        Json = "json",
    }
}

choice! {
    /// How much is logged: the named level and all above it.
    LogLevel {
        /// What failed.
        Error = "error",
        /// What may fail soon, or was ignored.
        Warn = "warn",
        /// What started, stopped and was restarted.
        Info = "info",
        /// Every request, without its content.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
}
