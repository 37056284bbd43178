//! Presets as servers: a config loaded with its presets' programs, located on this machine, and the server
//! for a command line that names a preset. The presets themselves are in `presets`.

use super::discover::ConfigFile;
use super::expand::{self, ExpandError};
use super::{LoadedConfig, Lookup, Preset, PresetConfig, ServerConfig};
use crate::presets::{Missing, PresetCommand, auggie};
use std::path::{Path, PathBuf};

impl Preset {
    /// Server for a command line that names the preset.
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
}

/// Loads a config file and locates the programs of its presets.
pub fn load(file: &ConfigFile, vars: Lookup<'_>) -> LoadedConfig {
    let mut loaded = file.load();
    let servers = loaded.config.iter_mut().flat_map(|config| &mut config.servers);
    for server in servers.filter(|server| !server.disabled) {
        let Some(preset) = &server.preset else { continue };
        let found = match options(preset, &file.path, vars) {
            Ok(options) => auggie::command(&options, vars),
            // The entry stays in the list, so that its clients are told the reason instead of
            // an unknown name.
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

/// Options of a preset. Relative paths start at the config file's folder.
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
