//! Routing: the instance of a request, by its workspace.
//!
//! - `editor`: a client with folders open.
//! - `by_place`: paths in requests. `otherwise`: fallbacks without a path. `nowhere`: no workspace at all.
//! - `late`: roots that arrive, change and vanish. `together`: one instance for all roots.

pub(crate) mod editor;

mod by_place;
mod otherwise;
mod nowhere;
mod late;
mod together;
