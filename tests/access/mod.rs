//! Access control: who may use which server, how often, and what servers may ask.
//!
//! - one group of promises per file.

mod limits;
mod asks;
