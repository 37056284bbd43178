//! Setting: the user who runs the program, and how it guards its backends.

use crate::support::{config, fake_backend, program};
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use switchboard_testkit::client::Start;
use switchboard_testkit::zoo;

/// A user id without an owner, and so without privileges.
pub(super) const NOBODY: u32 = 54321;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum User {
    Root,
    /// The user who runs the tests, or `NOBODY` if that is root.
    Unprivileged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guard {
    Auto,
    Strict,
}

impl Guard {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Strict => "strict",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) user: User,
    pub(super) guard: Guard,
}

/// The default for tests that need no particular one.
pub(super) const USUAL: Setting = Setting { user: User::Unprivileged, guard: Guard::Auto };

pub(super) fn are_root() -> bool {
    own_uid() == 0
}

/// Owner of our entry in `/proc`.
fn own_uid() -> u32 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").map(|meta| meta.uid()).unwrap()
}

impl Setting {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let users = [User::Root, User::Unprivileged].into_iter();
        let all = users.flat_map(|user| [Guard::Auto, Guard::Strict].map(|guard| Self { user, guard }));
        all.filter(|setting| setting.is_possible())
    }

    /// Whether this machine allows it: only root can be root, and namespaces are often forbidden.
    pub(super) fn is_possible(self) -> bool {
        let user = self.user == User::Unprivileged || are_root();
        user && (self.guard == Guard::Auto || self.can_unshare())
    }

    fn can_unshare(self) -> bool {
        let mut command = match self.other_user() {
            None => Command::new("unshare"),
            Some(user) => {
                let mut command = Command::new("setpriv");
                let user = user.to_string();
                command.args(["--reuid", &user, "--regid", &user, "--clear-groups", "unshare"]);
                command
            }
        };
        if self.user == User::Unprivileged {
            command.args(["--user", "--map-root-user"]);
        }
        command.args(["--pid", "--mount", "--fork", "--mount-proc", "true"]).stderr(Stdio::null());
        #[expect(clippy::disallowed_methods, reason = "a question to the system, which is waited for")]
        command.status().is_ok_and(|status| status.success())
    }

    /// The user to change to.
    pub(super) fn other_user(self) -> Option<u32> {
        (self.user == User::Unprivileged && are_root()).then_some(NOBODY)
    }

    /// `switchboard stdio --solo` with a config file: `file` has its top-level keys, `server` those of its
    /// only server. The process tree is then below the program itself; `windows` tests the daemon's. Grace
    /// periods are short, so that tests do not wait long.
    pub(super) fn start_with(self, file: Value, server: Value, options: &[&str]) -> Start {
        self.start_aggregate(file, server, options).args(["--server", "fake"])
    }

    /// The same for a client of all servers.
    pub(super) fn start_aggregate(self, file: Value, server: Value, options: &[&str]) -> Start {
        let start = program();
        let record = start.record();
        let mut file = merged(json!({ "shutdownGrace": "200ms" }), file);
        let backend = start.scratch().lend(fake_backend());
        let server = merged(json!({ "guard": self.guard.word(), "command": backend }), server);
        file = config(file, server, record.folder(), options);
        let path = start.scratch().file("config.json", file.to_string());
        self.dressed(start.args(["stdio", "--solo", "--config"]).arg(path))
    }

    pub(super) fn start(self, options: &[&str]) -> Start {
        self.start_with(json!({}), json!({}), options)
    }

    /// `switchboard stdio --guard …`, with these flags and all eight kinds of process.
    pub(super) fn start_by_flags(self, flags: &[&str]) -> Start {
        let start = program();
        let record = start.record();
        let grace = start.scratch().file("config.json", json!({ "shutdownGrace": "200ms" }).to_string());
        let backend = start.scratch().lend(fake_backend());
        let start = start.args(["stdio", "--guard", self.guard.word(), "--config"]).arg(grace).args(flags);
        let start = start.arg("--").arg(backend).arg("--record").arg(record.folder());
        self.dressed(start.args(zoo::EIGHT))
    }

    /// Sets the user, and a process group.
    pub(super) fn dressed(self, start: Start) -> Start {
        let start = start.own_group();
        match self.other_user() {
            Some(user) => start.user(user),
            None => start,
        }
    }
}

fn merged(mut into: Value, from: Value) -> Value {
    if let (Some(into), Value::Object(from)) = (into.as_object_mut(), from) {
        into.extend(from);
    }
    into
}
