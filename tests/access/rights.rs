//! Rights: each kind of right on every route, in lists and in calls, at the first start and from the stored
//! catalogue. What a client may not use appears nowhere in what it receives, and never reaches the server. The checks are
//! functions of how the servers are made, for `modern::legacy_rules`.

use super::token::create;
use crate::aggregate::servers::Servers;
use crate::daemon::house::House;
use crate::isolation::routes::{self, Guest, Route, SERVER, ShownBy, Site, wrapped};
use crate::support::error;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::OnceLock;
use switchboard_testkit::patience;

/// How a client gets restricted rights on a route.
pub(crate) type Open = fn(&Site, &str) -> Guest;
pub(crate) type Way = (Route, Open);

/// Makes servers with these rights: [`with_rights`].
pub(crate) type Make = fn() -> Servers;

pub(crate) const PROFILES: &[Way] = &[
    (Route::WindowOne, Site::open_profile),
    (Route::WindowAll, Site::open_profile),
    (Route::SoloOne, Site::open_profile),
    (Route::SoloAll, Site::open_profile),
    (Route::HttpProfile, Site::open_profile),
];
/// Tokens over HTTP, and with the rights of a profile on every kind of route.
pub(crate) const TOKENS: &[Way] = &[
    (Route::HttpOne, by_token),
    (Route::HttpAll, by_token),
    (Route::HttpProfile, by_token),
    (Route::HttpAll, by_profile_of_token),
    (Route::WindowAll, by_profile_of_token),
    (Route::SoloOne, by_profile_of_token),
];
pub(crate) const VARIABLES: &[Way] = &[
    (Route::WindowOne, by_token),
    (Route::WindowAll, by_token),
    (Route::SoloOne, by_token),
    (Route::SoloAll, by_token),
];
pub(crate) const MESSAGES: &[Way] = &[
    (Route::WindowOne, by_meta),
    (Route::WindowAll, by_meta),
    (Route::SoloOne, by_meta),
    (Route::SoloAll, by_meta),
];

/// A token with these rights, in a header or in the window's variable.
fn by_token(site: &Site, kind: &str) -> Guest {
    site.open_token(ShownBy::Variable(&tokens().of(kind)), path_profile(site))
}

/// The same in the window's first message.
fn by_meta(site: &Site, kind: &str) -> Guest {
    site.open_token(ShownBy::Meta(&tokens().of(kind)), path_profile(site))
}

/// A token whose profile has these rights.
fn by_profile_of_token(site: &Site, kind: &str) -> Guest {
    site.open_token(ShownBy::Variable(&tokens().of(&format!("profile-{kind}"))), path_profile(site))
}

/// The path of a profile that excludes nothing: the rights are those of the token.
fn path_profile(site: &Site) -> Option<&'static str> {
    (site.route == Route::HttpProfile).then_some("open")
}

/// The kinds of rights; each is also the name of a profile that excludes something of this kind.
pub(crate) const KINDS: [&str; 5] = ["servers", "tools", "prompts", "resources", "methods"];

/// The server that is hidden by the profile `servers`.
pub(crate) const QUARRY: &str = "quarry";

pub(crate) const QUARRY_OFFER: &str = r#"{
    "instructions": "how to use the quarry",
    "tools": [{ "name": "dig" }], "prompts": [{ "name": "plan" }], "resources": [{ "name": "r", "uri": "doc://open/quarry" }]
}"#;

/// Hidden items contain `canary`; only the profile of their own kind hides them.
pub(crate) const OFFER: &str = r#"{
    "capabilities": { "tools": {}, "prompts": {}, "resources": { "subscribe": true }, "completions": {}, "logging": {} },
    "tools": [{ "name": "change" }, { "name": "canary_tool" }, { "name": "echo" }],
    "prompts": [{ "name": "canary_prompt" }, { "name": "welcome" }],
    "resources": [{ "name": "a", "uri": "doc://open/1" }, { "name": "c", "uri": "doc://canary/1" }],
    "resourceTemplates": [{ "name": "t", "uriTemplate": "doc://open/{id}" }, { "name": "u", "uriTemplate": "doc://canary/{id}" }],
    "pageSize": 1
}"#;

