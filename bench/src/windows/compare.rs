//! Runs a scenario without Switchboard and with each program, one after the other, and prints a row for each.

use super::clients::{self, ClientProfile};
use super::servers::{self, Server};
use crate::procfs::{Family, family_cpu};
use serde_json::json;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};
use switchboard_testkit::client::{Program, Start};
use switchboard_testkit::pids::{self, Word};
use switchboard_testkit::scratch::Scratch;
use switchboard_testkit::tree;

/// Calls of each window to each server.
const CALLS: usize = 3;

/// Time limit for a window to see the tools of all servers.
const LIST_TIMEOUT: Duration = Duration::from_secs(180);

/// Time limit for everything to end after the last window has closed: a daemon waits for new ones.
const END_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scenario {
    Folders,
    Clients,
}

pub(super) struct CompareOptions {
    pub(super) programs: Vec<(String, PathBuf)>,
    pub(super) servers: PathBuf,
    pub(super) windows: usize,
    pub(super) idle: Duration,
    pub(super) with_auggie: bool,
    pub(super) is_direct_skipped: bool,
    /// Each program has run once before in the same home, so that everything it learns is stored.
    pub(super) is_second_run: bool,
}

/// The figures of one row.
struct Row {
    after_calls: Family,
    starts: usize,
    failed: usize,
    started_after: Duration,
    start_cpu: Duration,
    idle_cpu: Duration,
}

/// Folders of a row: a home, a runtime folder, and the windows' folders.
struct Place {
    scratch: Scratch,
    servers: Vec<Server>,
    /// Presentation and folder of each window.
    windows: Vec<(ClientProfile, PathBuf)>,
}

pub(super) fn run(scenario: Scenario, options: &CompareOptions) -> io::Result<ExitCode> {
    let mut rows: Vec<(&str, Option<PathBuf>)> = Vec::new();
    if !options.is_direct_skipped {
        rows.push(("without switchboard", None));
    }
    for (name, file) in &options.programs {
        rows.push((name, Some(fs::canonicalize(file)?)));
    }
    let idle = options.idle.as_secs();
    println!(
        "| {} | processes | node | memory (MiB) | starts | failed calls | first calls answered (s) | CPU until then (s) | CPU in {idle} s idle (s) |",
        title(scenario, options)
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (name, program) in rows {
        let place = place(scenario, options)?;
        if options.is_second_run && program.is_some() {
            measure(&place, program.as_deref(), Duration::ZERO)?;
            place.end();
        }
        let row = measure(&place, program.as_deref(), options.idle);
        place.end();
        print(name, &row?);
    }
    Ok(ExitCode::SUCCESS)
}

fn title(scenario: Scenario, options: &CompareOptions) -> String {
    let servers = 12 + usize::from(options.with_auggie);
    match scenario {
        Scenario::Folders => format!("{0} windows in {0} folders, {servers} servers", options.windows),
        Scenario::Clients => format!("4 clients in one folder, {servers} servers"),
    }
}

fn print(name: &str, row: &Row) {
    let Family { processes, nodes, mib } = row.after_calls;
    let seconds = |time: Duration| format!("{:.2}", time.as_secs_f64());
    println!(
        "| {name} | {processes} | {nodes} | {mib:.0} | {} | {} | {:.1} | {} | {} |",
        row.starts,
        row.failed,
        row.started_after.as_secs_f64(),
        seconds(row.start_cpu),
        seconds(row.idle_cpu)
    );
}

fn place(scenario: Scenario, options: &CompareOptions) -> io::Result<Place> {
    let scratch = Scratch::new();
    let (home, _) = (scratch.home(), scratch.runtime());
    let mut servers = servers::twelve(&options.servers.canonicalize()?, scratch.path())?;
    if options.with_auggie {
        servers.push(servers::auggie()?);
    }
    scratch.file("config.json", servers::config(&servers));
    let folder = |name: String| {
        let folder = home.join("work").join(name);
        // An empty repository, for the git server.
        for part in ["objects", "refs"] {
            fs::create_dir_all(folder.join(".git").join(part))?;
        }
        fs::write(folder.join(".git/HEAD"), "ref: refs/heads/main\n")?;
        Ok::<_, io::Error>(folder)
    };
    let windows = match scenario {
        Scenario::Folders => {
            let window = |number| Ok((clients::editor(scratch.path()), folder(format!("project-{number}"))?));
            (1..=options.windows).map(window).collect::<io::Result<_>>()?
        }
        Scenario::Clients => {
            let folder = folder("project".to_owned())?;
            let profiles = clients::four(scratch.path(), &folder).into_iter();
            profiles.map(|profile| (profile, folder.clone())).collect()
        }
    };
    Ok(Place { scratch, servers, windows })
}

impl Place {
    /// All processes with the scratch folder in their environment; guards have none, and are found below them.
    fn roots(&self) -> Vec<u32> {
        pids::with_trace(&self.scratch.path().display().to_string())
    }

    /// Waits until all processes have ended, and kills the rest.
    fn end(&self) {
        let deadline = Instant::now() + END_TIMEOUT;
        while !self.roots().is_empty() && Instant::now() < deadline {
            sleep(Duration::from_millis(200));
        }
        tree::family(&self.roots()).iter().for_each(|process| process.tell(Word::Kill));
    }
}

/// A window, with a connection to Switchboard or one to each server.
struct Window<'a> {
    place: &'a Place,
    folder: &'a Path,
    connections: Vec<Program>,
}

