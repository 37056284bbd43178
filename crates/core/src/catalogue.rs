//! What servers offer, and many servers as one. Pure values: read from a server's answers, named, merged, and
//! kept as bytes that are ready to be sent. Nothing here knows of clients, backends or time.
//!
//! - [`names`]: what tools and prompts are called; [`uris`]: what resources and templates are called.
//! - [`filter`]: which of them are shown; `readings`: what a URI may mean.
//! - [`list`]: what can be listed; [`listing`]: one list of one server, read and named.
//! - [`offer`]: all that one server offers, also as it is kept on disk; `kept`: not read yet; `offers`: by kind of client.
//! - [`view`]: several servers as one. [`single`]: one server alone, under its own names.
//! - [`cursor`]: a place in a list, as clients carry it.
//! - `scan`, `index`, `template`: what these are made of.

mod index;
mod stored;
mod offers;
mod readings;
mod scan;
mod template;

pub mod names;
pub mod uris;
pub mod filter;
pub mod list;
pub mod listing;
pub mod offer;
mod raw;
pub mod cursor;
pub mod view;
pub mod single;

pub use filter::Filter;
pub use list::{List, Naming};
pub use listing::{Listing, Unreadable, next_cursor};
pub use names::{Collision, NameStyle};
pub use offer::Offer;
pub use offers::{OfferKey, Offers};
pub use raw::{RawList, RawOffer};
pub use single::{Access, Single};
pub use stored::StoredOffer;
pub use uris::{decode_resource, decode_template};
pub use view::{Found, FoundUri, Member, Page, View, unavailable};
