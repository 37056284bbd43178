//! Remote servers, reached over HTTP.
//!
//! - `sessions`: headers, and lost sessions.
//! - `forgotten`: refusals by a server that lost the session, and retries.
//! - `twice`: a call is posted once, whatever the server answers.
//! - `broken`: connections that are cut at every point of a call.
//! - `refusals`: refusals, and bodies that are no answer.
//! - `sizes`: long messages, and slow ones.
//! - `shared`: behind the daemon, and behind `serve`.
//! - `secure`: TLS.
//! - `legacy`: servers of 2024-11-05.
//!
//! Real servers are in `tests/real/remote.rs`.

mod sessions;
mod forgotten;
mod twice;
mod broken;
mod refusals;
mod sizes;
#[cfg(target_os = "linux")]
mod shared;
#[cfg(target_os = "linux")]
mod secure;
mod legacy;

use crate::support::program;
use serde_json::{Value, json};
use switchboard_testkit::client::{Client, Start};
use switchboard_testkit::web::Web;

pub(crate) const SECRET: &str = "very-s3cret-token";

/// A client of the server at this address, named `far`, with more keys for its entry.
pub(crate) fn far(url: &str, more: Value) -> Start {
    let mut entry = json!({ "url": url, "headers": { "Authorization": "Bearer ${FAR_TOKEN}" } });
    if let (Some(entry), Value::Object(more)) = (entry.as_object_mut(), more) {
        entry.extend(more);
    }
    let start = program().env("FAR_TOKEN", SECRET);
    let config = json!({ "mcpServers": { "far": entry } });
    let path = start.scratch().file("config.json", config.to_string());
    start.arg("stdio").arg("--config").arg(path).args(["--server", "far"])
}

/// A client after its handshake.
#[track_caller]
pub(crate) fn greeted(web: &Web) -> Client {
    let mut client = far(&web.url("/mcp"), json!({})).start();
    client.initialize();
    client
}

/// Ends the client in order; checks that the secret is in none of its files.
#[track_caller]
pub(crate) fn finish(mut client: Client) {
    let end = client.finish();
    assert_eq!(end.code, Some(0), "{}", end.stderr);
    assert!(!end.stderr.contains(SECRET), "{}", end.stderr);
    // The daemon stores lists when its client has left; once it is gone, no file changes any more.
    client.scratch().stop_daemons();
    for file in files(&client.scratch().state("")) {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        assert!(!text.contains(SECRET), "{}: {text}", file.display());
    }
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .filter(|path| path.is_file())
        .collect()
}
