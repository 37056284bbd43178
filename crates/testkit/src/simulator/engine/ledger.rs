//! The ledger of requests: their clients, their processes, and the answers that are owed. Every request gets one answer, and
//! no client gets another's.

use super::rules::MethodRule;
use serde_json::Value;
use std::collections::BTreeMap;
use switchboard_core::{ClientId, Launch, Moment};

/// `Err` is a broken promise.
pub(crate) type Check<T = ()> = Result<T, String>;

/// Log levels, the least important first.
pub(crate) const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// A client's request, with the scenario's own part.
#[derive(Debug)]
pub(crate) struct Request<R> {
    pub(crate) client: ClientId,
    pub(crate) rule: &'static MethodRule,
    /// The id as the client spelled it.
    pub(crate) id: String,
    /// Progress token, as the client spelled it.
    pub(crate) token: Option<String>,
    pub(crate) batch: Option<usize>,
    pub(crate) sent: Moment,
    /// Last restart of its deadline, by progress or by work on it.
    pub(crate) touched: Moment,
    /// Processes that got it.
    pub(crate) handed: Vec<Launch>,
    pub(crate) is_answered: bool,
    /// Whether it was cancelled, or its client is gone.
    pub(crate) is_cancelled: bool,
    /// Whether it names an item hidden by a filter.
    pub(crate) is_hidden: bool,
    pub(crate) own: R,
}

impl<R> Request<R> {
    /// Whether its client waits for the answer.
    pub(crate) fn is_open(&self) -> bool {
        !self.is_answered && !self.is_cancelled
    }
}

super::parties::derefs_to_own!(Request);

/// All requests of one client under one spelling of an id. Ids may be used again, and errors of ours do not say which
/// request they mean.
#[derive(Debug, Default)]
pub(crate) struct Account {
    pub(crate) requests: Vec<usize>,
    /// Answers owed, also to frames that are no requests.
    pub(crate) owed: usize,
    paid: usize,
    /// Answers that may be left out: cancelled by the client.
    waived: usize,
}

impl Account {
    pub(crate) fn open(&self) -> usize {
        self.owed - self.paid
    }

    /// Answers that must still come.
    pub(crate) fn due(&self) -> usize {
        self.open().saturating_sub(self.waived)
    }

    pub(crate) fn waive(&mut self) {
        self.waived = (self.waived + 1).min(self.open());
    }
}

/// Owner of an account: a client, its batch if it is in one, and the id as spelled.
pub(crate) type Key = (ClientId, Option<usize>, String);

/// A process's question to its client, identified by `q` and its number.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) launch: Launch,
    pub(crate) sent: Moment,
    pub(crate) wants_roots: bool,
    /// The client that was asked.
    pub(crate) client: Option<ClientId>,
    pub(crate) is_answered: bool,
}

#[derive(Debug)]
pub(crate) struct Ledger<R> {
    pub(crate) requests: Vec<Request<R>>,
    pub(crate) accounts: BTreeMap<Key, Account>,
    pub(crate) asks: Vec<Ask>,
}

impl<R> Default for Ledger<R> {
    fn default() -> Self {
        Self { requests: Vec::new(), accounts: BTreeMap::new(), asks: Vec::new() }
    }
}

impl<R> Ledger<R> {
    pub(crate) fn add(&mut self, request: Request<R>) -> usize {
        let number = self.requests.len();
        let account = self.account(request.client, request.batch, &request.id);
        account.requests.push(number);
        account.owed += 1;
        self.requests.push(request);
        number
    }

    pub(crate) fn account(&mut self, client: ClientId, batch: Option<usize>, id: &str) -> &mut Account {
        self.accounts.entry((client, batch, id.to_owned())).or_default()
    }

    pub(crate) fn account_of(&mut self, request: usize) -> &mut Account {
        let request = &self.requests[request];
        let key = (request.client, request.batch, request.id.clone());
        self.accounts.entry(key).or_default()
    }

    /// The newest request of a client under this id.
    pub(crate) fn find(&self, client: ClientId, id: &str) -> Option<usize> {
        self.accounts.get(&(client, None, id.to_owned()))?.requests.last().copied()
    }

