//! Namings narrowed by the rights of clients, and the offers under them. Clients with the same rights share
//! them, so that they share views too. Must not know the clients.

use super::filter::Filter;
use super::layer::Layer;
use super::list::{List, Naming};
use super::offer::Offer;
use crate::access::{Patterns, Rights};
use std::sync::{Arc, Weak};
use switchboard_protocol::Method;

impl Naming {
    /// The same naming, without the items that these rights exclude. A client sees nothing that it may not use.
    pub fn narrowed(&self, rights: &[Arc<Rights>]) -> Self {
        let server: Arc<str> = self.server.as_str().into();
        let narrow = |filter: &Filter, of: fn(&Rights) -> &Patterns, used_by: Method| {
            let used_by = used_by.name().unwrap_or_default();
            let layers = rights.iter().filter_map(|rights| match of(rights) {
                _ if !rights.allows_method(used_by) || !rights.allows_server(&self.server) => {
                    Some(Layer::nothing(server.clone()))
                }
                patterns if patterns.is_open() => None,
                patterns => Some(Layer::new(server.clone(), patterns.clone())),
            });
            Filter { layers: filter.layers.iter().cloned().chain(layers).collect(), ..filter.clone() }
        };
        Self {
            server: self.server.clone(),
            style: self.style,
            tools: narrow(&self.tools, |rights| &rights.tools, Method::ToolsCall),
            prompts: narrow(&self.prompts, |rights| &rights.prompts, Method::PromptsGet),
            resources: narrow(&self.resources, |rights| &rights.resources, Method::ResourcesRead),
        }
    }

    /// Whether the rights of a client exclude some of the server's items.
    pub fn is_narrowed(&self) -> bool {
        [&self.tools, &self.prompts, &self.resources].into_iter().any(|filter| !filter.layers.is_empty())
    }

    /// Whether a list has no visible items, whatever the server offers.
    pub fn hides_all(&self, list: List) -> bool {
        self.filter(list).hides_all()
    }
}

/// All narrowed namings that clients use.
#[derive(Debug, Default)]
pub struct Narrowings(Vec<Narrowing>);

#[derive(Debug)]
struct Narrowing {
    base: Arc<Naming>,
    rights: Vec<Arc<Rights>>,
    naming: Weak<Naming>,
    /// Offers of the server, and the same under this naming.
    offers: Vec<(Weak<Offer>, Arc<Offer>)>,
}

impl Narrowings {
    /// The naming for a client with these rights: shared with others that have the same, and the server's own
    /// if the rights exclude nothing of it.
    pub fn naming(&mut self, base: &Arc<Naming>, rights: &[Arc<Rights>]) -> Arc<Naming> {
        // Nearly all clients.
        if rights.iter().all(|rights| rights.is_open()) {
            return base.clone();
        }
        // Namings that no client uses any more leave dead entries behind.
        self.0.retain(|known| known.naming.strong_count() > 0);
        let is_it = |known: &&Narrowing| Arc::ptr_eq(&known.base, base) && known.rights == rights;
        if let Some(naming) = self.0.iter().find(is_it).and_then(|known| known.naming.upgrade()) {
            return naming;
        }
        let narrowed = base.narrowed(rights);
        if narrowed == **base {
            return base.clone();
        }
        let naming = Arc::new(narrowed);
        self.0.push(Narrowing {
            base: base.clone(),
            rights: rights.to_vec(),
            naming: Arc::downgrade(&naming),
            offers: Vec::new(),
        });
        naming
    }

    /// A server's offer under a client's naming. Read once for all clients with this naming.
    pub fn offer(&mut self, naming: &Arc<Naming>, offer: &Arc<Offer>) -> Arc<Offer> {
        let is_it = |known: &&mut Narrowing| std::ptr::eq(known.naming.as_ptr(), Arc::as_ptr(naming));
        let Some(known) = self.0.iter_mut().find(is_it) else { return offer.clone() };
        known.offers.retain(|(of, _)| of.strong_count() > 0);
        let is_of = |(of, _): &&(Weak<Offer>, Arc<Offer>)| std::ptr::eq(of.as_ptr(), Arc::as_ptr(offer));
        if let Some((_, narrowed)) = known.offers.iter().find(is_of) {
            return narrowed.clone();
        }
        let narrowed = Arc::new(offer.under(naming));
        known.offers.push((Arc::downgrade(offer), narrowed.clone()));
        narrowed
    }

    /// Number of namings in use.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.0.iter().filter(|known| known.naming.strong_count() > 0).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Listing, NameStyle};
    use proptest::prelude::*;

    fn patterns() -> impl Strategy<Value = Patterns> {
        let globs = || proptest::collection::vec("[ab*?]{1,3}|s__[ab*]{1,2}", 0..3);
        (globs(), globs()).prop_map(|(allow, deny)| Patterns { allow, deny })
    }

    fn rights() -> impl Strategy<Value = Arc<Rights>> {
        let methods = prop_oneof![
            4 => Just(Patterns::default()),
            1 => Just(Patterns { allow: vec!["tools/*".into()], deny: vec![] }),
            1 => Just(Patterns { allow: vec![], deny: vec!["prompts/get".into()] }),
        ];
        (patterns(), patterns(), patterns(), methods).prop_map(|(tools, prompts, resources, methods)| {
            Arc::new(Rights { tools, prompts, resources, methods, ..Rights::default() })
        })
    }

