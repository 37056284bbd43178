//! Clients of attachments, each from arrival to departure.

use super::DaemonState;
use super::admission::Admission;
use crate::config::StdioAccess;
use crate::environments::{Vars, environment};
use crate::fronts::local::hello::{self, Newcomer, Reply};
use crate::fronts::{Arrival, ClientHost, StreamOptions, Wanted, local};
use crate::hub::Hub;
use crate::io::reader::ClientReader;
use crate::paths;
use crate::settings;
use std::pin::Pin;
use std::sync::Arc;
use switchboard_core::access::{Authenticator, Front, Proof};
use switchboard_core::{ClientId, Environment, Event, Principal, ServerId, Surroundings};
use switchboard_process::local::Connection;

/// Service of clients that hand over their own streams.
pub(crate) trait StreamHolder: Send + Sync {
    /// Receives the client's streams over the connection and serves it until it ends
    /// or another daemon takes over.
    fn hold<'a>(
        &'a self,
        hub: &'a Arc<Hub>,
        held: HeldClient<'a>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
}

/// Client whose own streams are served.
pub(crate) struct HeldClient<'a> {
    pub(crate) connection: Connection,
    pub(crate) arrival: Arrival,
    pub(crate) options: StreamOptions,
    /// To be dropped once the streams have arrived.
    pub(crate) admission: Admission<'a>,
    /// To be called once the client is no longer served.
    pub(crate) part: Box<dyn FnOnce() + Send + 'a>,
}

impl DaemonState {
    /// Serves a client from arrival to departure.
    pub(super) async fn receive(&self, connection: Connection, newcomer: Newcomer) {
        if !self.hub.is_serving() {
            // Without a reply, the attachment looks for another daemon.
            return;
        }
        let newcomer = newcomer.with_variable();
        let offers_streams = newcomer.offers_streams();
        // Descriptors are checked before the reply, so that a refused window can still serve itself.
        let admission = match Admission::take(&self.arriving, offers_streams) {
            Ok(admission) => admission,
            Err(why) => {
                let _ = hello::say(&connection.writer, &Reply::refusal(why)).await;
                return;
            }
        };
        let found = self.server_for(&newcomer).await;
        let reply = found.as_ref().map_or_else(Reply::refusal, |_| Reply::welcome(&newcomer, offers_streams));
        let is_told = hello::say(&connection.writer, &reply).await.is_ok();
        // No client is registered yet, so one that cannot be told leaves no trace.
        let (Ok(id), true) = (found, is_told) else { return };
        let name = newcomer.shown().to_owned();
        let Some(arrival) = self.arrival_of(id, newcomer) else { return };
        let client = arrival.client;
        if offers_streams {
            let framing = settings::fixed(self.framing);
            let (max_message_bytes, grace) = (self.max_message_bytes, self.grace);
            let options = StreamOptions { framing, max_message_bytes, grace, server: name };
            let part = Box::new(move || self.part_with(client));
            let held = HeldClient { connection, arrival, options, admission, part };
            return self.streams.hold(&self.hub, held).await;
        }
        // No streams will arrive, so the reserved descriptors are free.
        drop(admission);
        local::serve(&self.hub, arrival, connection, self.max_message_bytes).await;
        // An attachment that closes the connection has ended or reads no more, so output is discarded.
        self.part_with(client);
    }

    /// Registers the client. `None` if its server was removed.
    fn arrival_of(&self, id: Option<ServerId>, newcomer: Newcomer) -> Option<Arrival> {
        let root_arguments = match id {
            Some(id) => self.servers.root_arguments(id)?,
            None => self.servers.every_root_argument(),
        };
        let client = self.next_client();
        let vars = Arc::new(newcomer.vars());
        if let Some(log) = newcomer.log.clone() {
            self.hub.telemetry().open_window(client, log);
            // Routes are reported only while some window's log wants them.
            self.hub.turn().report_routes(self.hub.telemetry().wants_routes());
        }
        let server = id.and_then(|id| self.servers.server(id));
        let environment = server.map(|server| environment(&server, &vars)).unwrap_or_default();
        let wants = match id {
            Some(id) => Wanted::One(id),
            None => Wanted::All(self.backends.environments_of(&vars)),
        };
        let proof = settings::proof(newcomer.token.as_ref(), *self.stdio_access.lock());
        let surroundings = surroundings(environment, newcomer, proof, &vars);
        self.clients().insert(client, (id, vars));
        Some(Arrival { client, wants, surroundings, reader: ClientReader::new(root_arguments) })
    }

    fn part_with(&self, client: ClientId) {
        self.leave(client);
        let mut turn = self.hub.turn();
        turn.handle(Event::ClientLost { client });
        turn.forget_client(client);
        // Dropped before another turn is taken below: the lock is not reentrant.
        drop(turn);
        if self.hub.telemetry().close_window(client) {
            self.hub.turn().report_routes(self.hub.telemetry().wants_routes());
        }
    }

    /// Whether a window acts for the owner: by the owner's token, or without one where none is needed.
    fn is_owners(&self, newcomer: &Newcomer) -> bool {
        match &newcomer.token {
            Some(token) => {
                let identity = self.tokens.identify(token.expose());
                identity.is_some_and(|identity| identity.principal == Principal::OWNER)
            }
            None => *self.stdio_access.lock() == StdioAccess::Open,
        }
    }

    /// Server that a client asks for: of the config, or of its command line; `None` for all servers. A
    /// command line is accepted only if our own config allows it: otherwise any process that reaches
    /// the socket could run commands.
    async fn server_for(&self, newcomer: &Newcomer) -> Result<Option<ServerId>, String> {
        if let Some(name) = newcomer.profile.as_deref().filter(|name| self.profiles.find(name).is_none()) {
            return Err(self.profiles.there_is_no(name));
        }
        if newcomer.everything {
            return Ok(None);
        }
        let Some(ad_hoc) = newcomer.ad_hoc.clone() else {
            let found = self.servers.find(&newcomer.server).map(|(id, _)| Some(id));
            return found.ok_or_else(|| self.servers.there_is_no(&newcomer.server));
        };
        if !self.is_owners(newcomer) {
            return Err(
                "only its owner may bring a server after `--`, and this window is not its owner's".into()
            );
        }
        self.bring(&newcomer.server, ad_hoc).await.map(Some)
    }
}

/// Surroundings of a client that came through an attachment.
fn surroundings(
    environment: Environment,
    newcomer: Newcomer,
    proof: Proof,
    vars: &Arc<Vars>,
) -> Surroundings {
    Surroundings {
        // Only processes of this user can connect to the socket.
        identity: Arc::default(),
        proof,
        profiles: newcomer.profile.iter().map(|name| name.as_str().into()).collect(),
        front: Front::Stdio,
        environment,
        pinned: newcomer.pinned,
        given: newcomer.given,
        default: newcomer.default,
        named: paths::of_environment(&|name| vars.get(name)),
        working_folder: newcomer.working_folder,
        goes_by_request: false,
        is_elsewhere: false,
        refusal_mark: newcomer.refusal_mark.map(Into::into),
    }
}
