//! One round of input: the questions of a server before it continues with a call, and the client's answers so far. Must not
//! know how the client is asked.

use super::json;
use super::task_state::related;
use crate::messages::own_message;
use crate::translation::TranslatedProcess;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use switchboard_protocol::{Message, Part};

/// A server's request for input.
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

/// The questions of a round, with the answers so far.
#[derive(Debug)]
pub(super) struct Asking {
    /// The server's `requestState`, with its original bytes.
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
    /// Reads an `input_required` answer, or the state of a task.
    pub(super) fn of(message: &'a Message) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct InputRequired<'a> {
            #[serde(borrow)]
            input_requests: Option<BTreeMap<String, Request<'a>>>,
            #[serde(borrow)]
            request_state: Option<&'a RawValue>,
        }
        let found = json::read::<InputRequired<'a>>(message, Part::Result)?;
        let mut requests: Vec<_> = found.input_requests.into_iter().flatten().collect();
        // The map is in alphabetical order, but users are asked in the order in which the server wrote its questions.
        requests.sort_by_key(|(_, request)| request.method.get().as_ptr());
        Some(Self { requests, state: found.request_state })
    }

    /// Whether it has neither requests nor a state.
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.state.is_none()
    }

    /// The bytes that are stored until the client has answered.
    pub(super) fn kept_bytes(&self) -> usize {
        let keys: usize = self.requests.iter().map(|(key, _)| key.len()).sum();
        keys + self.state.map_or(0, |state| state.get().len())
    }

    /// The questions of this process under these numbers, one for each request; `None` if one cannot be asked. They name
    /// this task, whose id is JSON, if they belong to one that the client knows.
    pub(super) fn questions(
        self,
        numbers: &[u64],
        process: TranslatedProcess,
        task: Option<&str>,
    ) -> Option<(Asking, Vec<Message>)> {
        let mut asking = Asking { state: self.state.map(|it| it.get().to_owned()), questions: Vec::new() };
        let mut messages = Vec::new();
        for ((key, request), &number) in self.requests.into_iter().zip(numbers) {
            let params =
                request.params.map(|params| with_elicitation_id(params.get(), &process.unique_id(number)));
            let params = params.or(task.map(|_| "{}".into()));
            let params = params.map(|params| format!(r#","params":{params}"#)).unwrap_or_default();
            let method = request.method.get();
            let text = format!(r#"{{"jsonrpc":"2.0","id":{number},"method":{method}{params}}}"#);
            let message = own_message(text.into())?;
            let message = match task {
                Some(task) => related(message.clone(), task).unwrap_or(message),
                None => message,
            };
            messages.push(message);
            let key = serde_json::Value::from(key).to_string();
            asking.questions.push(Question { number, key, answer: None });
        }
        Some((asking, messages))
    }
}

/// The parameters of a question, with the `elicitationId` that legacy clients demand for a URL: this one, since the modern
/// era has none. It must be unlike those of all servers of the client.
fn with_elicitation_id<'a>(params: &'a str, own: &str) -> Cow<'a, str> {
    #[derive(Deserialize)]
    struct Elicitation<'a> {
        mode: String,
        #[serde(borrow, rename = "elicitationId")]
        id: Option<&'a RawValue>,
    }
    let lacks_it = serde_json::from_str::<Elicitation<'_>>(params)
        .is_ok_and(|elicitation| elicitation.mode == "url" && elicitation.id.is_none());
    match params.strip_prefix('{').filter(|_| lacks_it) {
        Some(members) => format!(r#"{{"elicitationId":"{own}",{members}"#).into(),
        None => params.into(),
    }
}

impl Asking {
    /// Ids of the unanswered questions.
    pub(super) fn open(&self) -> impl Iterator<Item = u64> + '_ {
        self.questions.iter().filter(|it| it.answer.is_none()).map(|it| it.number)
    }

    pub(super) fn take(&mut self, number: u64, result: &[u8]) {
        if let Some(question) = self.questions.iter_mut().find(|it| it.number == number) {
            question.answer = Some(String::from_utf8_lossy(result).into_owned());
        }
    }

    pub(super) fn answer_bytes(&self) -> usize {
        self.questions.iter().filter_map(|it| it.answer.as_ref()).map(String::len).sum()
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