    fn naming(tools: Patterns, resources: Patterns) -> Naming {
        let filter =
            |patterns: Patterns| Filter { allow: patterns.allow, deny: patterns.deny, ..Filter::default() };
        let rename = vec![("a".to_owned(), "z".to_owned())];
        Naming {
            tools: Filter { rename, ..filter(tools) },
            resources: filter(resources),
            ..Naming::new("s", NameStyle::Prefixed)
        }
    }

    proptest! {
        /// A narrowed naming never shows more than either side.
        #[test]
        fn narrowing_only_hides(
            own in (patterns(), patterns()), one in rights(), other in rights(), name in "[ab]{1,3}",
        ) {
            let base = naming(own.0, own.1);
            let both = base.narrowed(&[one.clone(), other.clone()]);
            let each = [base.narrowed(std::slice::from_ref(&one)), base.narrowed(std::slice::from_ref(&other)), base];
            for list in List::ALL {
                let shows = |naming: &Naming| naming.filter(list).shows(list, &name);
                // Exactly what all sides show.
                prop_assert_eq!(shows(&both), each.iter().all(shows), "{:?}", list);
                // A hidden item is not meant by any name.
                if matches!(list, List::Tools | List::Prompts) {
                    prop_assert!(both.filter(list).meant_by(&name).is_none_or(|own| both.filter(list).allows(own)));
                    prop_assert!(!both.hides_all(list) || !shows(&both));
                }
            }
        }

        #[test]
        fn open_rights_narrow_nothing(own in (patterns(), patterns()), count in 0usize..3) {
            let base = Arc::new(naming(own.0, own.1));
            let open = vec![Arc::<Rights>::default(); count];
            prop_assert_eq!(&base.narrowed(&open), &*base);
            prop_assert!(Arc::ptr_eq(&Narrowings::default().naming(&base, &open), &base));
        }
    }

    fn only(tool: &str) -> Vec<Arc<Rights>> {
        let tools = Patterns { allow: vec![tool.to_owned()], deny: Vec::new() };
        vec![Arc::new(Rights { tools, ..Rights::default() })]
    }

    #[test]
    fn equal_rights_share_one_naming() {
        let base = Arc::new(Naming::new("s", NameStyle::Prefixed));
        let mut all = Narrowings::default();
        // Equal, but not the same value.
        let (one, other) = (all.naming(&base, &only("a")), all.naming(&base, &only("a")));
        assert!(Arc::ptr_eq(&one, &other));
        let another = all.naming(&base, &only("b"));
        assert!(!Arc::ptr_eq(&one, &another));
        assert_eq!(all.len(), 2);
        drop((one, other));
        all.naming(&base, &only("c"));
        assert_eq!(all.len(), 1, "forgotten with its last client");
    }

    #[test]
    fn offers_are_read_once_per_naming() {
        let base = Arc::new(Naming::new("s", NameStyle::Prefixed));
        let page = r#"{"tools":[{"name":"a"},{"name":"b"}]}"#;
        let listing = Listing::read(List::Tools, &[page.into()], &base).unwrap();
        let offer = Arc::new(Offer::new("{}".into()).with(Arc::new(listing)));
        let mut all = Narrowings::default();
        let naming = all.naming(&base, &only("a"));
        let narrowed = all.offer(&naming, &offer);
        let names: Vec<String> =
            narrowed.list(List::Tools).unwrap().names().map(|name| name.into_owned()).collect();
        assert_eq!(names, ["s__a"]);
        assert!(Arc::ptr_eq(&narrowed, &all.offer(&naming, &offer)));
        assert!(Arc::ptr_eq(&offer, &all.offer(&base, &offer)), "the server's own naming changes nothing");
    }

    #[test]
    fn unusable_items_are_not_seen() {
        let base = Naming::new("s", NameStyle::Prefixed);
        let methods = |allow: &[&str], deny: &[&str]| {
            let globs = |globs: &[&str]| globs.iter().map(|&glob| glob.to_owned()).collect();
            let methods = Patterns { allow: globs(allow), deny: globs(deny) };
            base.narrowed(&[Arc::new(Rights { methods, ..Rights::default() })])
        };
        let hidden = |naming: &Naming| List::ALL.map(|list| naming.hides_all(list));
        assert_eq!(hidden(&methods(&[], &["tools/call"])), [true, false, false, false]);
        assert_eq!(hidden(&methods(&[], &["*/GET"])), [false, true, false, false]);
        assert_eq!(hidden(&methods(&["tools/*"], &[])), [false, true, true, true]);
        assert_eq!(hidden(&methods(&[], &["tools/list"])), [false; 4], "it may still be called");
        let servers = Patterns { allow: vec!["other".into()], deny: vec![] };
        let other = base.narrowed(&[Arc::new(Rights { servers, ..Rights::default() })]);
        assert_eq!(hidden(&other), [true; 4]);
    }
}
