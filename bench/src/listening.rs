//! Address and token of a program that serves HTTP.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use switchboard_testkit::http::Web;

/// Time limit until a program listens.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(10);

/// A client of the program, with its owner's token if it has one. `said` is the program's stderr so far, which names
/// the address; the token is in the state folder, and not shown to programs.
pub(crate) fn web(said: impl Fn() -> String, state: &Path) -> io::Result<Web> {
    let web = Web::at(address(said)?);
    Ok(match fs::read_to_string(state.join("token")) {
        Ok(token) => web.with("Authorization", &format!("Bearer {}", token.trim())),
        // A floor knows no tokens.
        Err(_) => web,
    })
}

fn address(said: impl Fn() -> String) -> io::Result<SocketAddr> {
    let deadline = Instant::now() + LISTEN_TIMEOUT;
    loop {
        let said = said();
        // The last line may be incomplete.
        let whole = said.rsplit_once('\n').map_or("", |(whole, _)| whole);
        if let Some((_, rest)) = whole.split_once("listening at ") {
            let address = rest.split_whitespace().next().unwrap_or_default();
            let is_none = |_| io::Error::other(format!("it listens at `{address}`, which is no address"));
            return address.parse().map_err(is_none);
        }
        if Instant::now() > deadline {
            return Err(io::Error::other("it does not say where it listens"));
        }
        thread::sleep(Duration::from_millis(1));
    }
}
