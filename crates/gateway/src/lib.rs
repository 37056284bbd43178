//! Under construction.
pub mod config;
