//! The party behind requests without a session: requests that agree in everything here may use one client of the core.

use super::super::route::RouteTarget;
use super::super::visitor::Visitor;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use switchboard_protocol::{Message, Part};

/// The party that a client of the core acts for, and its surroundings.
pub(super) struct Owner {
    visitor: Visitor,
    target: RouteTarget,
    /// Value of `Switchboard-Root`.
    root: Option<Box<str>>,
    may_name_folders: bool,
    /// `None` for plain requests, which declare nothing.
    declared: Option<Declared>,
}

/// Version, capabilities and name of a client, as it wrote them.
type Declared = [Option<Box<[u8]>>; 3];

/// Parts of a request that declare its client.
const DECLARATION: [Part; 3] = [Part::MetaVersion, Part::MetaCapabilities, Part::MetaInfo];

/// The same of a request.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    pub(super) visitor: &'a Visitor,
    pub(super) target: &'a RouteTarget,
    pub(super) root: Option<&'a str>,
    pub(super) may_name_folders: bool,
    pub(super) is_plain: bool,
    pub(super) message: &'a Message,
}

impl Owner {
    pub(super) fn new(origin: &Origin<'_>) -> Self {
        let part = |part| origin.message.part(part).map(Box::from);
        let declared = (!origin.is_plain).then(|| DECLARATION.map(part));
        Self {
            visitor: origin.visitor.clone(),
            target: origin.target.clone(),
            root: origin.root.map(Box::from),
            may_name_folders: origin.may_name_folders,
            declared,
        }
    }

    /// Whether a request comes from this party.
    pub(super) fn is(&self, origin: &Origin<'_>) -> bool {
        let is_declared = match &self.declared {
            None => origin.is_plain,
            Some(declared) => {
                let is_same =
                    |(own, part): (&Option<Box<[u8]>>, Part)| own.as_deref() == origin.message.part(part);
                !origin.is_plain && declared.iter().zip(DECLARATION).all(is_same)
            }
        };
        is_declared
            && self.target == *origin.target
            && self.root.as_deref() == origin.root
            && self.may_name_folders == origin.may_name_folders
            && self.visitor.is(origin.visitor)
    }
}

impl Origin<'_> {
    /// Equal for requests of one party, and seldom equal for others: of a declaration only the lengths count, since
    /// hashing all of it for each request costs more than comparing it.
    pub(super) fn hash(&self, hasher: &RandomState) -> u64 {
        let identity = Arc::as_ptr(self.visitor.identity()).addr();
        let length = |part| self.message.part(part).filter(|_| !self.is_plain).map(<[u8]>::len);
        let declared = DECLARATION.map(length);
        hasher.hash_one((identity, self.target, self.root, self.may_name_folders, declared))
    }
}
