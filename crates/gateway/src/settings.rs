//! From the user's config to the settings of the core and its clients, for one client in
//! one process and for the daemon.

use crate::config::{
    AuditClients, Capabilities, ClientEra, Config, Dialect, FilterConfig, Framing, Lookup, Names, OnTimeout,
    Pinning, PoolMemory, RetryAfterCrash, ServerConfig, ServerEra, StdioAccess, expand,
};
use crate::environments::Vars;
use crate::known;
use crate::paths;
use crate::scope;
use crate::secrets;
use crate::stores::Stores;
use crate::tokens::Secret;
use bytes::Bytes;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use switchboard_core::access::{
    AuditPolicy, AuditedClients, Front, NewLimiter, NoTokens, Proof, ServerLimits,
};
use switchboard_core::catalogue::{Filter, NameStyle, Naming, Offer, OfferKey, StoredOffer};
use switchboard_core::routing::Policy;
use switchboard_core::routing::path::Style;
use switchboard_core::{
    Aggregates, Environment, EraChoice, Fact, FramingChoice, Limits, Pool, Record, Roots, ServerSettings,
    Settings, StateKey, Surroundings,
};
use switchboard_process::machine;
use switchboard_protocol::dialect::LearntDialect;
use switchboard_protocol::{Era, ShownToken};

/// Workspaces that the command line and the config name, as canonical paths.
#[derive(Debug, Default, Clone)]
pub struct RootOptions {
    pub pinned: Option<PathBuf>,
    pub given: Vec<PathBuf>,
    pub default: Option<PathBuf>,
}

/// Surroundings of a client that started this process, and shares its own.
pub(crate) fn own_surroundings(roots: &RootOptions, proof: Proof) -> Surroundings {
    Surroundings {
        identity: Arc::default(),
        proof,
        profiles: Vec::new(),
        front: Front::Stdio,
        environment: Environment::default(),
        pinned: roots.pinned.as_deref().and_then(paths::canonical),
        given: roots.given.iter().filter_map(|root| paths::canonical(root)).collect(),
        default: roots.default.as_deref().and_then(paths::canonical),
        named: paths::of_environment(&|name| std::env::var_os(name)),
        working_folder: paths::working_folder(),
        goes_by_request: false,
        is_elsewhere: false,
        refusal_mark: None,
    }
}

/// How a client over stdio proves who it is: by its token, or as the config asks.
pub(crate) fn proof(token: Option<&Secret>, access: StdioAccess) -> Proof {
    match (token, access) {
        (Some(token), _) => Proof::Shown(ShownToken::Text(token.expose().to_owned())),
        (None, StdioAccess::Token) => Proof::Required,
        (None, StdioAccess::Open) => Proof::Optional,
    }
}

/// Settings of the core.
pub(crate) fn of_config(
    config: &Config,
    servers: &[ServerConfig],
    vars: &Vars,
    stores: &Stores,
    linger: Option<Duration>,
    report: &dyn Fn(Fact),
) -> Settings {
    let started = SystemTime::now();
    let time = started.duration_since(UNIX_EPOCH).unwrap_or_default();
    let stored = stores.shelf.load_all(servers);
    let server_settings = |(server, stored): (&ServerConfig, Vec<(OfferKey, Bytes)>)| {
        let settings = server_settings(server, &|name| vars.get(name), stores.launches.load(server));
        let settings = ServerSettings { naming: naming(config, server), ..settings };
        with_offers(with_pins(settings, server, stores, report), stored)
    };
    Settings {
        servers: servers.iter().zip(stored).map(server_settings).collect(),
        aggregates: aggregates(config),
        profiles: config.profiles.clone(),
        pool: pool(config),
        roots: Roots { home: paths::home(&|name| vars.get(name)), policy: policy(config) },
        dialect: learnt_dialect(config.dialect),
        client_era: client_era(config),
        shutdown_grace: config.shutdown_grace,
        limits: limits(config),
        identity_limits: config.limits,
        limiter: NewLimiter::default(),
        linger,
        stays: false,
        // Unique across daemons: each second of start time has a million ids of its own. All of them stay
        // below 2^53, which JavaScript represents exactly.
        first_question: linger.map_or(1, |_| (time.as_secs() & 0xFFFF_FFFF) << 20),
        state_key: state_key(),
        started,
        seed: time.as_nanos() as u64,
        authenticator: Arc::new(NoTokens),
        report_routes: false,
        audit: audit(config),
        secrets: secrets::known(),
    }
}

/// A new key in each process: what it seals is of no use to the next one.
fn state_key() -> StateKey {
    let mut key = [0; 32];
    getrandom::fill(&mut key).expect("every supported system has random numbers");
    StateKey(key)
}

