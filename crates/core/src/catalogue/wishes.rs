//! The filter of `subscriptions/listen`: the notifications that a client wants. Pure values.

use crate::catalogue::List;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_protocol::{Message, Method, Part};

/// Notifications that a subscription includes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Wishes {
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) tools_list_changed: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) prompts_list_changed: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) resources_list_changed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) resource_subscriptions: Vec<String>,
    /// Of the tasks extension.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) task_ids: Vec<String>,
}

impl Wishes {
    /// Those of a request; `None` if it has no filter that can be read.
    pub(crate) fn of(request: &Message) -> Option<Self> {
        #[derive(Deserialize)]
        struct Params {
            notifications: Wishes,
        }
        let params = request.part(Part::Params)?;
        serde_json::from_slice::<Params>(params).ok().map(|params| params.notifications)
    }

    /// Those that a server has agreed to; `None` if its acknowledgement does not say, although it must.
    pub(crate) fn agreed(acknowledged: &Message) -> Option<Self> {
        #[derive(Deserialize)]
        struct Said<'a> {
            #[serde(borrow)]
            notifications: Option<&'a RawValue>,
        }
        let said: Said<'_> = serde_json::from_slice(acknowledged.part(Part::Params)?).ok()?;
        // What cannot be read promises nothing.
        Some(serde_json::from_str(said.notifications?.get()).unwrap_or_default())
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether changes of a list are included, by the notification about them.
    pub(crate) fn includes_change(&self, notice: Method) -> bool {
        match notice {
            Method::ToolsChanged => self.tools_list_changed,
            Method::PromptsChanged => self.prompts_list_changed,
            Method::ResourcesChanged => self.resources_list_changed,
            _ => false,
        }
    }

    /// Whether changes of this list are included.
    pub(crate) fn includes_list(&self, list: List) -> bool {
        match list {
            List::Tools => self.tools_list_changed,
            List::Prompts => self.prompts_list_changed,
            List::Resources | List::Templates => self.resources_list_changed,
        }
    }

    /// Whether changes of a resource are included.
    pub(crate) fn includes_resource(&self, uri: &str) -> bool {
        self.resource_subscriptions.iter().any(|wanted| wanted == uri)
    }

    /// All changes of lists that these capabilities announce.
    pub(crate) fn of_lists(capabilities: &serde_json::Value) -> Self {
        let changes = |list: List| capabilities[list.capability()]["listChanged"] == true;
        Self {
            tools_list_changed: changes(List::Tools),
            prompts_list_changed: changes(List::Prompts),
            resources_list_changed: changes(List::Resources),
            ..Self::default()
        }
    }

    /// Keeps the changes of lists that others include, too.
    pub(crate) fn keep_lists(&mut self, others: &Self) {
        self.tools_list_changed &= others.tools_list_changed;
        self.prompts_list_changed &= others.prompts_list_changed;
        self.resources_list_changed &= others.resources_list_changed;
    }

    /// Whether these include all changes of lists that others include.
    pub(crate) fn has_lists_of(&self, others: &Self) -> bool {
        (self.tools_list_changed || !others.tools_list_changed)
            && (self.prompts_list_changed || !others.prompts_list_changed)
            && (self.resources_list_changed || !others.resources_list_changed)
    }

    /// As JSON.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::own_message;

    fn wishes(filter: &str) -> Option<Wishes> {
        let text =
            format!(r#"{{"id":1,"method":"subscriptions/listen","params":{{"notifications":{filter}}}}}"#);
        Wishes::of(&own_message(text.into()).unwrap())
    }

    #[test]
    fn filter_is_read_and_written() {
        let all = r#"{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}"#;
        let read = wishes(all).unwrap();
        assert!(read.includes_change(Method::ToolsChanged) && !read.includes_change(Method::PromptsChanged));
        assert!(read.includes_resource("a:b") && !read.includes_resource("a:c"));
        assert_eq!(read.text(), all);
        assert_eq!(wishes(r#"{"toolsListChanged":1}"#), None);
        assert!(wishes(r#"{"other":["x"]}"#).unwrap().is_empty());
    }

    #[test]
    fn announced_changes_are_wanted() {
        let capabilities = serde_json::json!({ "tools": { "listChanged": true }, "prompts": {} });
        assert_eq!(Wishes::of_lists(&capabilities).text(), r#"{"toolsListChanged":true}"#);
    }
}
