//! Order of actions and of the events that they cause.

use super::{BackendSetting, Backends, Hub};
use crate::io::output::{Output, StoredOutput};
use crate::telemetry::Telemetry;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::access::{AuditPolicy, IdentityLimits, NewLimiter};
use switchboard_core::catalogue::{Offer, OfferKey};
use switchboard_core::pins::PinNews;
use switchboard_core::redact::Secrets;
use switchboard_core::{
    About, Action, Aggregates, BackendId, ClientId, Core, Environment, Event, Launch, Limits, Peer, Pool,
    Record, Roots, ServerId, ServerSettings, Settings, StopHow, Surroundings,
};
use switchboard_process::lock::Lock;
use switchboard_protocol::dialect::LearntDialect;
use switchboard_protocol::{Framing, Method, Outgoing};

/// Notes which launches are started and stopped, in order.
#[derive(Default, Clone)]
struct Notes(Arc<Lock<Vec<String>>>);

impl Backends for Notes {
    fn start(&self, _: &Arc<Hub>, launch: Launch, _: BackendSetting) {
        self.0.lock().push(format!("start {launch}"));
    }

    fn stop(&self, launch: Launch, _: StopHow) {
        self.0.lock().push(format!("stop {launch}"));
    }

    fn cut_off(&self, _: Launch) {}
    fn forget(&self, _: Launch) {}
    fn store_offer(&self, _: ServerId, _: OfferKey, _: Arc<Offer>) {}
    fn store_record(&self, _: ServerId, _: Record) {}
    fn store_pins(&self, _: ServerId, _: Vec<PinNews>) {}
}

/// Output to a client that no longer reads.
struct Closed;

impl StoredOutput for Closed {
    fn admit(&self, _: &Outgoing) -> bool {
        true
    }

    fn store(&self, _: &[IoSlice<'_>]) -> io::Result<()> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn unsent(&self) -> u64 {
        0
    }

    fn send(&self) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn writable(&self) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send + '_>> {
        Box::pin(std::future::pending())
    }

    fn lost(&self) {}
    fn trim(&self) {}
}

/// The write fails, so the client is lost and its server is stopped. The start that the core ordered before that must come
/// first: an unknown backend cannot be stopped.
#[tokio::test]
async fn lost_client_does_not_overtake_actions() {
    let notes = Notes::default();
    let settings = Settings {
        servers: vec![ServerSettings::new("files")],
        pool: Pool::default(),
        roots: Roots::default(),
        dialect: LearntDialect::Open,
        client_era: Default::default(),
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
        authenticator: Arc::new(switchboard_core::access::NoTokens),
        report_routes: false,
        audit: AuditPolicy::default(),
        secrets: Secrets::NONE,
    };
    let mut hub = Hub::new(Core::new(settings), Box::new(notes.clone()), Telemetry::silent());
    Arc::get_mut(&mut hub).expect("no one else has it").has_several_cores = true;
    let (client, server) = (ClientId(1), ServerId(0));
    hub.handle(Event::ClientConnected { client, server, surroundings: Surroundings::default() });
    hub.open_outbox(Peer::Client(client), Output::Stored(Box::new(Closed)), Framing::Newline);

    let launch = Launch { backend: BackendId(9), number: 1 };
    let notice = || Outgoing::notification(Method::Other, r#"{"jsonrpc":"2.0","method":"x"}"#.into());
    let mut turn = hub.turn();
    turn.inside.actions = vec![
        Action::ToClient { client, out: notice(), about: About::Nothing },
        Action::Start {
            launch,
            server,
            framing: Framing::Newline,
            root: None,
            in_home: false,
            environment: Environment::default(),
        },
    ];
    turn.perform_all();
    drop(turn);
    assert_eq!(*notes.0.lock(), ["start backend-1#1", "start backend-9#1", "stop backend-1#1"]);
}
