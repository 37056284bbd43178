//! The command line, and the amount of work that follows for each measurement. Knows no subject and no figure.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use switchboard_testkit::wire::Payload;

pub(super) const HELP: &str = "\
usage: switchboard-bench run|many|http|all [OPTIONS]

`run` compares with one server behind the subjects, `many` with ten, `http` with one whose clients come over HTTP; `all`
does one after the other.

  --switchboard PATH     the program to compare; without it only direct and the floor are measured
  --as NAME=COMMAND      one more proxy: COMMAND, split at spaces, gets the backend's command appended,
                         with many servers the path of a config file that names them; not over HTTP
  --quick                fewer and shorter rounds: to see that it works, not to quote
  --rounds N             how often each subject is started anew (default 5)
  --only NAME…           latency, throughput, idle, cold-start, payload, lists, starts, sessions
  --payload plain|code   what large texts are: no escapes at all (default), or source code
  --id-last              the backend answers with the id after the result, as the TypeScript SDK does
  --time-limit SECONDS   kill a subject that has not finished a round by then (default 60)
  --markdown FILE        write the report there too
  --json FILE            write every round's figures there
  --strict               exit 1 if a target is missed (a subject that fails is always exit 3)

Nothing is pinned, as with users, so the scheduler has a say: a call whose wake-ups cross cores can take
several times as long. `taskset -c 0 scripts/bench …` takes that out, to compare two builds.";

/// The servers behind the subjects.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suite {
    /// A single server.
    One,
    /// Ten servers behind one connection.
    Many,
    /// A single server with clients over HTTP.
    Http,
}

impl Suite {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::One => "one server",
            Self::Many => "many servers as one",
            Self::Http => "one server over HTTP",
        }
    }

    /// Concurrent callers in the throughput measurement.
    pub(super) fn callers(self) -> &'static [usize] {
        match self {
            Self::One | Self::Many => &[64],
            Self::Http => &[8, 64],
        }
    }

    pub(super) fn sections(self) -> &'static [Section] {
        match self {
            Self::One => {
                &[Section::Latency, Section::Throughput, Section::Idle, Section::ColdStart, Section::Payload]
            }
            Self::Many => {
                &[Section::Latency, Section::Throughput, Section::Idle, Section::Lists, Section::Starts]
            }
            Self::Http => &[Section::Latency, Section::Throughput, Section::Sessions, Section::Payload],
        }
    }
}

/// A measurement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Latency,
    Throughput,
    Idle,
    ColdStart,
    Payload,
    Lists,
    Starts,
    Sessions,
}

impl Section {
    const ALL: [Self; 8] = [
        Self::Latency,
        Self::Throughput,
        Self::Idle,
        Self::ColdStart,
        Self::Payload,
        Self::Lists,
        Self::Starts,
        Self::Sessions,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Throughput => "throughput",
            Self::Idle => "idle",
            Self::ColdStart => "cold-start",
            Self::Payload => "payload",
            Self::Lists => "lists",
            Self::Starts => "starts",
            Self::Sessions => "sessions",
        }
    }
}

#[derive(Clone, Default)]
pub(super) struct RunOptions {
    pub(super) switchboard: Option<PathBuf>,
    /// Name and command line of the further proxies.
    pub(super) peers: Vec<(String, Vec<OsString>)>,
    pub(super) payload: Payload,
    pub(super) id_last: bool,
    pub(super) time_limit: Duration,
    pub(super) markdown: Option<PathBuf>,
    pub(super) json: Option<PathBuf>,
    pub(super) strict: bool,
    quick: bool,
    rounds: Option<usize>,
    /// Empty means all.
    only: Vec<Section>,
}

/// The amount of work of each measurement. In each round every subject is started anew; within a round they take
/// turns, `slices` times.
pub(super) struct Plan {
    pub(super) rounds: usize,
    pub(super) slices: usize,
    /// Sequential calls of one slice.
    pub(super) calls: usize,
    pub(super) warm_up: usize,
    /// Calls of one slice when all callers call at once.
    pub(super) concurrent_calls: usize,
    pub(super) cold_rounds: usize,
    /// Cold starts of each subject in one round.
    pub(super) cold_starts: usize,
    pub(super) idle_rounds: usize,
    /// Long lists of one slice.
    pub(super) lists: usize,
    pub(super) start_rounds: usize,
    /// Starts of each subject in one round, without a catalogue and with one.
    pub(super) starts: usize,
    pub(super) payload_rounds: usize,
    pub(super) payload_slices: usize,
    /// Calls with a large text in one slice.
    pub(super) payload_calls: usize,
    pub(super) payload_bytes: usize,
}

