//! A modern client on every route to a server, at the first and the second start: the routes of `isolation::routes` for
//! clients without a handshake.

use crate::aggregate::servers::Servers;
use crate::isolation::routes::{self, Reach, Route, SERVER, ShownBy, Site};
use serde_json::{Value, json};
use switchboard_testkit::client::Client;
use switchboard_testkit::http::{self, Reply, Wire};
use switchboard_testkit::message::{self, Profile};

/// Options of a fake server that speaks this era only, and whose lists are for everybody unless its offer says otherwise.
const ERA: [&str; 4] = ["--era", "modern", "--cache-scope", "public"];

/// Runs a check on every route, at the first and the second start.
pub(super) fn on_every_route(servers: impl Fn() -> Servers + Sync, check: impl Fn(&mut Site) + Sync) {
    on_routes(&Route::ALL.map(|route| (route, ())), servers, |site, ()| check(site));
}

/// The same on some routes, each with a value for the check.
pub(super) fn on_routes<W: Copy + std::fmt::Debug + Sync>(
    ways: &[(Route, W)],
    servers: impl Fn() -> Servers + Sync,
    check: impl Fn(&mut Site, W) + Sync,
) {
    routes::on_routes(ways, |(route, way), visit| {
        let ask = |site: &Site, route: Route| {
            let mut guest = Guest::on(site, route, json!({}), (None, None));
            guest.names("tools");
            guest
        };
        check(&mut Site::with(*route, visit, servers(), ask), *way);
    });
}

