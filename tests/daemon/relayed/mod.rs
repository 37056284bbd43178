//! The same promises for windows that relay every message, which they do if streams cannot be handed over.

mod house {
    pub(crate) use crate::daemon::house::{Relayed as House, server_of};
}

#[path = "../death.rs"]
mod death;
#[path = "../ending.rs"]
mod ending;
#[path = "../hardened.rs"]
mod hardened;
#[path = "../leaving.rs"]
mod leaving;
#[path = "../sharing.rs"]
mod sharing;
#[path = "../upgrade.rs"]
mod upgrade;
#[path = "../window_logs.rs"]
mod window_logs;
