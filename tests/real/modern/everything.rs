//! Modern clients with server-everything, a legacy server, without a setting in the config: they get the same as a legacy
//! client directly.

use super::differences::{Case, Differences, of_both_eras};
use super::peers::Steps;
use crate::daemon::house::House;
use crate::http::served::{Served, token};
use crate::real::elsewhere::Elsewhere;
use crate::real::peers::{Link, Server, driver};
use crate::real::sdk_clients::{printed, python_program};
use crate::support::fake_backend;
use serde_json::{Value, json};
use std::ffi::OsString;

/// Steps that only the legacy era has, and the step that reports the era.
const OF_ONE_ERA: [&str; 8] =
    ["modern", "server", "roots were taken", "ping", "level", "subscribe", "unsubscribe", "said"];

/// Steps about lists and errors, which differ in an aggregate.
const OF_ONE_SERVER: [&str; 6] =
    ["tools", "resources", "templates", "prompts", "unknown tool", "unknown resource"];

const PREFIX: &str = "everything__";

struct Conversation {
    name: &'static str,
    legacy: Vec<OsString>,
    auto: Vec<OsString>,
}

fn typescript() -> Conversation {
    let program = |flavour: &str| vec!["node".into(), driver("typescript.mjs").into(), flavour.into()];
    Conversation { name: "typescript", legacy: program("2-legacy"), auto: program("2-auto") }
}

fn python() -> Conversation {
    let program = |mode: &str| python_program(".venv", mode, "everything").to_vec();
    Conversation { name: "python", legacy: program("legacy"), auto: program("auto") }
}

/// A config with the server and a fake modern one.
fn config(entry: &Value) -> Value {
    let fake = json!({ "command": fake_backend(), "args": ["--era", "modern"] });
    json!({ "mcpServers": { "everything": entry, "fake": fake } })
}

impl Conversation {
    /// Over stdio and HTTP, alone and as one of two servers.
    #[track_caller]
    fn check(&self) {
        let mut found = Differences::of("everything");
        let server = Server::everything();
        let directly = self.talk(&server, &self.legacy, server.command(Link::Direct));
        let file = server.folder().file("config.json", config(&server.entry()).to_string());
        for (route, more) in [("stdio/stdio", &["--server", "everything"][..]), ("all-stdio/stdio", &[])] {
            let words =
                [env!("CARGO_BIN_EXE_switchboard"), "stdio", "--solo", "--config"].map(OsString::from);
            let words = words.into_iter().chain([file.clone().into()]).chain(more.iter().map(OsString::from));
            let program = self.prefixed(route);
            self.compare(&mut found, route, &self.talk(&server, &program, words.collect()), &directly);
        }
        let house = House::with(config(&server.entry()), json!({}), &[]);
        self.check_http(&mut found, &server, house, "stdio", &directly);
        let elsewhere = Elsewhere::everything("streamableHttp");
        let house = House::with(config(&json!({ "url": elsewhere.url() })), json!({}), &[]);
        self.check_http(&mut found, &server, house, "http", &directly);
        found.check();
    }

    fn check_http(
        &self,
        found: &mut Differences,
        server: &Server,
        house: House,
        back: &str,
        directly: &Steps,
    ) {
        let served = Served::start(house, &[]);
        for (front, path, prefix) in [("http", "servers/everything/mcp", ""), ("all-http", "mcp", PREFIX)] {
            let url = format!("http://127.0.0.1:{}/{path}", served.web.port());
            let words = [url.as_str(), "http", &token(&served.house), prefix].map(OsString::from);
            let steps = self.talk(server, &self.auto, words.to_vec());
            self.compare(found, &format!("{front}/{back}"), &steps, directly);
        }
    }

    /// The client's command line, with the prefix of names.
    fn prefixed(&self, route: &str) -> Vec<OsString> {
        let prefix =
            if route.starts_with("all-") { format!("PREFIX={PREFIX}") } else { "PREFIX=".to_owned() };
        ["env".into(), prefix.into()].into_iter().chain(self.auto.iter().cloned()).collect()
    }

    fn talk(&self, server: &Server, program: &[OsString], words: Vec<OsString>) -> Steps {
        Steps::read(&printed(server, [program.to_vec(), words].concat()))
    }

    #[track_caller]
    fn compare(&self, found: &mut Differences, route: &str, through: &Steps, directly: &Steps) {
        assert_eq!(*through.get("modern"), true, "{} has not found the modern era ({route})", self.name);
        let mut left_out = OF_ONE_ERA.to_vec();
        if route.starts_with("all-") {
            left_out.extend(OF_ONE_SERVER);
        }
        let case = Case { client: self.name, server: "everything", route };
        found.compare(case, &of_both_eras(through, &left_out), &of_both_eras(directly, &left_out));
    }
}

#[test]
fn typescript_uses_everything() {
    typescript().check();
}

#[test]
fn python_uses_everything() {
    python().check();
}