/// The server `s` with these keys and this offer, behind a gate, beside another server with other names.
pub(super) fn servers(keys: Value, offer: &str) -> Servers {
    let servers = beside(Servers::none(), "other", r#"{ "tools": [{ "name": "else" }] }"#);
    gated(servers, keys, offer).with("profiles", json!({ "only": [SERVER] }))
}

/// Adds a modern server with this offer.
pub(super) fn beside(servers: Servers, name: &str, offer: &str) -> Servers {
    let path = servers.offers(name, offer).display().to_string();
    servers.and(name, json!({}), &[&["--offer", &path], &ERA[..]].concat())
}

/// Adds the server `s` behind the gate of [`Site`].
pub(super) fn gated(servers: Servers, keys: Value, offer: &str) -> Servers {
    let (path, gate) = (servers.offers(SERVER, offer), servers.path("gate"));
    let (path, gate) = (path.display().to_string(), gate.display().to_string());
    servers.and(SERVER, keys, &[&["--offer", &path, "--gate", &gate], &ERA[..]].concat())
}

pub(super) struct Guest {
    pub(super) route: Route,
    line: Line,
    /// A token that each request shows.
    token: Option<String>,
    /// Answers so far.
    pub(super) received: Vec<Value>,
}

enum Line {
    Pipe(Box<Client>, Profile),
    Web(http::Modern),
}

/// A request whose answer is not awaited.
pub(super) enum Asked {
    Pipe(u64),
    Web(Wire),
}

/// An open subscription.
pub(super) enum Listening {
    Pipe(u64),
    Web(Reply),
}

impl Guest {
    #[track_caller]
    pub(super) fn open(site: &Site) -> Self {
        Self::declaring(site, json!({}))
    }

    #[track_caller]
    pub(super) fn declaring(site: &Site, capabilities: Value) -> Self {
        Self::on(site, site.route, capabilities, (None, None))
    }

    /// The owner. Paths with a profile need one that there is.
    #[track_caller]
    pub(super) fn open_owner(site: &Site) -> Self {
        Self::with(site, (site.route == Route::HttpProfile).then_some("open"), None)
    }

    /// With the rights of a profile or a token.
    #[track_caller]
    pub(super) fn with(site: &Site, profile: Option<&str>, token: Option<ShownBy<'_>>) -> Self {
        Self::on(site, site.route, json!({}), (profile, token))
    }

    #[track_caller]
    fn on(
        site: &Site,
        route: Route,
        capabilities: Value,
        (profile, token): (Option<&str>, Option<ShownBy<'_>>),
    ) -> Self {
        let (line, token) = match site.reach(route, profile, token) {
            Reach::Web { web, path } => {
                (Line::Web(http::Modern::at(&web, &path).declaring(capabilities)), None)
            }
            Reach::Window(start) => {
                let shown = match token {
                    Some(ShownBy::Meta(token)) => Some(token.to_owned()),
                    Some(ShownBy::Variable(_)) | None => None,
                };
                (Line::Pipe(Box::new(start.start()), Profile::declaring(capabilities)), shown)
            }
        };
        Self { route, line, token, received: Vec::new() }
    }

    /// Sends a request; returns the whole answer, `result` or `error`.
    #[track_caller]
    pub(super) fn request(&mut self, method: &str, mut params: Value) -> Value {
        if let Some(token) = &self.token {
            params["_meta"]["switchboard/authToken"] = json!(token);
        }
        let answer = match &mut self.line {
            Line::Pipe(client, profile) => client.request(method, profile.dress(params)),
            Line::Web(modern) => modern.request(method, params),
        };
        self.received.push(answer.clone());
        answer
    }

    /// Wants log messages of this level with each request from now on.
    pub(super) fn want_logs(&mut self, level: &str) {
        let profile = match &mut self.line {
            Line::Pipe(_, profile) => profile,
            Line::Web(modern) => &mut modern.profile,
        };
        profile.log_level = Some(level.to_owned());
    }

    /// Begins a call of a tool by the server's own name.
    #[track_caller]
    pub(super) fn begin_call(&mut self, tool: &str, arguments: Value) -> Asked {
        let params = json!({ "name": self.route.tool(tool), "arguments": arguments });
        match &mut self.line {
            Line::Pipe(client, profile) => Asked::Pipe(client.ask("tools/call", profile.dress(params))),
            Line::Web(modern) => Asked::Web(modern.say(&modern.message("tools/call", params).1).begin()),
        }
    }

    /// All messages with a request, up to its answer. Over a pipe also those without one.
    #[track_caller]
    pub(super) fn messages_of(&mut self, asked: Asked) -> Vec<Value> {
        let mut messages = Vec::new();
        let is_over = |messages: &[Value]| messages.last().is_some_and(|last| last.get("method").is_none());
        match (&mut self.line, asked) {
            (Line::Pipe(client, _), Asked::Pipe(id)) => {
                while !is_over(&messages) {
                    messages.push(client.recv_json());
                }
                assert_eq!(messages.last().unwrap()["id"], id, "{messages:?}");
            }
            (_, Asked::Web(wire)) => {
                let mut reply = Reply::read(wire).unwrap();
                if !reply.is_stream() {
                    return vec![reply.json()];
                }
                while !is_over(&messages) {
                    messages.push(reply.message().unwrap());
                }
            }
            (Line::Web(_), Asked::Pipe(_)) => panic!("a request of another client"),
        }
        messages
    }

    /// Calls a tool by the server's own name.
    #[track_caller]
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": self.route.tool(tool), "arguments": arguments }))
    }

    /// Reads a resource by the server's own URI.
    #[track_caller]
    pub(super) fn read(&mut self, uri: &str) -> Value {
        self.request("resources/read", json!({ "uri": self.route.uri(uri) }))
    }

    /// The items on all pages of a list: `tools`, `prompts`, `resources` or `resourceTemplates`.
    #[track_caller]
    pub(super) fn items(&mut self, list: &str) -> Vec<Value> {
        let method = match list {
            "resourceTemplates" => "resources/templates/list".to_owned(),
            other => format!("{other}/list"),
        };
        let (mut items, mut params) = (Vec::new(), json!({}));
        loop {
            let answer = self.request(&method, params);
            let Some(page) = answer["result"][list].as_array() else { panic!("no list: {answer}") };
            items.extend(page.iter().cloned());
            match &answer["result"]["nextCursor"] {
                Value::Null => return items,
                cursor => params = json!({ "cursor": cursor }),
            }
        }
    }

    /// The names, URIs or templates of a list.
    #[track_caller]
    pub(super) fn listed(&mut self, list: &str) -> Vec<String> {
        let member = match list {
            "resourceTemplates" => "uriTemplate",
            "resources" => "uri",
            _ => "name",
        };
        self.items(list).into_iter().map(|item| item[member].as_str().unwrap().to_owned()).collect()
    }

    /// The items of the server under test in a list.
    #[track_caller]
    pub(super) fn names(&mut self, list: &str) -> Vec<String> {
        let prefix = match list {
            "tools" | "prompts" => self.route.tool(""),
            _ => String::new(),
        };
        self.listed(list).into_iter().filter(|name| name.starts_with(&prefix)).collect()
    }

    /// Opens a subscription. Returns the refusal, or what the server agreed to.
    #[track_caller]
    pub(super) fn listen(&mut self, wishes: Value) -> Result<(Listening, Value), Value> {
        let params = json!({ "notifications": wishes });
        let (listening, first) = match &mut self.line {
            Line::Pipe(client, profile) => {
                let id = client.ask("subscriptions/listen", profile.dress(params));
                let is_it = |value: &Value| value["id"] == id || *message::subscription(value) == id;
                (Listening::Pipe(id), client.recv_where("an acknowledgement", is_it))
            }
            Line::Web(modern) => {
                let (_, mut reply) = modern.begin("subscriptions/listen", params);
                let first = if reply.is_stream() { reply.message().unwrap() } else { reply.json() };
                (Listening::Web(reply), first)
            }
        };
        if first.get("error").is_some() {
            return Err(first);
        }
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
        Ok((listening, first["params"]["notifications"].clone()))
    }

    /// The next message of a subscription.
    #[track_caller]
    pub(super) fn hear(&mut self, listening: &mut Listening) -> Value {
        match (&mut self.line, listening) {
            (Line::Pipe(client, _), Listening::Pipe(id)) => {
                let is_it = |value: &Value| value["id"] == *id || *message::subscription(value) == *id;
                client.recv_where("a message of the subscription", is_it)
            }
            (_, Listening::Web(reply)) => reply.message().unwrap(),
            (Line::Web(_), Listening::Pipe(_)) => panic!("a subscription of another client"),
        }
    }
}
