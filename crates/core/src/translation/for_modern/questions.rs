//! Questions of legacy servers as parts of an `input_required` answer, and the client's answers. Must not know how a call
//! is paused.

use super::super::json;
use super::Need;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use switchboard_protocol::{Message, Method, Part};

/// One question of a server.
#[derive(Debug, Clone)]
pub(crate) struct InputRequest {
    /// Key in `inputRequests` and `inputResponses`.
    pub(crate) key: String,
    /// What the client must have declared to be asked.
    need: Need,
    /// Method and parameters, as one JSON object.
    text: String,
}

impl InputRequest {
    /// The request under a name of ours; `None` if a modern client cannot be asked this.
    pub(crate) fn of(question: &Message, key: String) -> Option<Self> {
        let need = Need::of(question)?;
        let method = serde_json::Value::from(&*question.method_name());
        // A modern client cannot report progress on a question.
        let token: &[&str] = &["params", "_meta", "progressToken"];
        let question = &json::without(question.clone(), &[token], (Part::Meta, &["params", "_meta"]));
        let params = std::str::from_utf8(question.part(Part::Params).unwrap_or(b"{}")).ok()?;
        Some(Self { key, need, text: format!(r#"{{"method":{method},"params":{params}}}"#) })
    }

    pub(crate) fn bytes_kept(&self) -> usize {
        self.key.len() + self.text.len()
    }

    pub(crate) fn need(&self) -> &Need {
        &self.need
    }

    /// Whether a modern request declares that its client can be asked this.
    pub(crate) fn is_declared_by(&self, request: &Message) -> bool {
        self.need.is_declared_by(request)
    }
}

/// The `input_required` result, on one line. `state` is a JSON string without its quotes.
pub(crate) fn input_required(requests: &[InputRequest], state: &str) -> String {
    let members =
        requests.iter().map(|it| format!("{}:{}", serde_json::Value::from(it.key.as_str()), it.text));
    let members = members.collect::<Vec<_>>().join(",");
    let result = format!(
        r#"{{"resultType":"input_required","inputRequests":{{{members}}},"requestState":"{state}"}}"#
    );
    json::on_one_line(result)
}

/// Whether a request can be answered with `input_required` and continued.
pub(crate) fn may_be_continued(method: Method) -> bool {
    matches!(method, Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead)
}

/// The URLs that an error with the code −32042 wants to be opened, as requests for input. None, if one cannot be read.
pub(crate) fn url_requests(error: &Message) -> Vec<InputRequest> {
    #[derive(Deserialize)]
    struct Failed<'a> {
        #[serde(borrow)]
        data: Data<'a>,
    }
    #[derive(Deserialize)]
    struct Data<'a> {
        #[serde(borrow)]
        elicitations: Vec<&'a RawValue>,
    }
    let Some(failed) = json::read::<Failed<'_>>(error, Part::Error) else { return Vec::new() };
    if !failed.data.elicitations.iter().all(|params| params.get().starts_with('{')) {
        return Vec::new();
    }
    let method = Method::Elicit.name().unwrap_or_default();
    let request = |(at, params): (usize, &RawValue)| InputRequest {
        key: format!("url{at}"),
        need: Need::Url,
        text: format!(r#"{{"method":"{method}","params":{}}}"#, params.get()),
    };
    failed.data.elicitations.into_iter().enumerate().map(request).collect()
}

/// The answers of a client, by the keys of the questions.
pub(crate) struct Answers<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Answers<'a> {
    pub(crate) fn of(request: &'a Message) -> Self {
        Self(json::read(request, Part::InputResponses).unwrap_or_default())
    }

    /// The answer to a question, as JSON.
    pub(crate) fn to(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).map(|answer| answer.get())
    }

    /// Whether the client has accepted all of these questions.
    pub(crate) fn accept(&self, keys: &[String]) -> bool {
        #[derive(Deserialize)]
        struct Answer {
            action: String,
        }
        let is_accepted = |answer: &str| {
            serde_json::from_str::<Answer>(answer).is_ok_and(|answer| answer.action == "accept")
        };
        keys.iter().all(|key| self.to(key).is_some_and(is_accepted))
    }
}
