//! Promises about messages, faults and deadlines that hold whichever process serves a window. Each test runs
//! twice, with the mode in its name; the files are in this folder once.

mod solo;
mod daemon;
