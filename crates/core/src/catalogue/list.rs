//! The kinds of lists, and the naming of a server's items.

use super::filter::Filter;
use super::held::Held;
use super::names::NameStyle;
use std::sync::Arc;
use switchboard_protocol::Method;

/// A kind of list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum List {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl List {
    pub const ALL: [Self; 4] = [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    pub fn method(self) -> Method {
        match self {
            Self::Tools => Method::ToolsList,
            Self::Prompts => Method::PromptsList,
            Self::Resources => Method::ResourcesList,
            Self::Templates => Method::ResourceTemplatesList,
        }
    }

    pub fn of(method: Method) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.method() == method)
    }

    /// The notification for a change of this list.
    pub fn change_notice(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources | Self::Templates => "notifications/resources/list_changed",
        }
    }

    /// The notifications for all changed lists, each once.
    pub fn change_notices(is_changed: impl Fn(Self) -> bool) -> Vec<&'static str> {
        let changed = Self::ALL.into_iter().filter(|list| is_changed(*list));
        let mut notices: Vec<&str> = changed.map(Self::change_notice).collect();
        // Resources and templates share a notification, and are neighbours in this order.
        notices.dedup();
        notices
    }

    /// The member of the result that holds the items.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// The capability of servers that offer it.
    pub fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
        }
    }

    /// The member that identifies an item in requests.
    pub fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }
}

/// Naming and visibility of a server's items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naming {
    pub server: String,
    pub style: NameStyle,
    pub tools: Filter,
    pub prompts: Filter,
    /// Applies to templates too.
    pub resources: Filter,
}

impl Naming {
    /// A naming that shows everything.
    pub fn new(server: impl Into<String>, style: NameStyle) -> Self {
        let open = Filter::default;
        Self { server: server.into(), style, tools: open(), prompts: open(), resources: open() }
    }

    /// Whether everything is visible under its own name.
    pub fn is_open(&self) -> bool {
        self.tools.is_open() && self.prompts.is_open() && self.resources.is_open()
    }

    /// The same naming, with exactly these tools held back.
    pub fn holding(&self, held: Option<Arc<Held>>) -> Self {
        Self { tools: Filter { held, ..self.tools.clone() }, ..self.clone() }
    }

    pub fn filter(&self, list: List) -> &Filter {
        match list {
            List::Tools => &self.tools,
            List::Prompts => &self.prompts,
            List::Resources | List::Templates => &self.resources,
        }
    }
}