fn profiles() -> Value {
    json!({
        "open": {},
        "servers": [SERVER],
        "tools": { "tools": { "deny": ["canary_*"] } },
        "prompts": { "prompts": ["welcome", "quarry__plan"] },
        "resources": { "resources": ["doc://open/*"] },
        "methods": { "methods": { "deny": [
            "tools/call", "prompts/get", "resources/read", "resources/subscribe", "completion/*", "tasks/*", "odd/*",
        ] } },
    })
}

/// Tokens with the rights of `profiles`, one for each kind of right, and one for each profile.
pub(crate) struct Tokens {
    file: String,
    words: Vec<(String, String)>,
}

impl Tokens {
    pub(crate) fn of(&self, name: &str) -> String {
        self.words.iter().find(|(known, _)| known == name).unwrap().1.clone()
    }
}

/// Made once, and copied to each home.
pub(crate) fn tokens() -> &'static Tokens {
    static TOKENS: OnceLock<Tokens> = OnceLock::new();
    TOKENS.get_or_init(|| {
        let house = House::new();
        let methods =
            "!tools/call,!prompts/get,!resources/read,!resources/subscribe,!completion/*,!tasks/*,!odd/*";
        let patterns = [SERVER, "!canary_*", "welcome,quarry__plan", "doc://open/*", methods];
        let mut words = Vec::new();
        for (kind, pattern) in KINDS.into_iter().zip(patterns) {
            let (flag, of_profile) = (format!("--{kind}"), format!("profile-{kind}"));
            words.push((kind.to_owned(), create(&house, &[kind, &flag, pattern])));
            words.push((of_profile.clone(), create(&house, &[&of_profile, "--profile", kind])));
        }
        Tokens { file: fs::read_to_string(house.state("tokens.json")).unwrap(), words }
    })
}

fn servers() -> Servers {
    let servers = Servers::none().and_offer(QUARRY, json!({}), QUARRY_OFFER);
    let (path, gate) = (servers.offers(SERVER, OFFER), servers.path("gate"));
    let options = ["--offer", &path.display().to_string(), "--gate", &gate.display().to_string()];
    with_rights(servers.and(SERVER, json!({}), &options))
}

/// Adds the profiles and the tokens.
pub(crate) fn with_rights(servers: Servers) -> Servers {
    with_tokens(servers.with("profiles", profiles()), &tokens().file)
}

/// Adds the tokens in a file of another home.
pub(crate) fn with_tokens(servers: Servers, tokens: &str) -> Servers {
    let file = servers.state("tokens.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, tokens).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    servers
}

/// Runs a check on routes with rights, at the first and the second start.
fn on_routes(ways: &[Way], servers: Make, check: impl Fn(&mut Site, Open) + Sync) {
    routes::on_routes(ways, |(route, open), visit| check(&mut Site::new(*route, visit, servers()), *open));
}

/// The items of the server `s` in a list that a kind of right leaves.
fn left(kind: &str, list: &str) -> Vec<&'static str> {
    let all: &[&str] = match list {
        "tools" => &["change", "canary_tool", "echo"],
        "prompts" => &["canary_prompt", "welcome"],
        "resources" => &["doc://open/1", "doc://canary/1"],
        _ => &["doc://open/{id}", "doc://canary/{id}"],
    };
    let is_left = |item: &&str| match kind {
        "methods" => false,
        "servers" => true,
        _ => !list.starts_with(&kind[..4]) || !item.contains("canary"),
    };
    all.iter().copied().filter(is_left).collect()
}

