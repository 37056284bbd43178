//! Stand-ins for systems without handover; none of these values is ever created.

use super::Waiting;
use crate::local::Connection;
use crate::pipe::ByteReader;
use crate::stdio::OwnStdio;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

fn unsupported<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}

pub struct Streams(());

impl Streams {
    pub fn of(_: &OwnStdio) -> Option<Self> {
        None
    }

    pub async fn receive(_: &mut Connection) -> io::Result<Self> {
        unsupported()
    }

    pub async fn pass(&self, _: &Connection) -> io::Result<()> {
        unsupported()
    }

    pub fn journal(&self) -> io::Result<(Journal, Vec<Vec<u8>>)> {
        unsupported()
    }

    pub fn reader(&self, _: Arc<AtomicU64>, _: usize) -> io::Result<ByteReader> {
        unsupported()
    }

    pub fn output(&self, _: u64) -> io::Result<Output> {
        unsupported()
    }

    pub fn open_requests(&self) -> u32 {
        0
    }

    pub fn waiting(&self) -> Waiting {
        Waiting::Nothing
    }

    pub async fn readable(&self) -> io::Result<()> {
        unsupported()
    }

    pub fn has_unread(&self, _: u64) -> io::Result<bool> {
        unsupported()
    }
}

pub struct Journal(());

impl Journal {
    pub fn append(&mut self, _: &[u8]) -> io::Result<()> {
        unsupported()
    }

    pub fn is_long(&self) -> bool {
        false
    }

    pub fn can_shrink(&self) -> bool {
        false
    }

    pub fn renew(&mut self, _: &[Vec<u8>]) -> io::Result<()> {
        unsupported()
    }

    pub fn show_open(&self, _: u32) {}
}

pub struct Output(());

impl Output {
    pub fn append(&self, _: &[IoSlice<'_>]) -> io::Result<u64> {
        unsupported()
    }

    pub fn commit(&self) {}

    pub fn trim(&self) {}

    pub fn unsent(&self) -> u64 {
        0
    }

    pub fn send(&self) -> io::Result<usize> {
        unsupported()
    }

    pub async fn writable(&self) -> io::Result<()> {
        unsupported()
    }
}
