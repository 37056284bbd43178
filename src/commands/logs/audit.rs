//! `switchboard logs --audit`: the end of the audit, for people or as JSON, and new lines with `--follow`.

use super::{POLL_INTERVAL, last_lines};
use crate::cli::LogsArgs;
use crate::commands::{on_runtime, print, state_folder, vars};
use crate::exit::{Exit, fatal};
use crate::terminal::{Stream, cut, one_line, screen_width};
use anyhow::Context;
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use switchboard_gateway::Address;
use switchboard_gateway::config::discover::discover;
use switchboard_gateway::config::owners::Owners;
use switchboard_gateway::control::{self, Answer, Request};
use switchboard_gateway::telemetry::AuditOptions;

/// Beginning of a file that tells it from the next one: its first line has the time.
const HEAD_BYTES: u64 = 64;

pub(super) fn run(args: &LogsArgs) -> anyhow::Result<Exit> {
    let Some(path) = file() else {
        let text = "no call was recorded yet\n  hint: calls over HTTP and with tokens are recorded; for the calls of \
                    windows, set \"audit\": { \"clients\": \"all\" } in the config";
        return Err(fatal(Exit::Failure, text));
    };
    let mut followed = Followed::open(&path).with_context(|| path.display().to_string())?;
    let text = followed.more()?;
    show(args, last_lines(&text))?;
    if !args.follow {
        return Ok(Exit::Ok);
    }
    loop {
        std::thread::sleep(POLL_INTERVAL);
        show(args, &followed.more()?)?;
    }
}

fn show(args: &LogsArgs, text: &[u8]) -> io::Result<()> {
    let text = String::from_utf8_lossy(text);
    if args.json {
        return print(&text);
    }
    let width = screen_width(Stream::Out).unwrap_or(usize::MAX);
    print(&text.lines().map(|line| cut(&for_people(line), width) + "\n").collect::<String>())
}

/// The audit's file: of the config file that would be used here, else of a daemon.
fn file() -> Option<PathBuf> {
    let project = std::env::current_dir().ok();
    let found =
        discover(None, project.as_deref(), Owners::default(), &vars).ok().and_then(|found| found.file);
    let config = found.as_ref().and_then(|file| file.load().config).unwrap_or_default();
    let config_file = found.as_ref().map(|file| file.path.as_path());
    let own = AuditOptions::of(&config.audit, config_file, &vars).ok();
    let own = own.map(|options| options.path(&state_folder().join("logs")));
    own.into_iter().chain(files_of_daemons()).find(|path| path.is_file())
}

fn files_of_daemons() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for address in Address::all().unwrap_or_default() {
        let answer = on_runtime(control::ask(&address, Request::Status));
        let Ok(Ok(Some(Answer { result: Ok(status), .. }))) = answer else { continue };
        files.extend(status["audit"]["file"].as_str().map(PathBuf::from));
    }
    files
}

/// A file that is read as it grows, also beyond its replacement by a new one.
struct Followed {
    path: PathBuf,
    file: File,
    head: Vec<u8>,
    /// A line that is not complete yet.
    rest: Vec<u8>,
}

impl Followed {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), file: File::open(path)?, head: head(path)?, rest: Vec::new() })
    }

    /// The complete lines that have come since.
    fn more(&mut self) -> io::Result<Vec<u8>> {
        // The beginning of the next file is read before the rest of this one, which could otherwise still grow.
        let next = head(&self.path).ok().filter(|head| !head.starts_with(&self.head));
        self.file.read_to_end(&mut self.rest)?;
        if let Some(head) = next {
            (self.file, self.head) = (File::open(&self.path)?, head);
            self.file.read_to_end(&mut self.rest)?;
        } else if (self.head.len() as u64) < HEAD_BYTES {
            self.head = head(&self.path).unwrap_or_default();
        }
        let end = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        Ok(self.rest.drain(..end).collect())
    }
}

fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(head)
}

/// One line of the audit as a sentence.
fn for_people(line: &str) -> String {
    let Ok(line) = serde_json::from_str::<Value>(line) else { return one_line(line) };
    let text = |key: &str| line[key].as_str().map(one_line);
    let time = text("time").unwrap_or_default();
    let lines = line["lines"].as_u64();
    match (text("event").as_deref(), lines) {
        (Some("lost"), Some(lines)) => return format!("{time}  {lines} lines were lost"),
        (Some(event), Some(lines)) => return format!("{time}  {lines} more requests {event}"),
        _ => {}
    }
    let who = text("identity").or_else(|| text("from")).unwrap_or_else(|| "?".into());
    let what: Vec<String> = ["method", "server", "item"].iter().filter_map(|key| text(key)).collect();
    let client =
        [text("clientName"), text("clientVersion")].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let via: Vec<String> = [text("front"), Some(client), text("root"), text("backend")]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect();
    let result = text("result").unwrap_or_else(|| "?".into());
    let took = line["ms"].as_f64().map(|ms| format!(", {ms:.1} ms")).unwrap_or_default();
    let arguments = line.get("arguments").map(|arguments| match arguments {
        Value::String(text) => format!(" {}", one_line(text)),
        other => format!(" {}", one_line(&other.to_string())),
    });
    let what = if what.is_empty() { "request".to_owned() } else { what.join(" ") };
    format!("{time}  {who}: {what}: {result}{took} ({}){}", via.join(", "), arguments.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    #[test]
    fn lines_are_sentences() {
        for (line, expect) in [
            (
                r#"{"time":"T","event":"call","identity":"ci","client":3,"clientName":"c","clientVersion":"2","front":"http","method":"tools/call","server":"s","item":"t","root":"/p","backend":"backend-1#1","result":"ok","ms":12.345,"arguments":{"a":1}}"#,
                r#"T  ci: tools/call s t: ok, 12.3 ms (http, c 2, /p, backend-1#1) {"a":1}"#,
            ),
            (
                r#"{"time":"T","event":"refused","front":"http","from":"10.0.0.1","result":"unauthorized"}"#,
                "T  10.0.0.1: request: unauthorized (http)",
            ),
            (r#"{"time":"T","event":"lost","lines":3}"#, "T  3 lines were lost"),
            (r#"{"time":"T","event":"refused","lines":3}"#, "T  3 more requests refused"),
            ("not \u{1b}[31mJSON", "not \u{fffd}[31mJSON"),
        ] {
            assert_eq!(for_people(line), expect);
        }
    }

    #[test]
    fn new_file_is_followed() {
        let path = std::env::temp_dir().join(format!("switchboard-followed-{}", std::process::id()));
        let append = |text: &str| {
            let mut file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        let _ = fs::remove_file(&path);
        append("one\ntw");
        let mut followed = Followed::open(&path).unwrap();
        assert_eq!(followed.more().unwrap(), b"one\n");
        append("o\n");
        assert_eq!(followed.more().unwrap(), b"two\n");
        append("three\n");
        fs::rename(&path, path.with_extension("old")).unwrap();
        append("four\n");
        assert_eq!(followed.more().unwrap(), b"three\nfour\n");
        assert_eq!(followed.more().unwrap(), b"");
        fs::remove_file(&path).unwrap();
        fs::remove_file(path.with_extension("old")).unwrap();
    }
}