/// All items in a list that a kind of right leaves, as a client sees them.
pub(crate) fn expected(route: Route, kind: &str, list: &str) -> Vec<String> {
    let quarry = match list {
        _ if route.is_to_one() || kind == "servers" || kind == "methods" => None,
        "tools" => Some(format!("{QUARRY}__dig")),
        "prompts" => Some(format!("{QUARRY}__plan")),
        "resources" => Some(wrapped(QUARRY, "doc://open/quarry")),
        _ => None,
    };
    let own = left(kind, list).into_iter().map(|item| match list {
        "tools" | "prompts" => route.tool(item),
        "resources" => route.uri(item),
        _ => route.template(item),
    });
    quarry.into_iter().chain(own).collect()
}

#[track_caller]
fn check_lists(client: &mut Guest, kind: &str) {
    for (list, member) in
        [("tools", "name"), ("prompts", "name"), ("resources", "uri"), ("resourceTemplates", "uriTemplate")]
    {
        let items = client.items(list).into_iter().map(|item| item[member].as_str().unwrap().to_owned());
        let items: Vec<String> = items.collect();
        assert_eq!(items, expected(client.route, kind, list), "{kind}, {list}");
    }
}

/// Requests about an item that a kind of right excludes. `word` is `canary` for one that exists.
pub(crate) fn probes(route: Route, kind: &str, word: &str) -> Vec<(&'static str, Value)> {
    let complete = |reference: Value| json!({ "ref": reference, "argument": { "name": "a", "value": "" } });
    let name = |name: String| json!({ "name": name, "arguments": {} });
    let uri = |uri: &str| json!({ "uri": uri });
    match kind {
        "tools" => {
            let tool = route.tool(&format!("{word}_tool"));
            let mut as_task = name(tool.clone());
            as_task["task"] = json!({ "ttl": 1000 });
            vec![("tools/call", name(tool.clone())), ("tools/call", as_task), ("Tools/Call", name(tool))]
        }
        "prompts" => {
            let prompt = route.tool(&format!("{word}_prompt"));
            let reference = json!({ "type": "ref/prompt", "name": prompt });
            vec![("prompts/get", name(prompt)), ("completion/complete", complete(reference))]
        }
        "resources" => {
            let own = format!("doc://{word}/1");
            let both = json!({ "type": "ref/prompt", "name": route.tool("welcome"), "uri": own });
            let template = route.template(&format!("doc://{word}/{{id}}"));
            vec![
                ("resources/read", uri(&own)),
                ("resources/read", uri(&route.uri(&own))),
                ("resources/read", uri(&route.template(&own))),
                ("resources/read", uri(&route.template(&format!("doc://open/../{word}/1")))),
                ("resources/subscribe", uri(&route.uri(&own))),
                ("resources/unsubscribe", uri(&route.uri(&own))),
                ("completion/complete", complete(json!({ "type": "ref/resource", "uri": template }))),
                ("completion/complete", complete(both)),
            ]
        }
        "servers" if !route.is_to_one() => {
            let server = if word == "canary" { QUARRY } else { word };
            let (tool, prompt) = (format!("{server}__dig"), format!("{server}__plan"));
            let reference = json!({ "type": "ref/prompt", "name": prompt });
            vec![
                ("tools/call", name(tool)),
                ("prompts/get", name(prompt)),
                ("completion/complete", complete(reference)),
            ]
        }
        "methods" => vec![
            ("tools/call", name(route.tool(&format!("{word}_tool")))),
            ("TOOLS/call", name(route.tool(&format!("{word}_tool")))),
            ("prompts/get", name(route.tool("welcome"))),
            ("resources/read", uri(&route.uri(&format!("doc://{word}/1")))),
            ("resources/subscribe", uri(&route.uri("doc://open/1"))),
            ("completion/complete", complete(json!({ "type": "ref/prompt", "name": route.tool("welcome") }))),
            ("tasks/list", json!({})),
            ("tasks/result", json!({ "taskId": "t" })),
            ("odd/method", json!({})),
        ],
        _ => Vec::new(),
    }
}

