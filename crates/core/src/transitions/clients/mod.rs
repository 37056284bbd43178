//! Transitions: clients.

mod allowance;
mod connect;
mod filters;
mod from_client;
mod greeting;
mod leases;
mod notices;
mod stored;
mod workspace;

pub(crate) use filters::Screened;
