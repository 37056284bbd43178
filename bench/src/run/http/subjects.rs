//! The programs to compare over HTTP. Starts nothing.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use crate::aggregate::BETWEEN;
use crate::run::options::RunOptions;
use crate::run::subject::{Programs, Role, Subject, Via};

/// The name of the server in the config.
const SERVER: &str = "bench";

/// Subjects in the order of the report's columns.
pub(in crate::run) fn subjects(options: &RunOptions, scratch: &Path) -> Result<Vec<Subject>, String> {
    let Programs { this, backend, switchboard } = Programs::of(options)?;
    let subject = |name: &str, role, argv, tool: String, via| Subject {
        name: name.to_owned(),
        role,
        argv,
        tools: vec![tool],
        via,
    };
    let http = |path: &str| Via::Http { path: path.to_owned() };
    let bridge = [this, "bridge".into(), "--".into()].into_iter().chain(backend.iter().cloned()).collect();
    let tiny = || "tiny".to_owned();
    let mut subjects = vec![
        subject("direct", Role::Direct, backend.clone(), tiny(), Via::Pipes),
        subject("floor", Role::Bridge, bridge, tiny(), http("/mcp")),
    ];
    if let Some(program) = switchboard {
        let serve = |name: &str| -> Result<Vec<OsString>, String> {
            let config = write_config(name, &backend, scratch).map_err(|error| error.to_string())?;
            let words = ["serve", "--listen", "127.0.0.1:0", "--config"].map(OsString::from);
            Ok([program.clone()].into_iter().chain(words).chain([config]).collect())
        };
        let one = http(&format!("/servers/{SERVER}/mcp"));
        subjects.push(subject("switchboard", Role::Switchboard, serve("one")?, tiny(), one));
        let tool = format!("{SERVER}{BETWEEN}tiny");
        subjects.push(subject("all as one", Role::Aggregate, serve("aggregate")?, tool, http("/mcp")));
    }
    Ok(subjects)
}

/// A separate file for each, since one daemon serves one file.
fn write_config(name: &str, backend: &[OsString], scratch: &Path) -> std::io::Result<OsString> {
    let runtime = scratch.join("state/run");
    fs::create_dir_all(&runtime)?;
    fs::set_permissions(&runtime, fs::Permissions::from_mode(0o700))?;
    let words: Vec<String> = backend.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (command, arguments) = words.split_first().expect("a command line has a program");
    let path = scratch.join(format!("http-{name}.json"));
    fs::write(
        &path,
        json!({ "mcpServers": { SERVER: { "command": command, "args": arguments } } }).to_string(),
    )?;
    Ok(path.into())
}
