//! The official conformance suite.
