//! Keys of an entry that names a preset, and the preset's own settings. Must not read the disk.

use super::read::Key;
use super::report::{FilePlace, Report};
use super::server_keys::ServerEntry;
use super::{Capabilities, Preset, PresetConfig, ServerConfig};
use crate::presets::table::{self, PresetRow};

impl Preset {
    pub(super) fn row(self) -> &'static PresetRow {
        match self {
            Self::Auggie => &table::AUGGIE,
        }
    }

    /// Applies the settings that the config may override.
    pub(crate) fn prepare(self, server: &mut ServerConfig) {
        let row = self.row();
        if row.same_for_all_clients {
            server.capabilities = Capabilities::Shared;
        }
        server.max_backends = row.max_backends;
        server.expand = true;
        server.advice = Some(row.advice);
    }

    /// Adds the settings that the server cannot do without.
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

/// Preset of an entry, if it names one.
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
    // Taken out in any case: without `preset`, they only cause a warning.
    let options = ["node", "entry", "mode", "argsTemplate"].map(|name| (name, take(name)));
    let Key::Given(preset, _) = std::mem::replace(&mut entry.preset, Key::Absent) else {
        for (name, key) in options {
            if let Key::Given(_, place) = key {
                let message = format!("`{name}` has no effect without `preset`; it is ignored");
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
            report.error(&place, "the value is empty", "remove the key to get the default");
            None
        }
        key => key.value(),
    });
    Some(PresetConfig { preset, node, entry: script, mode, args_template })
}

/// Refuses the keys of a launch: a preset has its own.
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
            format!("`{key}` cannot be used with `preset`"),
            "remove one of the two: the preset sets its own command",
        );
    }
}