/// Clients whose calls are recorded.
pub(crate) fn audit(config: &Config) -> AuditPolicy {
    let clients = match config.audit.clients {
        AuditClients::Remote => AuditedClients::Remote,
        AuditClients::All => AuditedClients::All,
        AuditClients::None => AuditedClients::None,
    };
    AuditPolicy { clients, arguments: config.audit.arguments }
}

pub(crate) fn aggregates(config: &Config) -> Aggregates {
    Aggregates {
        list_grace: config.list_grace,
        page_size: config.page_size,
        notifications: config.notifications.clone(),
    }
}

/// Limits on calls to a server; `None` if there are none.
pub(crate) fn call_limits(server: &ServerConfig) -> Option<Arc<ServerLimits>> {
    (!server.limits.is_open()).then(|| Arc::new(server.limits.clone()))
}

/// Names of a server's offers, and their filters.
pub(crate) fn naming(config: &Config, server: &ServerConfig) -> Arc<Naming> {
    let filter = |filter: &FilterConfig| Filter {
        allow: filter.allow.clone(),
        deny: filter.deny.clone(),
        rename: filter.rename.clone(),
        ..Filter::default()
    };
    Arc::new(Naming {
        server: server.name.clone(),
        style: match config.names {
            Names::Prefixed => NameStyle::Prefixed,
            Names::Plain => NameStyle::Plain,
        },
        tools: filter(&server.tools),
        prompts: filter(&server.prompts),
        resources: filter(&server.resources),
    })
}

/// Adds the approved definitions of its tools. Its naming, which they narrow, must be set.
pub(crate) fn with_pins(
    settings: ServerSettings,
    server: &ServerConfig,
    stores: &Stores,
    report: &dyn Fn(Fact),
) -> ServerSettings {
    let (pins, lost) = stores.pins.load(server);
    if let Some(lost) = lost {
        let are_held = server.pinning == Pinning::Hold;
        report(Fact::PinsLost { server: server.name.clone(), why: lost.to_string(), are_held });
    }
    settings.with_pins(pinning(server.pinning), pins)
}

/// Adds stored lists of earlier runs. Its pins must be set.
pub(crate) fn with_offers(settings: ServerSettings, stored: Vec<(OfferKey, Bytes)>) -> ServerSettings {
    let pins =
        (settings.pinning == switchboard_core::pins::Pinning::Hold).then(|| Arc::new(settings.pins.clone()));
    let stored_offer = |(key, bytes): (OfferKey, Bytes)| {
        let (naming, pins) = (settings.naming.clone(), pins.clone());
        // Earlier releases stored private lists for everybody.
        let must_be_public = key.is_modern() && key.principal.is_none();
        let passes = move |offer: &Offer| {
            // A list may have been stored shortly before a crash, and its changed tools not.
            let are_known = pins.is_none_or(|pins| pins.vouch_for(offer));
            are_known && (!must_be_public || offer.is_public())
        };
        (key, StoredOffer::from_bytes_if(bytes, naming, passes))
    };
    ServerSettings { offers: stored.into_iter().map(stored_offer).collect(), ..settings }
}

fn pinning(pinning: Pinning) -> switchboard_core::pins::Pinning {
    match pinning {
        Pinning::Off => switchboard_core::pins::Pinning::Off,
        Pinning::Warn => switchboard_core::pins::Pinning::Warn,
        Pinning::Hold => switchboard_core::pins::Pinning::Hold,
    }
}

pub(crate) fn pool(config: &Config) -> Pool {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let (memory_limit, is_memory_limit_given) = match config.pool.memory_limit {
        PoolMemory::HalfOfMachine => (machine::memory().map(|bytes| bytes / 2), false),
        PoolMemory::Unlimited => (None, true),
        PoolMemory::Bytes(bytes) => (Some(bytes), true),
    };
    Pool {
        max_backends: config.pool.max_backends,
        max_list_starts: 2 * cores,
        memory_limit,
        is_memory_limit_given,
    }
}

pub(crate) fn policy(config: &Config) -> Policy {
    Policy { open_roots: config.open_roots, fallback: config.fallback, style: Style::OWN }
}

pub(crate) fn learnt_dialect(dialect: Dialect) -> LearntDialect {
    match dialect {
        Dialect::Auto => LearntDialect::Open,
        Dialect::Standard => LearntDialect::Fixed(switchboard_protocol::Dialect::Standard),
        Dialect::Bare => LearntDialect::Fixed(switchboard_protocol::Dialect::Bare),
    }
}

