//! Every route to a server: a window of one server, a window of all servers, and the same over HTTP. A rule that must hold
//! on all of them is tested with [`on_every_route`]:
//!
//! ```ignore
//! on_every_route(|| servers(), |site| {
//!     let mut client = site.open();
//!     client.names("tools");              // answered from the store at the second start
//!     site.open_gate();                   // from here on the server answers
//!     client.call("echo", json!({}));     // by the server's own name
//! });
//! ```
//!
//! The server under test is `s`. On routes to several servers, its tools and prompts have a prefix and its
//! URIs are wrapped: [`Route::tool`], [`Route::uri`] and [`Route::template`] return the name on a route.

pub(crate) use super::guest::Guest;
use super::guest::{Line, listen};
use crate::aggregate::servers::Servers;
use crate::aggregate::slow::wait_until_stored;
use crate::http::served::address;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::fs;
use std::panic::AssertUnwindSafe;
use switchboard_testkit::client::{Client, Start, VERSION, initialize_params};
use switchboard_testkit::http::{Talk, Web};
use switchboard_testkit::patience;

/// The server under test.
pub(crate) const SERVER: &str = "s";
/// The profile with that server only.
const PROFILE: &str = "only";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// `stdio --server s`, through the daemon.
    WindowOne,
    /// `stdio`, through the daemon.
    WindowAll,
    /// `stdio --solo --server s`
    SoloOne,
    /// `stdio --solo`
    SoloAll,
    /// `/servers/s/mcp`
    HttpOne,
    /// `/mcp`
    HttpAll,
    /// `/profiles/only/mcp`
    HttpProfile,
}

impl Route {
    pub(crate) const ALL: [Self; 7] = [
        Self::WindowOne,
        Self::WindowAll,
        Self::SoloOne,
        Self::SoloAll,
        Self::HttpOne,
        Self::HttpAll,
        Self::HttpProfile,
    ];

    /// Whether names are the server's own.
    pub(crate) fn is_to_one(self) -> bool {
        match self {
            Self::WindowOne | Self::SoloOne | Self::HttpOne => true,
            Self::WindowAll | Self::SoloAll | Self::HttpAll | Self::HttpProfile => false,
        }
    }

    fn path(self) -> Option<String> {
        self.path_for(PROFILE)
    }

    fn path_for(self, profile: &str) -> Option<String> {
        match self {
            Self::HttpOne => Some(format!("/servers/{SERVER}/mcp")),
            Self::HttpAll => Some("/mcp".to_owned()),
            Self::HttpProfile => Some(format!("/profiles/{profile}/mcp")),
            Self::WindowOne | Self::WindowAll | Self::SoloOne | Self::SoloAll => None,
        }
    }

    /// The route to all servers over the same kind of connection: its clients store every list.
    fn to_all(self) -> Self {
        match self {
            Self::WindowOne | Self::WindowAll => Self::WindowAll,
            Self::SoloOne | Self::SoloAll => Self::SoloAll,
            Self::HttpOne | Self::HttpAll | Self::HttpProfile => Self::HttpAll,
        }
    }

    /// Name of a tool or prompt on this route.
    pub(crate) fn tool(self, name: &str) -> String {
        if self.is_to_one() { name.to_owned() } else { format!("{SERVER}__{name}") }
    }

    /// URI of a resource on this route.
    pub(crate) fn uri(self, uri: &str) -> String {
        if self.is_to_one() { uri.to_owned() } else { wrapped(SERVER, uri) }
    }

    /// A template, or a URI expanded from one, on this route.
    pub(crate) fn template(self, template: &str) -> String {
        if self.is_to_one() { template.to_owned() } else { format!("proxy://template/{SERVER}/{template}") }
    }
}

/// Whether the server's lists are stored when a client connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visit {
    First,
    /// The server does not answer before [`Site::open_gate`]: lists come from the store.
    Second,
}

