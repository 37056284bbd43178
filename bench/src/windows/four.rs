//! Several windows, each with four real node servers, with and without Switchboard's daemon. How many
//! processes is that, and how much memory; how soon is one more window served; how large is an attachment?

use super::USAGE;
use crate::attached;
use crate::projects::{Connection, Seen, look};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// So often is one more window opened, to see how soon it is served.
const TIMES: usize = 21;

struct Setting {
    switchboard: PathBuf,
    scratch: PathBuf,
    config: PathBuf,
    /// Their names and command lines.
    servers: Vec<(&'static str, Vec<OsString>)>,
}

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let value =
        |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1)).cloned();
    let canonical = |text: String| fs::canonicalize(&text).map_err(|error| format!("{text}: {error}"));
    let switchboard = canonical(value("--switchboard").ok_or(USAGE)?)?;
    let modules = canonical(value("--modules").ok_or(USAGE)?)?;
    let scratch = std::env::temp_dir().join(format!("sb-windows-{}", std::process::id()));
    let outcome = setting(switchboard, &modules, &scratch).and_then(|setting| compare(&setting));
    let _ = fs::remove_dir_all(&scratch);
    outcome.map_err(|error| error.to_string())
}

/// Four servers: three that serve all roots of a client with one instance, and one with an instance for each.
fn setting(switchboard: PathBuf, modules: &Path, scratch: &Path) -> std::io::Result<Setting> {
    fs::create_dir_all(scratch.join("run"))?;
    let scratch = scratch.canonicalize()?;
    #[expect(clippy::disallowed_methods, reason = "asked once")]
    std::process::Command::new("chmod").arg("700").arg(scratch.join("run")).status()?;
    let everything = modules.join("@modelcontextprotocol/server-everything/dist/index.js");
    let filesystem = modules.join("@modelcontextprotocol/server-filesystem/dist/index.js");
    let node = |args: &[&Path]| -> Vec<OsString> {
        std::iter::once("node".into()).chain(args.iter().map(|arg| (*arg).into())).collect()
    };
    let servers = vec![
        ("one", node(&[&everything])),
        ("two", node(&[&everything])),
        ("three", node(&[&filesystem, Path::new("/tmp")])),
        ("four", node(&[&filesystem, Path::new("${root}")])),
    ];
    let entry = |argv: &[OsString]| {
        let words: Vec<String> = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        json!({ "command": words[0], "args": words[1..] })
    };
    let entries: serde_json::Map<String, Value> =
        servers.iter().map(|(name, argv)| ((*name).to_owned(), entry(argv))).collect();
    let config = scratch.join("config.json");
    fs::write(&config, json!({ "linger": "2s", "mcpServers": entries }).to_string())?;
    Ok(Setting { switchboard, scratch, config, servers })
}

impl Setting {
    fn open(
        &self,
        server: &(&str, Vec<OsString>),
        folder: &Path,
        is_direct: bool,
    ) -> std::io::Result<Connection> {
        let argv: Vec<OsString> = match is_direct {
            true => {
                let fill = |word: &OsString| if word == "${root}" { folder.into() } else { word.clone() };
                server.1.iter().map(fill).collect()
            }
            false => vec![
                self.switchboard.clone().into(),
                "stdio".into(),
                "--config".into(),
                self.config.clone().into(),
                "--server".into(),
                server.0.into(),
            ],
        };
        Connection::open_in(&argv, &self.scratch, Some(folder))
    }

    /// All processes of these connections, and of the daemon.
    fn look(&self, connections: &[Connection], is_direct: bool) -> Seen {
        let mut roots: Vec<u32> = connections.iter().map(Connection::pid).collect();
        if !is_direct {
            roots.extend(self.daemon());
        }
        look(&roots)
    }

    fn daemon(&self) -> Option<u32> {
        let folder = self.scratch.join("run/switchboard");
        let files = fs::read_dir(folder).ok()?.flatten().map(|file| file.path());
        let file =
            files.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "json"))?;
        let text: Value = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
        text["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok())
    }
}

fn compare(setting: &Setting) -> std::io::Result<ExitCode> {
    println!("| windows, projects, servers | | processes | node processes | memory (MiB) |");
    println!("|---|---|---|---|---|");
    for (windows, projects) in [(5, 3), (20, 1)] {
        for is_direct in [true, false] {
            let mut connections = Vec::new();
            for window in 0..windows {
                let folder = setting.scratch.join(format!("project-{}", window % projects));
                fs::create_dir_all(&folder)?;
                for server in &setting.servers {
                    connections.push(setting.open(server, &folder, is_direct)?);
                }
            }
            let seen = setting.look(&connections, is_direct);
            let way = if is_direct { "without" } else { "with switchboard" };
            let (servers, Seen { processes, nodes, mib }) = (setting.servers.len(), seen);
            println!("| {windows}, {projects}, {servers} | {way} | {processes} | {nodes} | {mib:.0} |");
            if !is_direct && windows == 20 {
                warm(setting, &connections)?;
            }
            for connection in connections {
                connection.close()?;
            }
            std::thread::sleep(Duration::from_secs(4));
        }
    }
    println!();
    attached::run(&setting.switchboard, &setting.scratch.join("attached"))?;
    Ok(ExitCode::SUCCESS)
}

/// One more window, with everything there already.
fn warm(setting: &Setting, connections: &[Connection]) -> std::io::Result<()> {
    let folder = setting.scratch.join("project-0");
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let start = Instant::now();
        let connection = setting.open(&setting.servers[0], &folder, false)?;
        times.push(start.elapsed());
        connection.close()?;
    }
    times.sort();
    let resident = |pid: u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or_default() / 1024.0
    };
    let middle = times[times.len() / 2].as_secs_f64() * 1e3;
    println!();
    println!(
        "one more window, from its start to the answered tools/list: {middle:.1} ms (median of {TIMES})"
    );
    println!("an attachment, resident: {:.2} MiB", resident(connections[0].pid()));
    println!();
    Ok(())
}