/// Byte limits: the largest message must fit, with room for a few more.
pub(crate) fn limits(config: &Config) -> Limits {
    let usual = Limits::default();
    let room = 4 * config.max_message_bytes;
    Limits {
        client_bytes: usual.client_bytes.max(room),
        backend_bytes: usual.backend_bytes.max(room),
        ..usual
    }
}

pub(crate) fn server_settings(server: &ServerConfig, vars: Lookup<'_>, record: Record) -> ServerSettings {
    let uses_root = expand::uses_root(server, vars);
    let splits = uses_root || !server.root_arguments.is_empty();
    let (scope, scope_reason) = scope::choose(server, splits);
    ServerSettings {
        scope,
        scope_reason,
        splits,
        needs_root: expand::needs_root(server, vars),
        relays: false,
        refusal_mark: None,
        state: known::state_of(server).0,
        capabilities: match server.capabilities {
            Capabilities::Auto => switchboard_core::Capabilities::Auto,
            Capabilities::Exact => switchboard_core::Capabilities::Exact,
            Capabilities::Shared => switchboard_core::Capabilities::Shared,
        },
        asks: server.asks,
        call_limits: call_limits(server),
        max_backends: server.max_backends,
        idle_ttl: server.idle_ttl,
        memory_limit: server.memory_limit,
        health: server.health,
        debounce: server.debounce.clone(),
        framing: match (&server.remote, fixed(server.framing)) {
            // Messages over HTTP have no framing; a fixed one keeps the core from trying others.
            (Some(_), _) => FramingChoice::Fixed(switchboard_protocol::Framing::Newline),
            (None, Some(framing)) => FramingChoice::Fixed(framing),
            (None, None) => record.framing,
        },
        era: match server.era {
            ServerEra::Auto => EraChoice::Auto,
            ServerEra::Legacy => EraChoice::Fixed(Era::Legacy),
            ServerEra::Modern => EraChoice::Fixed(Era::Modern),
        },
        is_remote: server.remote.is_some(),
        dialect: match server.dialect {
            Dialect::Auto | Dialect::Standard => switchboard_protocol::Dialect::Standard,
            Dialect::Bare => switchboard_protocol::Dialect::Bare,
        },
        start_timeout: server.start_timeout,
        timeout: server.timeout,
        hard_timeout: server.hard_timeout,
        input_timeout: server.input_timeout,
        on_timeout: match server.on_timeout {
            OnTimeout::Probe => switchboard_core::OnTimeout::Probe,
            OnTimeout::Restart => switchboard_core::OnTimeout::Restart,
            OnTimeout::Keep => switchboard_core::OnTimeout::Keep,
        },
        retry_after_crash: match server.retry_after_crash {
            RetryAfterCrash::Safe => switchboard_core::RetryAfterCrash::Safe,
            RetryAfterCrash::Off => switchboard_core::RetryAfterCrash::Off,
        },
        shutdown_grace: server.shutdown_grace,
        max_in_flight: server.max_in_flight,
        max_queue: server.max_queue,
        lazy: server.lazy,
        launch_uses_root: uses_root,
        // A command line after `--` is passed through as it is.
        stores_lists: server.expand,
        record,
        ..ServerSettings::new(&server.name)
    }
}

pub(crate) fn client_era(config: &Config) -> switchboard_core::ClientEra {
    match config.client_era {
        ClientEra::Auto => switchboard_core::ClientEra::Auto,
        ClientEra::Legacy => switchboard_core::ClientEra::Legacy,
    }
}

pub(crate) fn fixed(framing: Framing) -> Option<switchboard_protocol::Framing> {
    match framing {
        Framing::Auto => None,
        Framing::Newline => Some(switchboard_protocol::Framing::Newline),
        Framing::ContentLength => Some(switchboard_protocol::Framing::ContentLength),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_core::Principal;

    /// Earlier releases stored private lists of modern servers for everybody.
    #[test]
    fn stored_private_lists_need_an_owner() {
        let loaded = |version: &str, scope: &str, principal: Option<Principal>| {
            let welcome = format!(r#"{{"capabilities":{{}},"ttlMs":5,"cacheScope":"{scope}"}}"#);
            let key = OfferKey { principal, ..OfferKey::anywhere(&format!("\"{version}\" {{}}")) };
            let stored = vec![(key, Offer::new(welcome.into()).store().into())];
            with_offers(ServerSettings::new("s"), stored).offers[0].1.offer().is_some()
        };
        assert!(loaded("2026-07-28", "public", None) && !loaded("2026-07-28", "private", None));
        assert!(loaded("2026-07-28", "private", Some(Principal::OWNER)));
        assert!(loaded("2025-11-25", "private", None), "that era has no such hint");
    }
}
