//! Routes from a client to a server: over stdio and HTTP on both sides, alone and as one of several servers. Must not know
//! the expected conversations.

use super::differences::Case;
use super::pairs::alone;
use super::peers::{Era, Job, SDKS, Sdk, Speaks, Steps, Talker};
use crate::daemon::house::House;
use crate::http::served::{Served, token};
use crate::real::elsewhere::Elsewhere;
use crate::support::fake_backend;
use serde_json::{Value, json};
use std::ffi::OsString;

/// A server, started by us or elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backend {
    Stdio,
    Http,
}

/// Prefix of the names in an aggregate.
const PREFIX: &str = "peer__";

/// The greeting of a server with tasks of the legacy era.
const WITH_TASKS: &str = r#"{"jsonrpc":"2.0","id":%ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{},"cancel":{}}},"serverInfo":{"name":"old","version":"1"}}}
"#;

/// A client, its era, and the era of its servers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pairing {
    pub(super) client: Sdk,
    pub(super) speaks: Era,
    pub(super) servers: Era,
}

/// A conversation through us.
pub(super) struct Held {
    pub(super) pairing: Pairing,
    pub(super) server: Sdk,
    /// The case, as in the list of expected differences.
    pub(super) route: String,
    pub(super) steps: Steps,
}

/// Checks one conversation. Gets the client's program too.
pub(super) type Each<'a> = &'a mut dyn FnMut(&mut Talker, Held);

/// One server of each SDK.
struct Servers {
    backend: Backend,
    entries: Vec<(Sdk, Value)>,
    /// Servers that the test starts itself.
    _elsewhere: Vec<Elsewhere>,
}

impl Servers {
    fn of(speaks: Speaks, backend: Backend) -> Self {
        let mut servers = Self { backend, entries: Vec::new(), _elsewhere: Vec::new() };
        for server in SDKS {
            let (entry, running) = entry(server, speaks, backend);
            servers.entries.push((server, entry));
            servers._elsewhere.extend(running);
        }
        servers
    }

    /// The config file with these servers, each of which is reached alone.
    fn config(&self) -> Value {
        let named = self.entries.iter().map(|(server, entry)| (server.name().to_owned(), entry.clone()));
        json!({ "mcpServers": named.collect::<serde_json::Map<_, _>>() })
    }
}

impl Held {
    pub(super) fn is_aggregated(&self) -> bool {
        self.route.starts_with("all-")
    }

    /// The conversation through us and the direct one, normalised for comparison.
    pub(super) fn beside(&self, directly: &Steps) -> [Steps; 2] {
        match self.is_aggregated() {
            true => [alone(PREFIX, &self.steps), alone("", directly)],
            false => [self.steps.clone(), directly.clone()],
        }
    }

    pub(super) fn case(&self) -> Case<'_> {
        Case { client: self.pairing.client.name(), server: self.server.name(), route: &self.route }
    }
}

impl Pairing {
    fn is_of_one_era(self) -> bool {
        self.speaks == self.servers
    }

    /// Servers over stdio, each alone.
    #[track_caller]
    pub(super) fn over_stdio(self, each: Each<'_>) {
        self.alone(&mut Talker::start(self.client), &Servers::of(self.spoken(), Backend::Stdio), each);
    }

    /// Servers over stdio, each beside others.
    #[track_caller]
    pub(super) fn beside_others(self, each: Each<'_>) {
        self.aggregated(&mut Talker::start(self.client), &Servers::of(Speaks::Both, Backend::Stdio), each);
    }

    /// Servers over HTTP, alone and beside others.
    #[track_caller]
    pub(super) fn over_http(self, each: Each<'_>) {
        let servers = Servers::of(self.spoken(), Backend::Http);
        let mut talker = Talker::start(self.client);
        self.alone(&mut talker, &servers, each);
        self.aggregated(&mut talker, &servers, each);
    }

    /// The era of servers without a setting, which Switchboard has to detect.
    fn spoken(self) -> Speaks {
        match (self.speaks, self.servers) {
            (Era::Modern, Era::Modern) => Speaks::Both,
            (_, era) => Speaks::Only(era),
        }
    }

    #[track_caller]
    fn alone(self, talker: &mut Talker, servers: &Servers, each: Each<'_>) {
        let house = House::with(servers.config(), json!({}), &[]);
        for server in SDKS {
            let target = window(&house, &["--server", server.name()]);
            let steps = talker.talk(&at_home(&house, self.job(server, &target)));
            each(talker, self.held(server, "stdio", servers.backend, steps));
        }
        let served = Served::start(house, &[]);
        for server in SDKS {
            let url = format!("http://127.0.0.1:{}/servers/{}/mcp", served.web.port(), server.name());
            let steps = talker.talk(&self.job(server, &[url.into()]).with("token", token(&served.house)));
            let held = self.held(server, "http", servers.backend, steps);
            self.check_verdict(&held, &served.house);
            each(talker, held);
        }
    }

