//! `switchboard trust`: approves a project's config file with its present content.

use crate::cli::TrustArgs;
use crate::exit::{Exit, fatal};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use switchboard_gateway::config::discover::{PROJECT_FILE, read};
use switchboard_gateway::config::owners::Owners;
use switchboard_gateway::config::trust::Trust;
use switchboard_gateway::config::{folders, load};

pub(crate) fn run(args: &TrustArgs) -> anyhow::Result<Exit> {
    let trust = Trust::new(&folders::state_dir(&super::vars)?);
    if args.list {
        return list(&trust);
    }
    let path = file_of(args.path.as_deref());
    if args.revoke {
        let text = match trust.untrust(&path)? {
            true => format!("{} is no longer used\n", path.display()),
            false => format!("{} was not trusted\n", path.display()),
        };
        super::print(&text)?;
        return Ok(Exit::Ok);
    }
    allow(&trust, &path, args.owner.owners())
}

fn file_of(path: Option<&Path>) -> PathBuf {
    match path {
        None => PathBuf::from(PROJECT_FILE),
        Some(path) if path.is_dir() => path.join(PROJECT_FILE),
        Some(path) => path.to_owned(),
    }
}

/// Shows the servers' commands, and stores the hash of the content.
fn allow(trust: &Trust, path: &Path, owners: Owners) -> anyhow::Result<Exit> {
    let (source, _) = read(path, owners)
        .map_err(|error| fatal(Exit::Config, format!("cannot read {}: {error}", path.display())))?;
    // Loaded from the text that was read: the file may change meanwhile.
    let loaded = load(path, &source);
    let Some(config) = loaded.config else {
        let problems: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
        return Err(fatal(
            Exit::Config,
            format!("it has errors and is not trusted\n{}", problems.join("\n")),
        ));
    };
    let trusted = trust.trust(path, &source)?;
    let mut text = format!("trusted as it is now: {}\n", trusted.path.display());
    for server in config.servers.iter().filter(|server| !server.disabled) {
        match &server.remote {
            Some(remote) => writeln!(text, "  {} connects to: {}", server.name, remote.shown())?,
            None => writeln!(text, "  {} runs: {} {}", server.name, server.command, server.args.join(" "))?,
        }
    }
    text.push_str("when it changes, it is ignored until you run this again\n");
    super::print(&text)?;
    Ok(Exit::Ok)
}

fn list(trust: &Trust) -> anyhow::Result<Exit> {
    let mut text = String::new();
    for trusted in trust.trusted()? {
        // An entry may have been edited by hand.
        writeln!(text, "{}  {}", &trusted.sha256[..12.min(trusted.sha256.len())], trusted.path.display())?;
    }
    super::print(&text)?;
    Ok(Exit::Ok)
}
