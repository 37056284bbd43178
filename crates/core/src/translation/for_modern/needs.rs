//! Capabilities that a client must have declared to be asked a question. Must not know who asks.

use super::super::json;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use switchboard_protocol::{Message, Method, Part};

/// What a question needs of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Need {
    Form,
    Url,
    /// Elicitation in a mode that no version of MCP has yet.
    Mode(String),
    Sampling,
    SamplingWithTools,
    Roots,
}

impl Need {
    /// The need of a legacy server's request; `None` if a modern client cannot be asked this at all.
    pub(crate) fn of(question: &Message) -> Option<Self> {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            mode: Option<Value>,
            #[serde(borrow)]
            tools: Option<&'a RawValue>,
            #[serde(borrow)]
            tool_choice: Option<&'a RawValue>,
        }
        let params = || json::read::<Params<'_>>(question, Part::Params).unwrap_or_default();
        match question.method() {
            Method::Elicit => Some(match params().mode {
                None => Self::Form,
                Some(Value::String(mode)) if mode == "form" => Self::Form,
                Some(Value::String(mode)) if mode == "url" => Self::Url,
                Some(Value::String(mode)) => Self::Mode(mode),
                Some(mode) => Self::Mode(mode.to_string()),
            }),
            Method::CreateMessage => {
                let Params { tools, tool_choice, .. } = params();
                Some(if tools.or(tool_choice).is_some() { Self::SamplingWithTools } else { Self::Sampling })
            }
            Method::RootsList => Some(Self::Roots),
            _ => None,
        }
    }

    /// Path of the capability, for error messages.
    pub(crate) fn capability(&self) -> Cow<'static, str> {
        match self {
            Self::Form => "elicitation.form".into(),
            Self::Url => "elicitation.url".into(),
            Self::Mode(mode) => format!("elicitation.{mode}").into(),
            Self::Sampling => "sampling".into(),
            Self::SamplingWithTools => "sampling.tools".into(),
            Self::Roots => "roots".into(),
        }
    }

    /// Whether these capabilities of a client cover it.
    pub(crate) fn is_in(&self, capabilities: &Value) -> bool {
        let elicitation = &capabilities["elicitation"];
        match self {
            // Elicitation without a mode means forms.
            Self::Form => {
                elicitation.is_object()
                    && (elicitation["form"].is_object() || !elicitation["url"].is_object())
            }
            Self::Url => elicitation["url"].is_object(),
            Self::Mode(mode) => elicitation[mode].is_object(),
            Self::Sampling => capabilities["sampling"].is_object(),
            Self::SamplingWithTools => capabilities["sampling"]["tools"].is_object(),
            Self::Roots => capabilities["roots"].is_object(),
        }
    }

    /// Whether a modern request declares it.
    pub(crate) fn is_declared_by(&self, request: &Message) -> bool {
        json::read::<Value>(request, Part::MetaCapabilities).is_some_and(|declared| self.is_in(&declared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::own_message;

    #[track_caller]
    fn need(method: &str, params: &str) -> Option<Need> {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        Need::of(&own_message(text.into()).expect("a message"))
    }

    #[test]
    fn questions_need_their_capability() {
        for (method, params, expect) in [
            ("elicitation/create", "{}", Some(Need::Form)),
            ("elicitation/create", r#"{"mode":"form"}"#, Some(Need::Form)),
            ("elicitation/create", r#"{"mode":"\u0075rl"}"#, Some(Need::Url)),
            ("elicitation/create", r#"{"mode":"voice"}"#, Some(Need::Mode("voice".into()))),
            ("elicitation/create", r#"{"mode":7}"#, Some(Need::Mode("7".into()))),
            ("elicitation/create", "[]", Some(Need::Form)),
            ("sampling/createMessage", r#"{"mode":"url"}"#, Some(Need::Sampling)),
            ("sampling/createMessage", r#"{"tools":[]}"#, Some(Need::SamplingWithTools)),
            ("sampling/createMessage", r#"{"toolChoice":{}}"#, Some(Need::SamplingWithTools)),
            ("roots/list", "{}", Some(Need::Roots)),
            ("ping", "{}", None),
            ("x/y", "{}", None),
        ] {
            assert_eq!(need(method, params), expect, "{method} {params}");
        }
    }

    #[test]
    fn capabilities_cover_their_questions() {
        let all = [
            Need::Form,
            Need::Url,
            Need::Mode("voice".into()),
            Need::Sampling,
            Need::SamplingWithTools,
            Need::Roots,
        ];
        for (capabilities, expect) in [
            (r#"{"elicitation":{}}"#, [true, false, false, false, false, false]),
            (r#"{"elicitation":{"url":{}}}"#, [false, true, false, false, false, false]),
            (r#"{"elicitation":{"form":{},"url":{}}}"#, [true, true, false, false, false, false]),
            (r#"{"elicitation":{"url":true,"voice":{}}}"#, [true, false, true, false, false, false]),
            (r#"{"sampling":{},"roots":{}}"#, [false, false, false, true, false, true]),
            (r#"{"sampling":{"tools":{}}}"#, [false, false, false, true, true, false]),
            (r#"{"elicitation":true,"sampling":null,"roots":[]}"#, [false; 6]),
            ("7", [false; 6]),
        ] {
            let meta = format!(r#"{{"io.modelcontextprotocol/clientCapabilities":{capabilities}}}"#);
            let call =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"_meta":{meta}}}}}"#);
            let call = own_message(call.into()).expect("a message");
            assert_eq!(all.clone().map(|need| need.is_declared_by(&call)), expect, "{capabilities}");
        }
    }
}
