//! Transitions: routing.

mod isolation;
mod joining;
mod route;
mod shared_roots;
mod sharing;
mod tasks;

pub(crate) use joining::Forget;
pub(crate) use route::Route;
pub(crate) use sharing::Addressee;
pub(crate) use tasks::names_task;
