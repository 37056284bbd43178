//! `switchboard approve tools`: the command changes the stored pins, and the daemon applies them.

use super::DaemonState;
use crate::config::ServerConfig;
use crate::fronts::local::hello::Reply;
use crate::pins::PinStore;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::ServerId;
use switchboard_process::aside;

/// Time limit for pending writes. Beyond it the command shows what is stored so far.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

impl DaemonState {
    /// Waits until everything known about servers is stored, since new settings are made from what is stored.
    pub(crate) async fn settle_writes(&self) {
        self.backends.finish_writes(WRITE_TIMEOUT).await;
    }

    /// The file of a server's pins, once everything known is in it.
    pub(crate) async fn pins_of(&self, server: &ServerConfig) -> Reply {
        self.settle_writes().await;
        Reply::with(json!({ "key": PinStore::key(server) }))
    }

    /// Applies the stored approvals. Servers with the same launch share them.
    pub(crate) async fn approve(&self, server: &Arc<ServerConfig>) -> Reply {
        let (store, own) = (self.backends.stores().pins.clone(), server.clone());
        let (pins, lost) = aside::run(move || store.load(&own)).await;
        if let Some(lost) = lost {
            return Reply::refusal(lost.to_string());
        }
        let key = PinStore::key(server);
        let alike = self.servers.present().into_iter().filter(|(_, other)| PinStore::key(other) == key);
        let alike: Vec<ServerId> = alike.map(|(id, _)| id).collect();
        let mut turn = self.hub.turn();
        for id in alike {
            turn.adopt_pins(id, &pins);
        }
        Reply::with(json!({}))
    }
}
