//! Settings of a story: `given WORD VALUE; WORD VALUE`. A word is named after its field, and concerns the first server
//! until `server NUMBER` names another.

use super::events::rights;
use bytes::Bytes;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::access::{
    Asks, AuditPolicy, AuditedClients, CallLimits, IdentityLimits, NewLimiter, Rate, ServerLimits,
};
use switchboard_core::catalogue::{Digest, Filter, List, Listing, NameStyle, Naming, Offer, OfferKey};
use switchboard_core::environment::{Source, Variable};
use switchboard_core::pins::{Pin, Pinning, Pins, Sight};
use switchboard_core::redact::Secrets;
use switchboard_core::{
    Aggregates, Capabilities, ClientEra, Environment, EraChoice, FramingChoice, Limits, OnTimeout, Pool,
    RetryAfterCrash, Roots, Scope, ScopeReason, ServerSettings, Settings, Slow, StatePolicy,
};
use switchboard_protocol::dialect::LearntDialect;
use switchboard_protocol::{Dialect, Era, Framing};

/// The kind of client that all clients are, unless a story says otherwise.
const PROFILE: &str = r#""v" {}"#;

/// Defaults, with one server named `files`.
pub(crate) fn settings() -> Settings {
    Settings {
        servers: vec![ServerSettings::new("files")],
        pool: Pool::default(),
        roots: Roots::default(),
        dialect: LearntDialect::Open,
        client_era: ClientEra::Auto,
        shutdown_grace: Duration::from_secs(5),
        limits: Limits::default(),
        identity_limits: IdentityLimits::default(),
        limiter: NewLimiter::default(),
        linger: None,
        aggregates: Aggregates::default(),
        profiles: Vec::new(),
        stays: false,
        first_question: 1,
        state_key: Default::default(),
        started: std::time::UNIX_EPOCH,
        seed: 1,
        authenticator: std::sync::Arc::new(switchboard_core::access::NoTokens),
        report_routes: false,
        audit: AuditPolicy::default(),
        secrets: Secrets::NONE,
    }
}

pub(super) fn apply(settings: &mut Settings, line: &str) {
    let mut at = 0;
    for part in line.trim_start_matches("given ").split("; ") {
        let (word, value) = part.split_once(' ').unwrap_or((part, ""));
        let number = || value.parse::<usize>().expect("a number");
        let Settings { servers, pool, limits, .. } = settings;
        let server = &mut servers[at];
        match word {
            "server" => at = number(),
            "servers" => {
                let framing = server.framing;
                let more =
                    value.split(' ').map(|name| ServerSettings { framing, ..ServerSettings::new(name) });
                servers.extend(more);
            }
            "profile" => {
                let (name, text) = value.split_once(' ').expect("a name and rights");
                settings.profiles.push((name.to_owned(), rights(text).into()));
            }
            "audit" => settings.audit.clients = audited(value),
            "audit.arguments" => settings.audit.arguments = true,
            "secret" => settings.secrets = settings.secrets.with([value.to_owned()]),
            "linger" => settings.linger = Some(duration(value)),
            "stays" => settings.stays = true,
            "client_era" => settings.client_era = ClientEra::Legacy,
            "bare" => settings.dialect = LearntDialect::Fixed(Dialect::Bare),
            "no_fallback" => settings.roots.policy.fallback = false,
            "page_size" => settings.aggregates.page_size = Some(number()),
            "pool.max_backends" => pool.max_backends = number(),
            "pool.max_list_starts" => pool.max_list_starts = number(),
            "pool.memory_limit" => pool.memory_limit = Some(number() as u64),
            "pool.is_memory_limit_given" => pool.is_memory_limit_given = true,
            "subscriptions_per_client" => limits.subscriptions_per_client = number(),
            "subscription_bytes" => limits.subscription_bytes = number(),
            "client_bytes" => limits.client_bytes = number(),
            "backend_bytes" => limits.backend_bytes = number(),
            "pending_per_client" => limits.pending_per_client = number(),
            "asked_per_backend" => limits.asked_per_backend = number(),
            "identity_limits" => settings.identity_limits.limits = call_limits(value),
            "include_owner" => settings.identity_limits.include_owner = true,
            _ => apply_to_server(server, word, value),
        }
    }
}

pub(super) fn audited(clients: &str) -> AuditedClients {
    match clients {
        "none" => AuditedClients::None,
        "remote" => AuditedClients::Remote,
        "all" => AuditedClients::All,
        other => panic!("unknown clients: {other}"),
    }
}

