//! Which instance of a server a request goes to, by the workspace that it belongs to.
//!
//! - `editor`: a client with folders open.
//! - `by_place`: what a request names. `otherwise`: what counts if it names nothing. `nowhere`: if nothing counts.
//! - `late`: roots that come, change and go. `together`: one instance for all of them.

pub(crate) mod editor;

mod by_place;
mod otherwise;
mod nowhere;
mod late;
mod together;
