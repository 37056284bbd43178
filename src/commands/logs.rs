//! `switchboard logs`: the end of the newest log, or of a server's stderr, and new lines with `--follow`.

mod audit;

use crate::cli::LogsArgs;
use crate::exit::{Exit, fatal};
use anyhow::Context;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;
use switchboard_gateway::Address;
use switchboard_gateway::config::discover::discover;
use switchboard_gateway::config::owners::Owners;
use switchboard_gateway::control::{self, Answer, Request};
use switchboard_gateway::nearest_name;

/// Number of lines shown.
const LAST_LINES: usize = 100;
const POLL_INTERVAL: Duration = Duration::from_millis(200);

pub(crate) fn run(args: &LogsArgs) -> anyhow::Result<Exit> {
    if args.audit {
        return audit::run(args);
    }
    let folder = super::state_folder().join("logs");
    let stem = match &args.server {
        Some(server) => format!("{server}.stderr"),
        None => "switchboard".to_owned(),
    };
    let Some(mut path) = newest(&folder, &stem) else {
        return Err(fatal(Exit::Failure, missing(args.server.as_deref(), &folder)));
    };
    let mut file = File::open(&path).with_context(|| path.display().to_string())?;
    let mut text = Vec::new();
    // Log files are replaced at 10 MiB, so reading one whole is cheap.
    file.read_to_end(&mut text)?;
    super::print(&String::from_utf8_lossy(last_lines(&text)))?;
    if !args.follow {
        return Ok(Exit::Ok);
    }
    loop {
        std::thread::sleep(POLL_INTERVAL);
        let mut more = Vec::new();
        file.read_to_end(&mut more)?;
        super::print(&String::from_utf8_lossy(&more))?;
        // Each day has a file of its own.
        if let Some(next) = newest(&folder, &stem).filter(|next| *next != path) {
            file = File::open(&next)?;
            file.seek(SeekFrom::Start(0))?;
            path = next;
        }
    }
}

/// Reason why there is no log file.
fn missing(server: Option<&str>, folder: &Path) -> String {
    let folder = folder.display();
    let Some(server) = server else { return format!("nothing was logged yet in {folder}") };
    let names = known_servers();
    if names.iter().any(|name| name == server) {
        return format!(
            "the server `{server}` has written nothing to stderr yet (its log would be in {folder})"
        );
    }
    let all = names.join(", ");
    let hint = match (nearest_name(server, &names), names.is_empty()) {
        (Some(near), _) => format!("did you mean `{near}`? The servers are: {all}"),
        (None, true) => "`switchboard check` lists the servers".to_owned(),
        (None, false) => format!("the servers are: {all}"),
    };
    format!("no such server: `{server}`\n  hint: {hint}")
}

/// Servers of the config file that would be used here, and of all daemons.
fn known_servers() -> Vec<String> {
    let project = std::env::current_dir().ok();
    let found = discover(None, project.as_deref(), Owners::default(), &super::vars).ok();
    let config = found.and_then(|found| found.file?.load().config);
    let mut names: Vec<String> =
        config.into_iter().flat_map(|c| c.servers).map(|server| server.name).collect();
    for address in Address::all().unwrap_or_default() {
        let answer = super::on_runtime(control::ask(&address, Request::Status));
        let Ok(Ok(Some(Answer { result: Ok(status), .. }))) = answer else { continue };
        let servers = status["status"]["servers"].as_array().into_iter().flatten();
        names.extend(servers.filter_map(|server| server["name"].as_str().map(str::to_owned)));
    }
    names.sort();
    names.dedup();
    names
}

fn newest(folder: &Path, stem: &str) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?.flatten();
    let is_one = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // Matches `switchboard.2026-…`, but not a server named `switchboard.x`.
        let rest = name.strip_prefix(stem).unwrap_or("x");
        rest.starts_with(['.', '-']) && !rest.contains("stderr")
    };
    let written = |path: &PathBuf| fs::metadata(path).and_then(|data| data.modified()).ok();
    files.map(|file| file.path()).filter(is_one).max_by_key(written)
}

fn last_lines(text: &[u8]) -> &[u8] {
    let ends: Vec<usize> =
        text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    match ends.len().checked_sub(LAST_LINES + 1) {
        Some(before) => &text[ends[before] + 1..],
        None => text,
    }
}