/// Starts a program in a folder as this client does, and makes the handshake.
fn open(
    argv: &[OsString],
    profile: &ClientProfile,
    more: impl Iterator<Item = (OsString, OsString)>,
    folder: &Path,
) -> io::Result<Program> {
    let variables = profile.variables.iter().cloned().chain(more);
    let mut program = Start::plain(argv).only_envs(variables).cwd(folder).program()?;
    program.set_roots(json!([{ "uri": format!("file://{}", folder.display()), "name": "root" }]));
    if profile.discovers {
        program.request("server/discover", json!({}))?;
    }
    program.initialize(json!({
        "protocolVersion": profile.version,
        "capabilities": profile.capabilities,
        "clientInfo": profile.info,
    }))?;
    Ok(program)
}

impl<'a> Window<'a> {
    fn open(place: &'a Place, at: usize, program: Option<&Path>) -> io::Result<Self> {
        let (profile, folder) = &place.windows[at];
        let mut connections = Vec::new();
        match program {
            Some(program) => {
                let config = place.scratch.join("config.json");
                let argv: [OsString; 4] = [program.into(), "stdio".into(), "--config".into(), config.into()];
                connections.push(open(&argv, profile, std::iter::empty(), folder)?);
            }
            None => {
                for server in &place.servers {
                    connections.push(open(&server.argv(folder), profile, server.variables(), folder)?);
                }
            }
        }
        let mut window = Self { place, folder, connections };
        window.list(program.is_some())?;
        Ok(window)
    }

    /// Requests the tools until those of all servers are listed.
    fn list(&mut self, is_one: bool) -> io::Result<()> {
        let deadline = Instant::now() + LIST_TIMEOUT;
        loop {
            let mut names = Vec::new();
            for connection in &mut self.connections {
                names.extend(connection.tools()?);
            }
            let is_missing = |server: &&Server| !names.contains(&public_name(server, is_one));
            let Some(missing) = self.place.servers.iter().find(is_missing) else { return Ok(()) };
            if Instant::now() > deadline {
                return Err(io::Error::other(format!("the tools of {} do not appear", missing.name)));
            }
            sleep(Duration::from_millis(250));
        }
    }

    /// Calls a server. `false` if Switchboard refuses; any message of the server is an answer.
    fn call(&mut self, at: usize, is_one: bool) -> io::Result<bool> {
        let server = &self.place.servers[at];
        let params =
            json!({ "name": public_name(server, is_one), "arguments": server.arguments(self.folder) });
        let connection = &mut self.connections[if is_one { 0 } else { at }];
        let answer = connection.request("tools/call", params)?;
        Ok(answer["error"]["data"]["kind"].is_null())
    }
}

fn public_name(server: &Server, is_one: bool) -> String {
    if is_one { format!("{}__{}", server.name, server.tool) } else { server.tool.to_owned() }
}

fn measure(place: &Place, program: Option<&Path>, idle: Duration) -> io::Result<Row> {
    let starts_before = logged_starts(&place.scratch);
    let start = Instant::now();
    let mut windows = Vec::new();
    for at in 0..place.windows.len() {
        windows.push(Window::open(place, at, program)?);
    }
    let (mut failed, mut started_after, mut start_cpu) = (0, Duration::ZERO, Duration::ZERO);
    for round in 0..CALLS {
        // All windows call one server before the next: with too little room, each stops the other's.
        for at in 0..place.servers.len() {
            for window in &mut windows {
                failed += usize::from(!window.call(at, program.is_some())?);
            }
        }
        if round == 0 {
            (started_after, start_cpu) = (start.elapsed(), family_cpu(&place.roots()));
        }
    }
    let after_calls = Family::below(&place.roots());
    let before = family_cpu(&place.roots());
    sleep(idle);
    let idle_cpu = family_cpu(&place.roots()).saturating_sub(before);
    let starts = match program {
        Some(_) => logged_starts(&place.scratch) - starts_before,
        None => windows.iter().map(|window| window.connections.len()).sum(),
    };
    for connection in windows.into_iter().flat_map(|window| window.connections) {
        connection.close()?;
    }
    Ok(Row { after_calls, starts, failed, started_after, start_cpu, idle_cpu })
}

/// The number of servers that all daemons have started, by their logs.
fn logged_starts(scratch: &Scratch) -> usize {
    let files = fs::read_dir(scratch.state("logs")).into_iter().flatten().flatten();
    let starts = |text: String| text.lines().filter(|line| line.contains(" spawned ")).count();
    files.filter_map(|file| fs::read_to_string(file.path()).ok()).map(starts).sum()
}