/// A token, and how a window shows it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ShownBy<'a> {
    Variable(&'a str),
    Meta(&'a str),
}

/// The start of a client on a route.
pub(crate) enum Reach {
    Window(Start),
    Web { web: Web, path: String },
}

/// The servers of one config, and the program that serves them on a route.
pub(crate) struct Site {
    pub(crate) route: Route,
    // Drop order: processes end before the servers check for leftovers.
    served: Option<(Client, Web)>,
    /// Whether windows relay every message, as they do where streams cannot be handed over to the daemon.
    relays: bool,
    pub(crate) servers: Servers,
}

/// Runs a check on every route, at the first and the second start, each with its own home. Routes run in
/// parallel, since most of the time is spent waiting for daemons to end.
pub(crate) fn on_every_route(servers: impl Fn() -> Servers + Sync, check: impl Fn(&mut Site) + Sync) {
    on_routes(&Route::ALL, |route, visit| check(&mut Site::new(*route, visit, servers())));
}

/// Runs a check in several ways, at the first and the second start.
pub(crate) fn on_routes<W: Debug + Sync>(ways: &[W], check: impl Fn(&W, Visit) + Sync) {
    let visit = |way: &W| {
        for visit in [Visit::First, Visit::Second] {
            let result = std::panic::catch_unwind(AssertUnwindSafe(|| check(way, visit)));
            // The name of the route, for a failed check.
            assert!(result.is_ok(), "failed on route {way:?}, {visit:?} visit");
        }
    };
    let visit = &visit;
    std::thread::scope(|scope| {
        for way in ways {
            scope.spawn(move || visit(way));
        }
    });
}

/// Runs a check on every route on which clients share a server, at the first and the second start.
pub(crate) fn on_shared_routes(servers: impl Fn() -> Servers + Sync, check: impl Fn(&mut Site) + Sync) {
    on_every_route(servers, |site| {
        if !matches!(site.route, Route::SoloOne | Route::SoloAll) {
            check(site);
        }
    });
}

/// Makes the server under test with these keys and this offer. Checks that take it hold for servers of both eras.
pub(crate) type Make = fn(Value, &str) -> Servers;

/// The server `s` with these keys and this offer, behind a gate, beside another server with other names.
pub(crate) fn servers(keys: Value, offer: &str) -> Servers {
    let servers = Servers::none().and_offer("other", json!({}), r#"{ "tools": [{ "name": "else" }] }"#);
    gated(servers, keys, offer).with("profiles", json!({ PROFILE: [SERVER] }))
}

/// Adds the server `s` behind the gate of [`Site`].
pub(crate) fn gated(servers: Servers, keys: Value, offer: &str) -> Servers {
    let (path, gate) = (servers.offers(SERVER, offer), servers.path(GATE));
    let options = ["--offer", &path.display().to_string(), "--gate", &gate.display().to_string()];
    servers.and(SERVER, keys, &options)
}

const GATE: &str = "gate";

impl Site {
    pub(crate) fn new(route: Route, visit: Visit, servers: Servers) -> Self {
        let ask = |site: &Self, route: Route| {
            let mut client = site.open_on(route, json!({}));
            client.names("tools");
            client
        };
        Self::with(route, visit, servers, ask)
    }

    /// Before the second visit, `ask` connects a client that requests a list of all servers, so that every list is
    /// stored.
    pub(crate) fn with<C>(
        route: Route,
        visit: Visit,
        servers: Servers,
        ask: impl Fn(&Self, Route) -> C,
    ) -> Self {
        // Both ways of a window are tested: the first visit hands its streams over.
        let mut site = Self { route, served: None, relays: visit == Visit::Second, servers };
        site.open_gate();
        if visit == Visit::Second {
            site.store_lists(ask);
            fs::remove_file(site.servers.path(GATE)).unwrap();
        }
        site.serve();
        site
    }

    /// Lets the server answer. At the first visit the gate is open from the start.
    pub(crate) fn open_gate(&self) {
        fs::write(self.servers.path(GATE), "").unwrap();
    }

    /// Lets processes stay this long after their last client.
    pub(crate) fn linger(&mut self, time: &str) {
        self.servers.set("linger", json!(time));
    }

    /// Connects a client, and waits until every list is stored and everything has ended.
    fn store_lists<C>(&mut self, ask: impl Fn(&Self, Route) -> C) {
        self.serve();
        let client = ask(self, self.route.to_all());
        wait_until_stored(&self.servers, "catalogue", 2);
        drop(client);
        self.served = None;
        patience::until_true("everything has ended", || self.servers.processes().is_empty());
    }

    fn serve(&mut self) {
        if self.route.path().is_none() {
            return;
        }
        let listen = ["serve", "--listen", "127.0.0.1:0", "--config"];
        let mut program = self.servers.program().args(listen).arg(self.servers.config()).start();
        let web = Web::at(address(&mut program));
        let token = fs::read_to_string(self.servers.state("token")).unwrap();
        self.served = Some((program, web.with("Authorization", &format!("Bearer {}", token.trim()))));
    }

    /// A client on this route, after its handshake.
    #[track_caller]
    pub(crate) fn open(&self) -> Guest {
        self.open_with(json!({}))
    }

    /// A client with these capabilities.
    #[track_caller]
    pub(crate) fn open_with(&self, capabilities: Value) -> Guest {
        self.open_on(self.route, capabilities)
    }

    /// A client of this version on a route.
    #[track_caller]
    pub(crate) fn open_version(&self, route: Route, version: &str, capabilities: Value) -> Guest {
        self.open_by(route, (version, capabilities), (None, None))
    }

    /// A client with the rights of a profile. Not for HTTP paths without a profile.
    #[track_caller]
    pub(crate) fn open_profile(&self, profile: &str) -> Guest {
        self.open_by(self.route, (VERSION, json!({})), (Some(profile), None))
    }

    /// A client with a token, over HTTP in a header. `profile` is for HTTP paths with one.
    #[track_caller]
    pub(crate) fn open_token(&self, token: ShownBy<'_>, profile: Option<&str>) -> Guest {
        self.open_by(self.route, (VERSION, json!({})), (profile, Some(token)))
    }

    #[track_caller]
    fn open_on(&self, route: Route, capabilities: Value) -> Guest {
        self.open_version(route, VERSION, capabilities)
    }

    #[track_caller]
    fn open_by(
        &self,
        route: Route,
        (version, capabilities): (&str, Value),
        (profile, token): (Option<&str>, Option<ShownBy<'_>>),
    ) -> Guest {
        match self.reach(route, profile, token) {
            Reach::Web { web, path } => {
                let talk = Talk::open_as(&web, &path, version, capabilities);
                let (told, greeting) = (listen(&talk), talk.greeting.clone());
                Guest::new(route, Line::Web { talk, told }, greeting)
            }
            Reach::Window(start) => {
                let mut client = start.start();
                let mut hello = initialize_params();
                hello["protocolVersion"] = json!(version);
                hello["capabilities"] = capabilities;
                if let Some(ShownBy::Meta(token)) = token {
                    hello["_meta"] = json!({ "switchboard/authToken": token });
                }
                let answer = client.request("initialize", hello);
                assert!(answer.get("result").is_some(), "{answer}");
                client.notify("notifications/initialized", json!({}));
                Guest::new(route, Line::Pipe(Box::new(client)), answer)
            }
        }
    }

    /// The start of a client on a route. A token in a message is left to the client.
    pub(crate) fn reach(&self, route: Route, profile: Option<&str>, token: Option<ShownBy<'_>>) -> Reach {
        let Some((_, web)) = &self.served else {
            let mut flags: Vec<&str> = match route {
                Route::WindowOne => vec!["--server", SERVER],
                Route::SoloOne => vec!["--solo", "--server", SERVER],
                Route::SoloAll => vec!["--solo"],
                Route::WindowAll | Route::HttpOne | Route::HttpAll | Route::HttpProfile => Vec::new(),
            };
            flags.extend(profile.iter().flat_map(|profile| ["--profile", profile]));
            let relays = if self.relays { "1" } else { "0" };
            let start = self.servers.shared().args(flags).env("SWITCHBOARD_RELAY", relays);
            return Reach::Window(match token {
                Some(ShownBy::Variable(token)) => start.env("SWITCHBOARD_TOKEN", token),
                Some(ShownBy::Meta(_)) | None => start,
            });
        };
        let path = profile.map_or_else(|| route.path(), |profile| route.path_for(profile)).unwrap();
        let own = token.map(|(ShownBy::Variable(token) | ShownBy::Meta(token))| {
            web.with("Authorization", &format!("Bearer {token}"))
        });
        Reach::Web { web: own.unwrap_or_else(|| web.clone()), path }
    }

    /// Number of messages to the server that contain `text`, from any client.
    pub(crate) fn told(&self, text: &str) -> usize {
        self.servers.told(SERVER, text)
    }
}

/// Returns `proxy://resource/` and, as base64url, the server's name, a line feed and the URI.
pub(crate) fn wrapped(server: &str, uri: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut public = String::from("proxy://resource/");
    for chunk in format!("{server}\n{uri}").as_bytes().chunks(3) {
        let mut word = [0; 4];
        word[1..=chunk.len()].copy_from_slice(chunk);
        let word = u32::from_be_bytes(word);
        let letters = (0..=chunk.len()).map(|at| ALPHABET[(word >> (18 - 6 * at) & 63) as usize]);
        public.extend(letters.map(char::from));
    }
    public
}

/// Test of the harness: names are as a client sees them, and the second start is answered from the store.
#[test]
fn every_route_reaches_the_server() {
    let offer = r#"{ "tools": [{ "name": "echo" }, { "name": "say" }], "resources": [{ "uri": "x://a", "name": "a" }],
        "resourceTemplates": [{ "uriTemplate": "y://{id}", "name": "y" }] }"#;
    on_every_route(
        || servers(json!({}), offer),
        |site| {
            let mut client = site.open();
            assert_eq!(client.names("tools"), ["echo", "say"].map(|name| site.route.tool(name)));
            assert_eq!(client.names("resources"), [site.route.uri("x://a")]);
            assert_eq!(client.names("resourceTemplates"), [site.route.template("y://{id}")]);
            site.open_gate();
            assert!(client.call("echo", json!({ "x": 1 })).get("result").is_some());
            assert!(client.read("x://a").get("result").is_some());
            assert_eq!((site.told("tools/call"), site.told("resources/read")), (1, 1));
            let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
            client.have_said(&[changed]);
            // On routes to several servers, only a real change of a listed list is announced.
            if site.route.is_to_one() {
                client.told("notifications/tools/list_changed");
            }
        },
    );
}
