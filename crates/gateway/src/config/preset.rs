//! Presets in the config file: the keys of an entry that names one, its settings laid under those of the config, and its
//! command line once the program is found. The servers themselves are in `presets`.

use super::discover::ConfigFile;
use super::expand::{self, ExpandError};
use super::keys::ServerEntry;
use super::read::Key;
use super::report::{FilePlace, Report};
use super::{Capabilities, LoadedConfig, Lookup, Preset, ServerConfig};
use crate::presets::table::{self, PresetRow};
use crate::presets::{Missing, PresetCommand, auggie};
use std::path::{Path, PathBuf};

/// A config entry's settings for a server that is known by name. Paths as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresetConfig {
    pub preset: Preset,
    pub node: Option<String>,
    pub entry: Option<String>,
    pub mode: Option<String>,
    pub args_template: Option<String>,
}

impl Preset {
    fn row(self) -> &'static PresetRow {
        match self {
            Self::Auggie => &table::AUGGIE,
        }
    }

    /// The server for a command line that names the preset.
    pub fn server(self, options: &auggie::Options, vars: Lookup<'_>) -> ServerConfig {
        match self {
            Self::Auggie => self.server_with(auggie::command(options, vars)),
        }
    }

    pub(super) fn server_with(self, found: PresetCommand) -> ServerConfig {
        let mut server = ServerConfig::for_command(self.row().name, found.command, found.args);
        self.prepare(&mut server);
        self.complete(&mut server);
        server.missing = found.missing;
        server
    }

    /// Lays the settings that the config may change under those of a server.
    pub(crate) fn prepare(self, server: &mut ServerConfig) {
        let row = self.row();
        if row.same_for_all_clients {
            server.capabilities = Capabilities::Shared;
        }
        server.max_backends = row.max_backends;
        server.expand = true;
        server.advice = Some(row.advice);
    }

    /// Adds the settings that the server cannot do without to those of the config.
    pub fn complete(self, server: &mut ServerConfig) {
        let row = self.row();
        for (name, value) in row.env {
            if server.env.iter().all(|(known, _)| known != name) {
                server.env.push(((*name).to_owned(), (*value).to_owned()));
            }
        }
        for (names, own) in
            [(&mut server.pass_env, row.pass_env), (&mut server.root_arguments, row.root_arguments)]
        {
            let lacks = |own: &&&str| names.iter().all(|name| name != **own);
            let lacking: Vec<String> = own.iter().filter(lacks).map(|own| (*own).to_owned()).collect();
            names.splice(0..0, lacking);
        }
    }
}

/// Reads a config file, and looks for the programs of its presets on this machine.
pub fn load(file: &ConfigFile, vars: Lookup<'_>) -> LoadedConfig {
    let mut loaded = file.load();
    let servers = loaded.config.iter_mut().flat_map(|config| &mut config.servers);
    for server in servers.filter(|server| !server.disabled) {
        let Some(preset) = &server.preset else { continue };
        let found = match options(preset, &file.path, vars) {
            Ok(options) => auggie::command(&options, vars),
            Err(error) => PresetCommand {
                command: "node".to_owned(),
                args: Vec::new(),
                missing: Some(Missing {
                    reason: error.to_string(),
                    hint: "correct the entry; `switchboard check` shows it".to_owned(),
                }),
            },
        };
        (server.command, server.args, server.missing) = (found.command, found.args, found.missing);
    }
    loaded
}

/// Relative paths start at the folder of the config file.
fn options(
    preset: &PresetConfig,
    config_file: &Path,
    vars: Lookup<'_>,
) -> Result<auggie::Options, ExpandError> {
    let PresetConfig { preset: Preset::Auggie, node, entry, mode, args_template } = preset;
    let path = |key: &str, path: &Option<String>| expand::beside(config_file, path.as_deref(), key, vars);
    // A bare name is looked up in PATH.
    let is_bare = |name: &&String| !name.contains(['/', '\\', '$', '~']);
    Ok(auggie::Options {
        node: match node.as_ref().filter(is_bare) {
            Some(name) => Some(PathBuf::from(name)),
            None => path("node", node)?,
        },
        entry: path("entry", entry)?,
        mode: mode.clone(),
        args_template: args_template.clone(),
        is_configured: true,
    })
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
    let given: [(&str, Option<FilePlace>); 5] = [
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