fn apply_to_server(server: &mut ServerSettings, word: &str, value: &str) {
    let number = || value.parse::<usize>().expect("a number");
    match (word, value) {
        ("shared", _) => server.capabilities = Capabilities::Shared,
        ("exact", _) => server.capabilities = Capabilities::Exact,
        ("scope", "client") => server.scope = Scope::Client,
        ("scope", "global") => server.scope = Scope::Global,
        ("scope", "root") => server.scope = Scope::Root,
        ("known_package", _) => server.scope_reason = ScopeReason::KnownPackage(value.into()),
        ("state", "auto") => server.state = StatePolicy::Auto,
        ("state", "backend") => server.state = StatePolicy::Backend,
        ("splits", _) => server.splits = true,
        ("needs_root", _) => server.needs_root = true,
        ("launch_uses_root", _) => server.launch_uses_root = true,
        ("era", "modern") => server.era = EraChoice::Fixed(Era::Modern),
        ("era", "legacy") => server.era = EraChoice::Fixed(Era::Legacy),
        ("remote", "") => server.is_remote = true,
        ("framing", "newline") => server.framing = FramingChoice::Fixed(Framing::Newline),
        ("dialect", "bare") => server.dialect = Dialect::Bare,
        ("relays", _) => server.relays = true,
        ("refusal_mark", _) => server.refusal_mark = Some(value.into()),
        ("unlisted", _) => server.is_listed = false,
        ("on_timeout", "keep") => server.on_timeout = OnTimeout::Keep,
        ("on_timeout", "restart") => server.on_timeout = OnTimeout::Restart,
        ("retry_after_crash", "off") => server.retry_after_crash = RetryAfterCrash::Off,
        ("asks_roots", _) => server.record.asks_roots = true,
        ("asks_questions", _) => server.record.asks_questions = true,
        ("max_backends", _) => server.max_backends = number(),
        ("max_in_flight", _) => server.max_in_flight = number(),
        ("max_queue", _) => server.max_queue = number(),
        ("memory_limit", _) => server.memory_limit = Some(number() as u64),
        ("timeout", _) => server.timeout = duration(value),
        ("hard_timeout", _) => server.hard_timeout = Some(duration(value)),
        ("input_timeout", _) => server.input_timeout = duration(value),
        ("start_timeout", _) => server.start_timeout = duration(value),
        ("idle_ttl", _) => server.idle_ttl = Some(duration(value)),
        ("health", _) => server.health = Some(duration(value)),
        ("debounce", _) => {
            let (method, window) = value.split_once(' ').expect("a method and a time");
            server.debounce.push((method.into(), duration(window)));
        }
        ("slow", _) => {
            let (tries, retry_in) = value.split_once(' ').expect("a number and a time");
            let tries = tries.parse().expect("a number");
            server.record.slow = Some(Slow { tries, retry_in: duration(retry_in) });
        }
        ("allow" | "deny" | "rename", _) => apply_to_names(server, word, value),
        ("plain", _) => server.naming = Naming::new(&server.name, NameStyle::Plain).into(),
        ("denies", _) => {
            let allows = |kind| !value.contains(kind);
            let (sampling, elicitation) = (allows("sampling"), allows("elicitation"));
            server.asks = Asks { sampling, elicitation, roots: allows("roots") };
        }
        ("call_limits", _) => {
            server.call_limits = Some(server_limits(server, |it| it.all = call_limits(value)))
        }
        // `tool_limits create_* 5/min burst 2`
        ("tool_limits", _) => {
            let (pattern, limits) = value.split_once(' ').expect("a pattern and limits");
            let tool = (pattern.to_owned(), call_limits(limits));
            server.call_limits = Some(server_limits(server, |it| it.tools.push(tool)));
        }
        ("stores_lists", _) => server.stores_lists = true,
        // `stored read write`, `stored read for another kind`, `stored read at /p`: tools from an earlier run. After
        // `plain`, if both are given.
        ("stored", _) => {
            let (tools, key) = offer_key(value);
            let tools: Vec<String> = tools.split(' ').map(|name| format!(r#"{{"name":"{name}"}}"#)).collect();
            let page = Bytes::from(format!(r#"{{"tools":[{}]}}"#, tools.join(",")));
            let tools = Listing::read(List::Tools, &[page], &server.naming).expect("a list");
            let welcome: &[u8] = match key.is_modern() {
                true => br#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#,
                false => br#"{"serverInfo":"stored","capabilities":{"tools":{}}}"#,
            };
            let welcome = Bytes::from_static(welcome);
            server.stores_lists = true;
            server.offers.push((key, Arc::new(Offer::new(welcome).with(Arc::new(tools))).into()));
        }
        // `approved read !write`: definitions from an earlier run, one of which has changed since. Before `pinning`,
        // which comes before `stored`.
        ("approved", _) => server.pins = Pins::new(value.split(' ').map(pin), false),
        ("pins_lost", _) => server.pins = Pins::lost(),
        ("pinning", _) => {
            let pinning = if value == "hold" { Pinning::Hold } else { Pinning::Warn };
            *server = server.clone().with_pins(pinning, server.pins.clone());
        }
        // `stored_capabilities {}`: an answer to `initialize` without lists.
        ("stored_capabilities", _) => {
            let (capabilities, key) = offer_key(value);
            let welcome = Bytes::from(format!(r#"{{"capabilities":{capabilities}}}"#));
            server.offers.push((key, Arc::new(Offer::new(welcome)).into()));
        }
        _ => panic!("unknown setting: {word} {value}"),
    }
}

/// `5/min burst 2 concurrent 1`, or a part of it.
pub(super) fn call_limits(text: &str) -> CallLimits {
    let words: Vec<&str> = text.split(' ').collect();
    let after = |word: &str| {
        let at = words.iter().position(|other| *other == word)?;
        NonZeroU32::new(words[at + 1].parse().expect("a number"))
    };
    let rate = Rate::parse(words[0]);
    let burst = after("burst");
    let rate = rate.map(|rate| burst.map_or(rate, |burst| rate.with_burst(burst)));
    CallLimits { rate, concurrent: after("concurrent") }
}

fn server_limits(server: &ServerSettings, change: impl FnOnce(&mut ServerLimits)) -> Arc<ServerLimits> {
    let mut limits = server.call_limits.as_deref().cloned().unwrap_or_default();
    change(&mut limits);
    limits.into()
}

fn pin(word: &str) -> (Arc<str>, Pin) {
    let (name, is_changed) = word.strip_prefix('!').map_or((word, false), |name| (name, true));
    let digest = |text: String| Digest::of_json(text.as_bytes());
    let changed = is_changed.then(|| digest(format!(r#"{{"name":"{name}","description":"other"}}"#)));
    let approved = vec![digest(format!(r#"{{"name":"{name}"}}"#))];
    (name.into(), Pin::new(approved, vec![Sight::of(PROFILE)], changed.into_iter().collect()))
}

/// Filters of tools, prompts and resources; resources have no other names.
fn apply_to_names(server: &mut ServerSettings, word: &str, value: &str) {
    let mut naming = (*server.naming).clone();
    let change = |filter: &mut Filter, renames: bool| {
        let names = value.split(' ').map(str::to_owned);
        match word {
            "allow" => filter.allow = names.collect(),
            "deny" => filter.deny = names.collect(),
            _ if renames => filter.rename.extend(value.split_once(' ').map(|(a, b)| (a.into(), b.into()))),
            _ => {}
        }
    };
    change(&mut naming.tools, true);
    change(&mut naming.prompts, true);
    change(&mut naming.resources, false);
    server.naming = naming.into();
}

fn offer_key(value: &str) -> (&str, OfferKey) {
    if let Some((before, profile)) = value.split_once(" for ") {
        return (before, OfferKey::anywhere(profile));
    }
    match value.split_once(" at ") {
        Some((before, root)) => (before, OfferKey { root: Some(root.into()), ..OfferKey::anywhere(PROFILE) }),
        None => (value, OfferKey::anywhere(PROFILE)),
    }
}

/// `A=1 B=2`: variables that every server gets. `2`: a variable that the server's entry names, with that value.
pub(super) fn environment(text: &str) -> Environment {
    let variable = |name: &str, value: &str| Variable { name: name.into(), value: [value.as_bytes()[0]; 16] };
    let source = Some(Source::new(Arc::new(text.to_owned())));
    match text.contains('=') {
        true => {
            let pairs = text.split(' ').filter_map(|pair| pair.split_once('='));
            let common = pairs.map(|(name, value)| variable(name, value)).collect();
            Environment::new(Arc::default(), common, source)
        }
        false => Environment::new([variable("N", text)].into(), Arc::default(), source),
    }
}

/// `5s`, `0.1s`, `100ms`, `10min`.
pub(super) fn duration(text: &str) -> Duration {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().expect("a number and a unit");
    let unit = match &text[end..] {
        "ms" => 0.001,
        "s" => 1.0,
        "min" => 60.0,
        unit => panic!("unknown unit of time: {unit}"),
    };
    Duration::from_secs_f64(number * unit)
}
