//! The log, or what a server writes to stderr: the end of the newest file, and what follows.

use crate::cli::LogsArgs;
use crate::exit::{Exit, fatal};
use anyhow::Context;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// So many of the last lines are shown.
const LINES: usize = 100;
const LOOK: Duration = Duration::from_millis(200);

pub(crate) fn run(args: &LogsArgs) -> anyhow::Result<Exit> {
    let folder = super::state_folder().join("logs");
    let stem = match &args.server {
        Some(server) => format!("{server}.stderr"),
        None => "switchboard".to_owned(),
    };
    let Some(mut path) = newest(&folder, &stem) else {
        let text = format!("nothing was logged yet: there is no {stem}….log in {}", folder.display());
        return Err(fatal(Exit::Failure, text));
    };
    let mut file = File::open(&path).with_context(|| path.display().to_string())?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    super::print(&String::from_utf8_lossy(last_lines(&text)))?;
    if !args.follow {
        return Ok(Exit::Ok);
    }
    loop {
        std::thread::sleep(LOOK);
        let mut more = Vec::new();
        file.read_to_end(&mut more)?;
        super::print(&String::from_utf8_lossy(&more))?;
        // The next day has another file.
        if let Some(next) = newest(&folder, &stem).filter(|next| *next != path) {
            file = File::open(&next)?;
            file.seek(SeekFrom::Start(0))?;
            path = next;
        }
    }
}

fn newest(folder: &Path, stem: &str) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?.flatten();
    let is_one = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // `switchboard.2026-…`, and not a server that is called `switchboard.x`.
        let rest = name.strip_prefix(stem).unwrap_or("x");
        rest.starts_with(['.', '-']) && !rest.contains("stderr")
    };
    let written = |path: &PathBuf| fs::metadata(path).and_then(|data| data.modified()).ok();
    files.map(|file| file.path()).filter(is_one).max_by_key(written)
}

fn last_lines(text: &[u8]) -> &[u8] {
    let ends: Vec<usize> =
        text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    match ends.len().checked_sub(LINES + 1) {
        Some(before) => &text[ends[before] + 1..],
        None => text,
    }
}
