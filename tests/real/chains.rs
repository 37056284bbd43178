//! Servers as people start them, several processes deep: however we end, every one of them is gone, and nothing
//! happens to those of another window.

use super::peers::Server;
use super::window::{Chain, Window};
use crate::support::text;
use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use switchboard_testkit::client::Client;
use switchboard_testkit::scratch::Scratch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    InputEnds,
    Killed,
    GroupKilled,
}

/// Ends us in each way, beside a window with the same server that stays.
#[track_caller]
fn check(chain: &Chain, guard: &str) {
    if guard == "strict" && !can_unshare() {
        return say("left out: this machine does not allow namespaces");
    }
    // One for all, as on a user's machine: each start also looks for what the one before may have left.
    let state = Scratch::new();
    let mut neighbour = Window::open(chain, guard, state.path());
    for ending in [Ending::InputEnds, Ending::Killed, Ending::GroupKilled] {
        let mut window = Window::open(chain, guard, state.path());
        let gone_since = end(&mut window, ending);
        window.check_gone(gone_since);
        neighbour.check_well();
    }
    assert_eq!(neighbour.client.finish().code, Some(0));
    neighbour.check_gone(Instant::now());
}

/// Since when nothing may be left, but for the time that it takes.
#[track_caller]
fn end(window: &mut Window, ending: Ending) -> Instant {
    match ending {
        Ending::InputEnds => {
            let end = window.client.finish();
            assert_eq!((end.code, end.stderr.as_str()), (Some(0), ""));
            // Why stopping asks first: only the server knows what it has to clean up.
            assert_eq!(window.on_disk(), Vec::<String>::new());
            return Instant::now();
        }
        Ending::Killed => window.kill(),
        Ending::GroupKilled => window.kill_group(),
    }
    Instant::now()
}

/// Whether we may make what `guard: strict` needs. Root needs no namespace for users.
fn can_unshare() -> bool {
    use std::os::unix::fs::MetadataExt;
    let is_root = Path::new("/proc/self").metadata().is_ok_and(|meta| meta.uid() == 0);
    let mut command = Command::new("unshare");
    if !is_root {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--pid", "--mount", "--fork", "--mount-proc", "true"]).stderr(Stdio::null());
    #[expect(clippy::disallowed_methods, reason = "a question to the system, which is waited for")]
    command.status().is_ok_and(|status| status.success())
}

/// For a person who runs the tests with `--nocapture`.
#[expect(clippy::print_stderr, reason = "a test's own words")]
fn say(words: &str) {
    eprintln!("{words}");
}

/// `npm exec`, a shell, and the server.
const NPX: Chain = Chain {
    server: Server::everything_by_npx,
    capabilities: || json!({}),
    open: |client| drop(client.request("tools/list", json!({}))),
    depth: 3,
    temporary: &[],
};

/// `uv`, and the server.
const UVX: Chain = Chain { server: Server::time_by_uvx, depth: 2, ..NPX };

/// It asks its client for its roots and hears nothing. Alone it stays for a minute after its input has ended, and
/// so do those above it.
const WAITING: Chain =
    Chain { capabilities: || json!({ "roots": {} }), open: |client| drop(client.told("roots/list")), ..NPX };

/// `npm exec`, a shell, the server, the browser, and what that starts for its pages, in sessions of their own.
const BROWSER: Chain = Chain {
    server: Server::playwright_by_npx,
    capabilities: || json!({}),
    open: open_a_page,
    depth: 5,
    temporary: &["playwright_chromiumdev_profile-", "playwright-artifacts-"],
};

/// One that is never done.
#[track_caller]
fn open_a_page(client: &mut Client) {
    let page = "data:text/html,<title>a page</title><script>setInterval(() => {}, 1)</script>";
    let answer = client.call("browser_navigate", json!({ "url": page }));
    assert!(text(&answer).contains("Page Title: a page"), "{answer}");
}

#[test]
fn npx() {
    check(&NPX, "auto");
}

#[test]
fn npx_strictly() {
    check(&NPX, "strict");
}

#[test]
fn uvx() {
    check(&UVX, "auto");
}

#[test]
fn uvx_strictly() {
    check(&UVX, "strict");
}

#[test]
fn a_server_that_waits() {
    check(&WAITING, "auto");
}

#[test]
fn a_server_that_waits_strictly() {
    check(&WAITING, "strict");
}

#[test]
fn a_browser() {
    check(&BROWSER, "auto");
}

#[test]
fn a_browser_strictly() {
    check(&BROWSER, "strict");
}