    /// Records an answer that reached a client, with or without the number of its request.
    pub(crate) fn pay(
        &mut self,
        client: ClientId,
        batch: Option<usize>,
        id: &str,
        request: Option<usize>,
    ) -> Check {
        let name = |what: String| format!("{client} got an answer with id {id}: {what}");
        if let Some(number) = request {
            let request = &mut self.requests[number];
            if request.client != client || request.id != id {
                return Err(name(format!("it belongs to {}, id {}", request.client, request.id)));
            }
            if request.batch != batch {
                return Err(name("it did not come in its own batch".into()));
            }
            if std::mem::replace(&mut request.is_answered, true) {
                return Err(name("it is the second".into()));
            }
        }
        let Some(account) = self.accounts.get_mut(&(client, batch, id.to_owned())) else {
            return Err(name("nobody there asked under this id".into()));
        };
        if account.open() == 0 {
            return Err(name("there is one answer too many".into()));
        }
        account.paid += 1;
        account.waived = account.waived.min(account.open());
        Ok(())
    }

    /// Records an answer to a request whose id is used once; returns its number.
    pub(crate) fn answered(&mut self, client: ClientId, id: &str) -> Check<usize> {
        let number =
            self.find(client, id).ok_or_else(|| format!("{client} never asked under the id {id}"))?;
        self.pay(client, None, id, Some(number))?;
        Ok(number)
    }

    /// Records that no answer follows to a request that its client has cancelled.
    pub(crate) fn no_answer(&mut self, client: ClientId, id: &str) -> Check {
        let number =
            self.find(client, id).ok_or_else(|| format!("{client} never asked under the id {id}"))?;
        let request = &mut self.requests[number];
        match request.is_cancelled && !std::mem::replace(&mut request.is_answered, true) {
            true => Ok(()),
            false => Err(format!("{client} hears that no answer follows to {id}, which is not cancelled")),
        }
    }

    /// Writes off the answers that a client waits for.
    pub(crate) fn void(&mut self, client: ClientId) {
        for request in self.requests.iter_mut().filter(|request| request.client == client) {
            request.is_cancelled = true;
        }
    }

    /// Numbers of a client's open requests.
    pub(crate) fn open_of(&self, client: ClientId) -> Vec<usize> {
        let is_open =
            |number: &usize| self.requests[*number].client == client && self.requests[*number].is_open();
        (0..self.requests.len()).filter(is_open).collect()
    }

    pub(crate) fn add_ask(&mut self, launch: Launch, sent: Moment, wants_roots: bool) -> usize {
        self.asks.push(Ask { launch, sent, wants_roots, client: None, is_answered: false });
        self.asks.len() - 1
    }

    /// Records a question that reaches a client; returns its number and the process that asked.
    pub(crate) fn pass_on(&mut self, client: ClientId, words: &Value) -> Check<(usize, Launch)> {
        let number = words["params"]["ask"].as_u64().map(|number| number as usize);
        let Some((number, ask)) = number.and_then(|number| Some((number, self.asks.get_mut(number)?))) else {
            return Err(format!("{client} is asked what no process asked: {words}"));
        };
        match ask.client.replace(client).is_some() || ask.is_answered {
            true => Err(format!("q{number} goes to {client} as well")),
            false => Ok((number, ask.launch)),
        }
    }

    /// Records the answer to a process's own question; returns the number of the question.
    pub(crate) fn answer_ask(&mut self, launch: Launch, words: &Value) -> Check<usize> {
        let id = words["id"].as_str().unwrap_or_default();
        let number = id.strip_prefix('q').and_then(|number| number.parse::<usize>().ok());
        let ask = number.and_then(|number| Some((number, self.asks.get_mut(number)?)));
        let Some((number, ask)) = ask.filter(|(_, ask)| ask.launch == launch) else {
            return Err(format!("{launch} is answered what it did not ask: {words}"));
        };
        match std::mem::replace(&mut ask.is_answered, true) {
            true => Err(format!("{launch} is answered twice: {words}")),
            false => Ok(number),
        }
    }
}
