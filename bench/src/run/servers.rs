//! The programs to compare with many servers behind one connection, and the config file that names them. Starts nothing.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::options::{RunOptions, Section};
use super::subject::{Programs, Role, Subject, Via};
use crate::aggregate::{BETWEEN, SERVER};

/// Default limit of concurrent instances. Without a catalogue all servers run at once.
const DEFAULT_POOL: usize = 32;

/// Number of servers, and tools of each.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) servers: usize,
    pub(super) tools: usize,
    /// Tools of the one server that is asked directly.
    pub(super) direct_tools: usize,
}

impl Shape {
    pub(super) fn of(section: Section) -> Self {
        match section {
            // As many tools on both sides.
            Section::Lists => Self { servers: 10, tools: 100, direct_tools: 1_000 },
            Section::Latency
            | Section::Throughput
            | Section::Idle
            | Section::ColdStart
            | Section::Payload
            | Section::Sessions
            | Section::Starts => Self::with(10),
        }
    }

    pub(super) fn with(servers: usize) -> Self {
        Self { servers, tools: 10, direct_tools: 10 }
    }
}

/// Subjects in the order of the report's columns.
pub(super) fn subjects(shape: Shape, options: &RunOptions, scratch: &Path) -> Result<Vec<Subject>, String> {
    let Programs { this, backend, switchboard } = Programs::of(options)?;
    let with_tools = |tools: usize| -> Vec<OsString> {
        backend.iter().cloned().chain(["--tools".into(), tools.to_string().into()]).collect()
    };
    let each = with_tools(shape.tools);
    let config = scratch.join(format!("{}-servers-of-{}.json", shape.servers, shape.tools));
    fs::write(&config, config_of(shape.servers, &each).to_string())
        .map_err(|error| format!("{}: {error}", config.display()))?;
    let tools: Vec<String> =
        (0..shape.servers).map(|number| format!("{SERVER}{number}{BETWEEN}tiny")).collect();
    let proxy = |name: &str, role, argv| Subject {
        name: name.to_owned(),
        role,
        argv,
        tools: tools.clone(),
        via: Via::Pipes,
    };

    let mut floor: Vec<OsString> = vec![this, "aggregate".into(), "--servers".into()];
    floor.extend([shape.servers.to_string().into(), "--".into()]);
    floor.extend(each.iter().cloned());
    let mut subjects = vec![
        Subject {
            name: "direct".to_owned(),
            role: Role::Direct,
            argv: with_tools(shape.direct_tools),
            tools: vec!["tiny".to_owned()],
            via: Via::Pipes,
        },
        proxy("floor", Role::Aggregator, floor),
    ];
    if let Some(program) = switchboard {
        let mut argv = vec![program];
        argv.extend(["stdio", "--solo", "--config"].map(OsString::from));
        argv.push(config.clone().into());
        subjects.push(proxy("switchboard", Role::Switchboard, argv));
    }
    for (name, command) in &options.peers {
        let argv = command.iter().cloned().chain([config.clone().into()]).collect();
        subjects.push(proxy(name, Role::Peer, argv));
    }
    Ok(subjects)
}

/// Every server has its own name in its command line too: stored facts about one must not apply to another.
fn config_of(servers: usize, backend: &[OsString]) -> Value {
    let words: Vec<String> = backend.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (command, arguments) = words.split_first().expect("a command line has a program");
    let entry = |number: usize| {
        let name = format!("{SERVER}{number}");
        let mut arguments = arguments.to_vec();
        arguments.extend(["--name".to_owned(), name.clone()]);
        (name, json!({ "command": command, "args": arguments }))
    };
    let servers_by_name: Map<String, Value> = (0..servers).map(entry).collect();
    json!({ "pool": { "maxBackends": servers.max(DEFAULT_POOL) }, "mcpServers": servers_by_name })
}
