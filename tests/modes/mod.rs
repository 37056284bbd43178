//! Promises about messages, faults and deadlines. They hold whichever process serves a window, so that each test runs
//! twice: a failing one has the mode in its name. The files are in this folder, once.

mod solo;
mod daemon;
