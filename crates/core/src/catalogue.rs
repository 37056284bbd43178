//! The tools, prompts and resources of servers, singly and merged. Pure values: parsed from a server's
//! answers, named, merged, and stored as bytes ready to send. Must not know clients, backends or time.
//!
//! # Layout
//! - [`names`]: public names of tools and prompts. [`uris`]: public URIs of resources and templates.
//! - [`filter`]: the visible items. `layer`: the rights of a client over them. `held`: tools that wait for their
//!   owner. `readings`: possible meanings of a URI.
//! - `hints`: cache hints of lists. [`list`]: the kinds of lists. [`listing`]: one list of one server, parsed and named.
//! - [`offer`]: all lists of one server, in memory and on disk. `stored`: an offer parsed on first use.
//!   `offers`: offers by kind of client. `raw`: unparsed lists.
//! - `digest`: digests of definitions. `sighting`: the definitions of the tools in a list.
//! - [`view`]: several servers as one. [`single`]: one server alone, under its own names.
//! - `narrowed`: what clients with restricted rights see.
//! - [`cursor`]: the page cursors that clients get.
//! - `wishes`: the filter of `subscriptions/listen`.
//! - `scan`, `index`, `template`, `apps`: parts of the above.

mod digest;
mod index;
mod stored;
mod offers;
mod readings;
mod scan;
mod apps;
mod sighting;
mod template;

pub mod names;
pub mod uris;
mod held;
mod layer;
pub mod filter;
mod hints;
pub mod list;
pub mod listing;
pub mod offer;
mod raw;
mod narrowed;
mod wishes;
pub mod cursor;
pub mod view;
pub mod single;

pub use digest::Digest;
pub use filter::Filter;
pub use held::Held;
pub use hints::{CacheScope, Freshness, Hints};
pub use layer::Layer;
pub use list::{List, Naming};
pub use listing::{Listing, Unreadable, next_cursor};
pub use names::{Collision, NameStyle};
pub use narrowed::Narrowings;
pub use offer::Offer;
pub use offers::{OfferKey, Offers};
pub use raw::{RawList, RawOffer};
pub use sighting::{SeenTool, Sighting};
pub use single::{Access, Single};
pub use stored::StoredOffer;
pub use uris::{decode_resource, decode_template};
pub use view::{Found, FoundUri, Member, Page, View, unavailable};
pub(crate) use wishes::Wishes;