/// An error without what the client itself said.
pub(crate) fn impersonal(answer: &Value, word: &str) -> String {
    let server = if word == "canary" { QUARRY } else { word };
    let text = answer["error"].to_string().replace(&format!("{server}__"), "WORD__");
    let text = ["canary", "absent"].iter().fold(text, |text, word| text.replace(word, "WORD"));
    // Wrapped URIs contain the word as base64.
    let start = text.find("proxy://resource/").map_or(text.len(), |at| at + "proxy://resource/".len());
    let end = text[start..].find('`').map_or(text.len(), |at| start + at);
    text[..start].to_owned() + &text[end..]
}

#[track_caller]
fn check_requests(client: &mut Guest, kind: &str) {
    let route = client.route;
    let existing = probes(route, kind, "canary");
    for ((method, real), (_, made_up)) in existing.into_iter().zip(probes(route, kind, "absent")) {
        // Names that the right excludes, whether they exist or not.
        let made_up =
            if kind == "tools" { json_replaced(&made_up, "absent", "canary_absent") } else { made_up };
        let (hidden, absent) = (client.request(method, real), client.request(method, made_up));
        let is_known_method = method.chars().all(|c| !c.is_ascii_uppercase());
        if is_known_method {
            error(&hidden, -32603, "forbidden");
        }
        assert!(hidden.get("error").is_some(), "{kind}, {method}: {hidden}");
        let absent = impersonal(&absent, "absent").replace("WORD_WORD", "WORD");
        assert_eq!(impersonal(&hidden, "canary"), absent, "{kind}, {method}: existence shows");
    }
}

pub(crate) fn json_replaced(value: &Value, from: &str, to: &str) -> Value {
    serde_json::from_str(&value.to_string().replace(from, to)).unwrap()
}

/// What is not excluded works as usual.
#[track_caller]
fn check_allowed(client: &mut Guest, kind: &str) {
    let route = client.route;
    let complete = json!({
        "ref": { "type": "ref/prompt", "name": route.tool("welcome") }, "argument": { "name": "a", "value": "" },
    });
    let requests = [
        ("tools/call", json!({ "name": route.tool("echo"), "arguments": {} })),
        ("prompts/get", json!({ "name": route.tool("welcome") })),
        ("resources/read", json!({ "uri": route.uri("doc://open/1") })),
        ("resources/read", json!({ "uri": route.template("doc://open/7") })),
        ("resources/subscribe", json!({ "uri": route.uri("doc://open/1") })),
        ("completion/complete", complete),
    ];
    for (method, params) in requests.into_iter().filter(|_| kind != "methods") {
        let answer = client.request(method, params);
        assert!(answer.get("result").is_some(), "{kind}, {method}: {answer}");
    }
    for (method, params) in [("ping", json!({})), ("logging/setLevel", json!({ "level": "info" }))] {
        let answer = client.request(method, params);
        assert!(answer.get("result").is_some(), "{kind}, {method}: {answer}");
    }
}

/// Hidden words are in nothing that the client has received, except for what it said itself.
#[track_caller]
fn check_received(client: &mut Guest, kind: &str) {
    let words: &[&str] = match kind {
        "servers" => &[QUARRY],
        "tools" => &["canary_tool"],
        "prompts" => &["canary_prompt"],
        "resources" => &["doc://canary", "Y2FuYXJ5"],
        _ => &["canary_", "doc://", "welcome", "echo", "dig"],
    };
    for message in client.everything() {
        // The message of an error names what the client asked for.
        let text = match message.get("error") {
            Some(error) => error["data"].to_string(),
            None => message.to_string(),
        };
        for word in words {
            assert!(!text.contains(word), "{kind}: {word} in {text}");
        }
    }
}

