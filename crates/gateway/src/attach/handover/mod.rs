//! A client whose streams are handed to whoever serves it: `books` (what must be known of it), `ledger` (where that is
//! kept), `way` (how bytes get out), `settle` (what is owed after an end), `watchdog` (when a daemon is held to hang), `serve` (from its coming to its going), `hold` (the daemon's
//! side of it), and `lend` (the side that gives the streams, and outlives all others).

pub(crate) mod books;
pub(crate) mod ledger;
pub(crate) mod hold;
pub(crate) mod lend;
pub(crate) mod serve;
mod settle;
mod watchdog;
pub(crate) mod way;
