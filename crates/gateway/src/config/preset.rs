//! Servers that are known by name: their settings, as far as they are the same on every machine. Where the program is, is
//! found out later (`auggie`): nothing is looked up on disk here.

use super::keys::ServerEntry;
use super::read::Key;
use super::report::{Place, Report};
use super::{Capabilities, Preset, ServerConfig};

/// Arguments of auggie; `{mode}` and `{root}` are filled in.
pub const DEFAULT_TEMPLATE: &str = "--mcp -m {mode} --workspace-root {root}";

/// Its variables: where its service is, and who its user is.
const ITS_VARIABLES: &str = "AUGMENT_*";

/// What is set for it. An instance that replaces itself is no longer the one that was started.
const SET: (&str, &str) = ("AUGMENT_DISABLE_AUTO_UPDATE", "1");

/// The argument of its tool in which some clients name the workspace.
const ROOT_ARGUMENT: &str = "directory_path";

/// How many instances may run. Each indexes its workspace, and holds several hundred MiB.
const MAX_BACKENDS: usize = 3;

/// For one that ends before it works. Its own words stand before this.
const ADVICE: &str = "if it is not logged in, run `auggie login` in a terminal, or set AUGMENT_SESSION_AUTH where \
                      switchboard is started; then try again";

/// What a config entry says about a server that is known by name. Paths as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresetConfig {
    pub preset: Preset,
    pub node: Option<String>,
    pub entry: Option<String>,
    pub mode: Option<String>,
    pub args_template: Option<String>,
}

impl Preset {
    /// Settings that the config may change.
    pub(crate) fn prepare(self, server: &mut ServerConfig) {
        match self {
            // What it offers depends on nothing that a client says of itself.
            Self::Auggie => {
                server.capabilities = Capabilities::Shared;
                server.max_backends = MAX_BACKENDS;
                server.expand = true;
                server.advice = Some(ADVICE);
            }
        }
    }

    /// Settings that it cannot do without, beside those of the config.
    pub fn complete(self, server: &mut ServerConfig) {
        match self {
            Self::Auggie => {
                if server.env.iter().all(|(name, _)| name != SET.0) {
                    server.env.push((SET.0.to_owned(), SET.1.to_owned()));
                }
                for (names, own) in
                    [(&mut server.pass_env, ITS_VARIABLES), (&mut server.root_arguments, ROOT_ARGUMENT)]
                {
                    if names.iter().all(|name| name != own) {
                        names.insert(0, own.to_owned());
                    }
                }
            }
        }
    }
}

/// The preset of an entry, if it names one.
pub(super) fn preset(entry: &mut ServerEntry, report: &mut Report<'_>) -> Option<PresetConfig> {
    let mut take = |key: &str| {
        let key = match key {
            "node" => &mut entry.node,
            "entry" => &mut entry.entry,
            "mode" => &mut entry.mode,
            _ => &mut entry.args_template,
        };
        std::mem::replace(key, Key::Absent)
    };
    let options = ["node", "entry", "mode", "argsTemplate"].map(|name| (name, take(name)));
    let Key::Given(preset, _) = std::mem::replace(&mut entry.preset, Key::Absent) else {
        for (name, key) in options {
            if let Key::Given(_, place) = key {
                let message = format!("`{name}` counts only beside `preset`; it is ignored");
                report.warning(
                    &place.readable(),
                    message,
                    Some("add \"preset\": \"auggie\", or remove it".to_owned()),
                );
            }
        }
        return None;
    };
    refuse_launch(entry, report);
    let [node, script, mode, args_template] = options.map(|(_, key)| match key {
        Key::Given(text, place) if text.trim().is_empty() => {
            report.error(&place, "nothing is written here", "remove the key to get the default");
            None
        }
        key => key.value(),
    });
    Some(PresetConfig { preset, node, entry: script, mode, args_template })
}

/// A preset knows how its server is started.
fn refuse_launch(entry: &ServerEntry, report: &mut Report<'_>) {
    let place = |key: &Key<String>| match key {
        Key::Given(_, place) => Some(place.clone()),
        Key::Absent | Key::Wrong => None,
    };
    let args = match &entry.args {
        Key::Given(_, place) => Some(place.clone()),
        Key::Absent | Key::Wrong => None,
    };
    let given: [(&str, Option<Place>); 5] = [
        ("command", place(&entry.command)),
        ("args", args),
        ("url", place(&entry.url)),
        ("httpUrl", place(&entry.http_url)),
        ("serverUrl", place(&entry.server_url)),
    ];
    for (key, place) in given.into_iter().filter_map(|(key, place)| Some((key, place?))) {
        report.error(
            &place,
            format!("`{key}` beside `preset`"),
            "remove one of the two: a preset knows its own command",
        );
    }
}