/// The table: every kind of right, every method, every route, in lists and in calls.
/// `has_stored` is whether these clients are shown stored lists.
pub(crate) fn check_rights(ways: &[Way], servers: Make, has_stored: bool) {
    on_routes(ways, servers, |site, open| {
        if !has_stored {
            site.open_gate();
        }
        let mut clients: Vec<(&str, Guest)> = KINDS.iter().map(|kind| (*kind, open(site, kind))).collect();
        // At the second start, the lists come from the store.
        for (kind, client) in &mut clients {
            check_lists(client, kind);
        }
        site.open_gate();
        for (kind, client) in &mut clients {
            check_requests(client, kind);
            check_allowed(client, kind);
            // Again, from the server itself.
            check_lists(client, kind);
        }
        for (kind, client) in &mut clients {
            check_received(client, kind);
        }
        for word in ["canary", "absent", "odd/method", "tasks/"] {
            assert_eq!(site.told(word), 0, "{word}");
        }
    });
}

#[test]
fn rights_of_profiles_hold() {
    check_rights(PROFILES, servers, true);
}

#[test]
fn rights_of_tokens_hold() {
    check_rights(TOKENS, servers, true);
}

#[test]
fn rights_by_variable_hold() {
    check_rights(VARIABLES, servers, true);
}

#[test]
fn rights_by_message_hold() {
    check_rights(MESSAGES, servers, true);
}

/// A server announces a change of a hidden resource without being asked.
#[test]
fn hidden_resources_are_not_announced() {
    check_hidden_announcements(servers);
}

pub(crate) fn check_hidden_announcements(servers: Make) {
    on_routes(&[PROFILES, TOKENS, MESSAGES].concat(), servers, |site, open| {
        site.open_gate();
        let mut client = open(site, "resources");
        let uri = site.route.uri("doc://open/1");
        let answer = client.request("resources/subscribe", json!({ "uri": uri }));
        assert!(answer.get("result").is_some(), "{answer}");
        for uri in ["doc://canary/1", "doc://open/1"] {
            client.announce(json!({ "uri": uri, "unasked": true }));
        }
        assert_eq!(client.told("notifications/resources/updated")["params"]["uri"], uri);
    });
}

/// A reload changes the rights of connected clients, without a restart of the servers.
#[test]
fn reload_changes_rights() {
    check_reload(servers);
}

pub(crate) fn check_reload(servers: Make) {
    on_routes(PROFILES, servers, |site, open| {
        // Without a daemon, the config is read once.
        if matches!(site.route, Route::SoloOne | Route::SoloAll) {
            return;
        }
        site.open_gate();
        let mut client = open(site, "tools");
        check_lists(&mut client, "tools");
        assert!(client.call("echo", json!({})).get("result").is_some());
        let uri = site.route.uri("doc://canary/1");
        let answer = client.request("resources/subscribe", json!({ "uri": uri }));
        assert!(answer.get("result").is_some(), "{answer}");
        assert!(is_subscribed(site, "doc://canary/1"));
        let launches = site.servers.launches([SERVER]);
        // Everything that was hidden is visible, and something else is hidden.
        let mut changed = profiles();
        changed["tools"] = changed["resources"].clone();
        site.servers.set("profiles", changed);
        client.told("notifications/tools/list_changed");
        check_lists(&mut client, "resources");
        assert!(client.call("canary_tool", json!({})).get("result").is_some());
        error(&client.read("doc://canary/1"), -32603, "forbidden");
        patience::until_true("the subscription has ended", || !is_subscribed(site, "doc://canary/1"));
        // A profile that is removed allows nothing.
        site.servers.set("profiles", json!({ "only": [SERVER] }));
        patience::until_true("nothing is allowed", || {
            client.call("echo", json!({}))["error"]["data"]["kind"].is_string()
        });
        assert_eq!(site.servers.launches([SERVER]), launches, "no server is restarted");
    });
}

/// Whether the server's last request about subscriptions is for this resource. A modern server gets the whole list anew.
fn is_subscribed(site: &Site, uri: &str) -> bool {
    let lines = site.servers.record(SERVER).all_lines();
    let is_about = |line: &&String| line.contains("subscri") || line.contains("notifications/cancelled");
    lines.iter().rfind(is_about).is_some_and(|last| last.contains(uri) && !last.contains("unsubscribe"))
}