    /// The server beside a legacy and a modern one. The config sets its era, unless it is that of the client.
    #[track_caller]
    fn aggregated(self, talker: &mut Talker, servers: &Servers, each: Each<'_>) {
        for (server, entry) in &servers.entries {
            let mut entry = entry.clone();
            if !self.is_of_one_era() {
                entry["era"] = json!(self.servers.name());
            }
            let old = json!({ "command": fake_backend(), "args": ["--greeting", WITH_TASKS] });
            let new = json!({ "command": fake_backend(), "args": ["--era", "modern"] });
            let config = json!({ "mcpServers": { "peer": entry, "old": old, "new": new } });
            // Each front has its own home, so that the second does not start with the lists that the first has stored.
            let house = House::with(config.clone(), json!({}), &[]);
            let job = self.job(*server, &window(&house, &[])).with("prefix", PREFIX);
            let steps = talker.talk(&at_home(&house, job));
            each(talker, self.held(*server, "all-stdio", servers.backend, steps));
            let served = Served::start(House::with(config, json!({}), &[]), &[]);
            let url = format!("http://127.0.0.1:{}/mcp", served.web.port());
            let job = self.job(*server, &[url.into()]).with("prefix", PREFIX);
            let steps = talker.talk(&job.with("token", token(&served.house)));
            each(talker, self.held(*server, "all-http", servers.backend, steps));
        }
    }

    fn job(self, server: Sdk, target: &[OsString]) -> Job {
        Job::new(self.speaks, target).with_server(server, self.servers)
    }

    #[track_caller]
    fn held(self, server: Sdk, front: &str, backend: Backend, steps: Steps) -> Held {
        let route = route(front, backend);
        // Only the server's own report shows in which era it was addressed.
        let spoken = steps.get("spoken");
        assert_eq!(*spoken, self.servers.version(), "{self:?} with {server:?}, {route}");
        let held = Held { pairing: self, server, route, steps };
        if held.is_aggregated() && self.speaks == Era::Modern {
            self.check_discovery(&held.steps);
        }
        held
    }

    /// Checks the discovery of several servers, which is our own and so not compared: the members of the modern era, and
    /// none that only legacy clients know.
    #[track_caller]
    fn check_discovery(self, steps: &Steps) {
        let found = steps.get("discover");
        // The TypeScript SDK reads `resultType` and does not show it.
        let shown = if self.client == Sdk::TypeScript { Value::Null } else { json!("complete") };
        assert_eq!(found["resultType"], shown, "{found}");
        assert_eq!(found["supportedVersions"], json!(["2026-07-28"]), "{found}");
        assert!(found["ttlMs"].is_u64(), "{found}");
        assert!(["public", "private"].map(|scope| json!(scope)).contains(&found["cacheScope"]), "{found}");
        assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "switchboard", "{found}");
        assert!(found["capabilities"]["tools"].is_object(), "{found}");
        assert!(found["capabilities"]["tasks"].is_null(), "{found}");
        let mut tools = steps.get("tools")["tools"].as_array().into_iter().flatten();
        assert!(tools.all(|tool| tool["execution"].is_null()), "{tools:?}");
    }

    /// Checks that a modern server is detected.
    #[track_caller]
    fn check_verdict(self, held: &Held, house: &House) {
        let status = house.status();
        let servers = status["daemons"][0]["servers"].as_array().unwrap();
        let shown = servers.iter().find(|shown| shown["name"] == held.server.name()).unwrap();
        let learnt = shown["learnt"].as_array().into_iter().flatten();
        let mut learnt = learnt.filter_map(Value::as_str);
        let is_modern = learnt.any(|it| it.starts_with("speaks modern MCP"));
        assert_eq!(is_modern, self.servers == Era::Modern, "{self:?}, {}: {shown}", held.route);
    }
}

/// A server's entry in a config file, and its process if we do not start it.
fn entry(server: Sdk, speaks: Speaks, backend: Backend) -> (Value, Option<Elsewhere>) {
    match backend {
        Backend::Stdio => {
            let words = server.over_stdio(speaks);
            let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
            (json!({ "command": words[0], "args": words[1..] }), None)
        }
        Backend::Http => {
            let elsewhere = server.over_http(speaks);
            (json!({ "url": elsewhere.url() }), Some(elsewhere))
        }
    }
}

/// The command line of a window of this house.
pub(super) fn window(house: &House, more: &[&str]) -> Vec<OsString> {
    let words = [env!("CARGO_BIN_EXE_switchboard"), "stdio", "--config"].map(OsString::from);
    let more = more.iter().map(OsString::from);
    words.into_iter().chain([house.config().into()]).chain(more).collect()
}

/// A conversation in the environment of this house.
pub(super) fn at_home(house: &House, job: Job) -> Job {
    let [home, runtime] = ["home", "r"].map(|name| house.path(name).display().to_string());
    job.with("env", json!({ "HOME": home, "XDG_RUNTIME_DIR": runtime })).with("cwd", home)
}

/// The route of a case: how we are reached, and how we reach the server.
fn route(front: &str, backend: Backend) -> String {
    format!("{front}/{}", if backend == Backend::Stdio { "stdio" } else { "http" })
}