impl RunOptions {
    /// `None` if help was requested.
    pub(super) fn parse(arguments: &[OsString]) -> Result<Option<Self>, String> {
        let mut options = Self { time_limit: Duration::from_secs(60), ..Self::default() };
        let mut rest = arguments.iter().peekable();
        while let Some(argument) = rest.next() {
            let name = argument.to_str().unwrap_or_default();
            let mut value = || rest.next().ok_or_else(|| format!("{name} wants a value"));
            match name {
                "--help" | "-h" => return Ok(None),
                "--quick" => options.quick = true,
                "--id-last" => options.id_last = true,
                "--strict" => options.strict = true,
                "--rounds" => {
                    let rounds = value()?.to_str().and_then(|rounds| rounds.parse().ok());
                    options.rounds =
                        Some(rounds.filter(|rounds| *rounds > 0).ok_or("--rounds wants a number")?);
                }
                "--switchboard" => options.switchboard = Some(value()?.into()),
                "--markdown" => options.markdown = Some(value()?.into()),
                "--json" => options.json = Some(value()?.into()),
                "--as" => options.peers.push(peer(value()?)?),
                "--payload" => {
                    options.payload = value()?
                        .to_str()
                        .and_then(Payload::named)
                        .ok_or_else(|| "--payload is `plain` or `code`".to_owned())?;
                }
                "--time-limit" => {
                    let seconds = value()?.to_str().and_then(|seconds| seconds.parse().ok());
                    options.time_limit =
                        seconds.map(Duration::from_secs).ok_or("--time-limit wants whole seconds")?;
                }
                "--only" => {
                    options.only.push(section(value()?)?);
                    while let Some(next) = rest.next_if(|next| !next.to_string_lossy().starts_with("--")) {
                        options.only.push(section(next)?);
                    }
                }
                _ => return Err(format!("unknown argument {argument:?}\n\n{HELP}")),
            }
        }
        Ok(Some(options))
    }

    pub(super) fn wants(&self, section: Section) -> bool {
        self.only.is_empty() || self.only.contains(&section)
    }

    pub(super) fn plan(&self, suite: Suite) -> Plan {
        let full = Plan {
            rounds: self.rounds.unwrap_or(5),
            slices: 20,
            calls: 1_000,
            warm_up: 2_000,
            // A call over HTTP takes some ten times as long.
            concurrent_calls: if suite == Suite::Http { 2_000 } else { 10_000 },
            cold_rounds: 4,
            cold_starts: 10,
            idle_rounds: 3,
            lists: 20,
            start_rounds: self.rounds.unwrap_or(5),
            starts: 5,
            payload_rounds: 5,
            payload_slices: 10,
            payload_calls: 2,
            payload_bytes: 10 << 20,
        };
        if !self.quick {
            return full;
        }
        Plan {
            rounds: self.rounds.unwrap_or(3),
            slices: 4,
            cold_rounds: 2,
            cold_starts: 5,
            idle_rounds: 1,
            start_rounds: self.rounds.unwrap_or(2),
            starts: 2,
            payload_rounds: 2,
            payload_slices: 1,
            ..full
        }
    }
}

fn section(name: &OsStr) -> Result<Section, String> {
    Section::ALL.into_iter().find(|section| name == section.name()).ok_or_else(|| {
        format!("--only does not know {name:?}; it knows {}", Section::ALL.map(Section::name).join(", "))
    })
}

fn peer(argument: &OsStr) -> Result<(String, Vec<OsString>), String> {
    let wanted = || format!("--as wants NAME=COMMAND, not {argument:?}");
    let (name, command) = argument.to_str().and_then(|text| text.split_once('=')).ok_or_else(wanted)?;
    let command: Vec<OsString> = command.split_whitespace().map(OsString::from).collect();
    if name.is_empty() || command.is_empty() {
        return Err(wanted());
    }
    Ok((name.to_owned(), command))
}
