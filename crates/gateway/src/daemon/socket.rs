//! The daemon's local socket: connections, and the request that each begins with.

use super::DaemonState;
use super::control;
use super::reload::Applied;
use crate::config::discover::ConfigOrigin;
use crate::fronts::local::hello::{self, Envelope, Hello, OrderWord, Reply, Wants};
use crate::io::task;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use switchboard_core::{Event, Order};
use switchboard_process::local::{Address, BindError, Connection, Listener};

/// Interval of checks that the socket's file still exists, since its folder may be cleaned up: without and
/// with change reports of the system.
const SOCKET_CHECK_INTERVAL: Duration = Duration::from_secs(5);
const REPORTED_SOCKET_CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// Time limit for a killed daemon to release the socket.
const BIND_TIMEOUT: Duration = Duration::from_secs(5);
const BIND_RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// Binds the socket, unless another daemon serves it. The system releases a killed daemon's socket only after
/// a while on a busy machine; giving up at once would fail the window that started us.
pub(crate) async fn bind(address: &Address) -> Result<Listener, BindError> {
    let deadline = Instant::now() + BIND_TIMEOUT;
    loop {
        match Listener::bind(address) {
            Err(BindError::Taken) if Instant::now() < deadline && !is_served(address).await => {
                tokio::time::sleep(BIND_RETRY_INTERVAL).await;
            }
            bound => return bound,
        }
    }
}

/// Whether a daemon answers on the socket, or hangs.
async fn is_served(address: &Address) -> bool {
    // A hung daemon gives an error and counts as serving: two daemons must not share an address.
    !matches!(control::ask(address, control::Request::Status).await, Ok(None))
}

/// Accepts connections until this daemon ends, or until a newer one takes over the socket.
pub(crate) async fn accept(daemon: Arc<DaemonState>, address: Address, mut listener: Listener) {
    let mut reports = address.watch().await;
    loop {
        let time = if reports.reports_all() { REPORTED_SOCKET_CHECK_INTERVAL } else { SOCKET_CHECK_INTERVAL };
        let disturbed = async {
            tokio::select! {
                () = reports.changed() => {}
                () = tokio::time::sleep(time) => {}
            }
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            // Clients that are connected stay with this daemon; only the socket passes on.
            () = daemon.retired.notified() => return,
            () = daemon.hub.draining() => return,
            () = disturbed => {
                if listener.is_found() {
                    continue;
                }
                // The folder was cleaned up, so the socket must be created again.
                drop(listener);
                // The old listener is gone by now: its lock would have counted as another daemon.
                match Listener::bind(&address) {
                    Ok(again) => listener = again,
                    // Another daemon has taken the address, or the folder cannot be used any more.
                    Err(_) => return,
                }
                reports = address.watch().await;
                continue;
            }
        };
        // Without a free descriptor the connection is lost; a later one may succeed.
        if let Ok(connection) = accepted {
            // A task per connection, so that a slow one does not hold up others.
            task::spawn("attachment", attend(daemon.clone(), connection));
        }
    }
}

/// Serves one connection from its first line to its end.
async fn attend(daemon: Arc<DaemonState>, mut connection: Connection) {
    let Ok(Envelope { protocol, version, wants }) = hello::hear(&mut connection.reader).await else { return };
    // Every daemon understands the requests that clients of any version send.
    let Ok(wants) = serde_json::from_value::<Wants>(wants) else {
        let why = format!(
            "the daemon (pid {}) does not understand this request; stop it with `switchboard daemon stop`",
            std::process::id()
        );
        let _ = hello::say(&connection.writer, &Reply::refusal(why)).await;
        return;
    };
    let reply = match (Hello { protocol, version, wants }) {
        Hello { protocol, wants: Wants::Client(_) | Wants::Order { .. }, .. }
            if protocol != hello::PROTOCOL =>
        {
            Reply::refusal(format!(
                "the daemon (pid {}) uses another protocol version; stop it with `switchboard daemon stop`",
                std::process::id()
            ))
        }
        // The client will ask this daemon to retire; nothing should be started for it here.
        Hello { ref version, wants: Wants::Client(_), .. } if hello::is_newer(version, &hello::version()) => {
            Reply::refusal("this daemon is older than its client")
        }
        Hello { wants: Wants::Client(newcomer), .. } => {
            return daemon.receive(connection, *newcomer).await;
        }
        Hello { wants: Wants::Status, .. } => Reply::with(daemon.status().await),
        Hello { wants: Wants::Order { order, server, root }, .. } => {
            daemon.order(order, &server, root.as_deref()).await
        }
        Hello { wants: Wants::Reload, .. } => {
            let applied = daemon.reload().await;
            let file = daemon.current.source.as_ref().map(|(path, _)| path);
            let told = |applied: Applied| Reply::with(json!({ "config": file, "applied": applied.shown() }));
            applied.map_or_else(Reply::refusal, told)
        }
        Hello { wants: Wants::Stop, .. } => {
            daemon.hub.handle(Event::Drain { why: "it was told to stop" });
            Reply::with(Value::Null)
        }
        // Meant for a predecessor whose place this daemon has taken since.
        Hello { version, wants: Wants::Retire, .. } if !hello::is_newer(&version, &hello::version()) => {
            Reply::refusal("a daemon gives way only to a newer version")
        }
        // A daemon that serves over HTTP must stay for its clients.
        Hello { wants: Wants::GiveWay, .. } if daemon.stays => Reply::refusal("it serves over HTTP itself"),
        Hello { wants: Wants::Retire | Wants::GiveWay, .. } => {
            daemon.retired.notify_one();
            // Over HTTP it still has clients to serve, so its standby servers stay.
            if !daemon.stays {
                daemon.hub.turn().end_all_standbys();
            }
            Reply::with(Value::Null)
        }
    };
    let _ = hello::say(&connection.writer, &reply).await;
}

impl DaemonState {
    async fn status(&self) -> Value {
        // Measured for this request, so that `status` shows present values.
        self.hub.measure().await;
        let status = self.hub.turn().status();
        let (file, origin) = self.current.source.as_ref().map(|(path, origin)| (path, *origin)).unzip();
        let (is_project, owner) = (origin == Some(ConfigOrigin::Project), self.current.owners.also);
        let audit = self.hub.telemetry().audit_state();
        json!({ "config": file, "isProject": is_project, "configOwner": owner, "status": status, "audit": audit })
    }

    async fn order(&self, order: OrderWord, server: &str, root: Option<&str>) -> Reply {
        let Some((id, config)) = self.servers.find(server) else {
            return Reply::refusal(self.servers.there_is_no(server));
        };
        let order = match order {
            OrderWord::Start => return self.start(server, id, root).await,
            OrderWord::Stop => return self.stop_server(server, id, root),
            OrderWord::Restart => Order::Restart,
            OrderWord::Forget => {
                self.forget_stored(&config);
                Order::Forget
            }
            OrderWord::Pins => return self.pins_of(&config).await,
            OrderWord::Approve => return self.approve(&config).await,
        };
        let done = self.hub.turn().order(id, root, order);
        Reply::with(json!({ "instances": done.instances }))
    }
}
