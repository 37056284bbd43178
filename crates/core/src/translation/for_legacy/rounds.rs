//! One round of input: what a server wants before it goes on with a call, and the client's answers so far. Must not know
//! how the client is asked.

use super::json;
use crate::messages::own_message;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use switchboard_protocol::{Message, Part};

/// The input that a server wants.
pub(super) struct Wanted<'a> {
    pub(super) requests: Vec<(String, Request<'a>)>,
    state: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Request<'a> {
    #[serde(borrow)]
    method: &'a RawValue,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// The questions of a round, and the answers to them.
#[derive(Debug)]
pub(super) struct Asking {
    /// The server's `requestState`, as it was spelled.
    state: Option<String>,
    questions: Vec<Question>,
}

#[derive(Debug)]
struct Question {
    number: u64,
    /// The server's name for it, as JSON.
    key: String,
    answer: Option<String>,
}

impl<'a> Wanted<'a> {
    /// Reads an `input_required` answer; `None` if it has neither requests nor a state.
    pub(super) fn of(message: &'a Message) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct InputRequired<'a> {
            #[serde(borrow, default)]
            input_requests: BTreeMap<String, Request<'a>>,
            #[serde(borrow)]
            request_state: Option<&'a RawValue>,
        }
        let found = json::read::<InputRequired<'a>>(message, Part::Result)?;
        let is_usable = !found.input_requests.is_empty() || found.request_state.is_some();
        is_usable.then(|| Self {
            requests: found.input_requests.into_iter().collect(),
            state: found.request_state,
        })
    }

    /// The questions under these numbers, one for each request.
    pub(super) fn questions(self, numbers: &[u64]) -> (Asking, Vec<Message>) {
        let mut asking = Asking { state: self.state.map(|it| it.get().to_owned()), questions: Vec::new() };
        let mut messages = Vec::new();
        for ((key, request), &number) in self.requests.into_iter().zip(numbers) {
            let params = request.params.map(|params| format!(r#","params":{}"#, params.get()));
            let (method, params) = (request.method.get(), params.unwrap_or_default());
            let text = format!(r#"{{"jsonrpc":"2.0","id":{number},"method":{method}{params}}}"#);
            let Some(message) = own_message(text.into()) else { continue };
            messages.push(message);
            let key = serde_json::Value::from(key).to_string();
            asking.questions.push(Question { number, key, answer: None });
        }
        (asking, messages)
    }
}

impl Asking {
    /// The questions without an answer.
    pub(super) fn open(&self) -> impl Iterator<Item = u64> + '_ {
        self.questions.iter().filter(|it| it.answer.is_none()).map(|it| it.number)
    }

    pub(super) fn take(&mut self, number: u64, result: &[u8]) {
        if let Some(question) = self.questions.iter_mut().find(|it| it.number == number) {
            question.answer = Some(String::from_utf8_lossy(result).into_owned());
        }
    }

    /// The members of `params` with which the call goes on.
    pub(super) fn input(&self) -> Vec<u8> {
        let answers =
            self.questions.iter().filter_map(|it| Some(format!("{}:{}", it.key, it.answer.as_ref()?)));
        let answers = answers.collect::<Vec<_>>().join(",");
        let responses = (!self.questions.is_empty()).then(|| format!(r#""inputResponses":{{{answers}}}"#));
        let state = self.state.as_ref().map(|state| format!(r#""requestState":{state}"#));
        responses.into_iter().chain(state).collect::<Vec<_>>().join(",").into_bytes()
    }
}
