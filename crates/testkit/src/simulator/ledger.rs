//! The books: who asked what, what was handed to whom, and what is still owed. The promises about single
//! messages are kept here; it knows nothing of the code under test but the ids it uses.

use super::draft::Draft;
use std::collections::BTreeMap;
use switchboard_core::{ClientId, Launch, Moment};

/// `Err` is a broken promise.
pub(super) type Check<T = ()> = Result<T, String>;

/// A method as the simulator's own table has it: this is the specification, not a copy of the code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Verb {
    pub(super) name: &'static str,
    /// May be handed over a second time after a crash.
    pub(super) is_repeatable: bool,
    /// Has the short deadline, which only its own progress moves.
    pub(super) is_short: bool,
}

impl Verb {
    /// Waits while the backend works on as many others as it may.
    pub(super) fn takes_a_turn(&self) -> bool {
        !matches!(self.name, "ping" | "initialize" | "tasks/result")
    }

    fn is_cancellable(&self) -> bool {
        !matches!(self.name, "initialize" | "shutdown")
    }
}

/// One message that a party of the simulation has written.
#[derive(Debug)]
pub(super) struct Parcel {
    pub(super) draft: Draft,
    pub(super) role: Role,
    pub(super) arrivals: usize,
}

/// What a parcel is, by what it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role {
    Request(usize),
    ClientNotification {
        client: ClientId,
        is_initialized: bool,
    },
    /// A client takes the request back that it calls `wanted`.
    ClientCancel {
        client: ClientId,
        wanted: String,
    },
    /// Names another client's token, and reaches nobody.
    Forged,
    ClientProgress {
        ask: usize,
    },
    /// `None`: an answer to nothing.
    ClientAnswer {
        client: ClientId,
        ask: Option<usize>,
    },
    /// `None`: an answer that may reach nobody.
    ServerAnswer {
        launch: Launch,
        request: Option<usize>,
    },
    /// An error with a null id: for the only open request, if there is only one.
    ServerNullError {
        launch: Launch,
    },
    ServerNotification {
        launch: Launch,
    },
    ServerProgress {
        launch: Launch,
        request: Option<usize>,
    },
    ServerCancel {
        ask: usize,
    },
    Ask(usize),
}

/// A client's request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) client: ClientId,
    pub(super) verb: &'static Verb,
    pub(super) id: String,
    pub(super) token: Option<String>,
    pub(super) batch: Option<usize>,
    pub(super) sent: Moment,
    /// When its clock was last started anew, by progress or by work on it.
    pub(super) touched: Moment,
    pub(super) handed: Vec<Launch>,
    /// By an answer that carries its number; errors of ours carry none.
    pub(super) is_answered: bool,
    pub(super) is_cancelled: bool,
}

/// A server's request to its client. Its id is unique within its launch.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) launch: Launch,
    pub(super) id: String,
    pub(super) token: Option<String>,
    /// The id under which the client knows it, once it was passed on.
    pub(super) minted: Option<String>,
    pub(super) answers: usize,
    pub(super) is_cancelled: bool,
    /// It was withdrawn at the client: its launch is gone.
    pub(super) is_withdrawn: bool,
}

/// A batch of a client's.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) client: ClientId,
    /// So many answers are owed.
    pub(super) owed: usize,
    pub(super) is_answered: bool,
}

/// All requests of one client under one spelling of an id: ids may be used again, and errors of ours do not
/// say which of them they mean.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) requests: Vec<usize>,
    /// Answers owed, also to frames that were no requests.
    pub(super) owed: usize,
    pub(super) paid: usize,
    /// So many of what is owed need not be paid: taken back by the client.
    pub(super) waived: usize,
}

impl Account {
    pub(super) fn open(&self) -> usize {
        self.owed - self.paid
    }

    /// What must still be paid.
    pub(super) fn due(&self) -> usize {
        self.open().saturating_sub(self.waived)
    }

    fn pay(&mut self) -> Check {
        if self.paid == self.owed {
            return Err("there is one answer too many".into());
        }
        self.paid += 1;
        self.waived = self.waived.min(self.open());
        Ok(())
    }

    pub(super) fn waive(&mut self) {
        self.waived = (self.waived + 1).min(self.open());
    }
}

/// Whose account: a client, the batch if it is in one, and the id as it is spelled.
pub(super) type Key = (ClientId, Option<usize>, String);

#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) parcels: Vec<Parcel>,
    pub(super) requests: Vec<Request>,
    pub(super) asks: Vec<Ask>,
    pub(super) batches: Vec<Batch>,
    pub(super) accounts: BTreeMap<Key, Account>,
    /// Requests that may still be open, in the order in which they were sent.
    pub(super) watched: Vec<usize>,
}

impl Ledger {
    /// The number of the next parcel, to be written into it.
    pub(super) fn next_number(&self) -> usize {
        self.parcels.len()
    }

    pub(super) fn post(&mut self, draft: Draft, role: Role) -> usize {
        self.parcels.push(Parcel { draft, role, arrivals: 0 });
        self.parcels.len() - 1
    }

    pub(super) fn parcel(&self, number: usize) -> Check<&Parcel> {
        self.parcels.get(number).ok_or_else(|| format!("no message has the number {number}"))
    }

    pub(super) fn add_request(&mut self, request: Request) -> usize {
        let number = self.requests.len();
        let account = self.account(request.client, request.batch, &request.id);
        account.requests.push(number);
        account.owed += 1;
        self.watched.push(number);
        self.requests.push(request);
        number
    }

    pub(super) fn account(&mut self, client: ClientId, batch: Option<usize>, id: &str) -> &mut Account {
        self.accounts.entry((client, batch, id.to_owned())).or_default()
    }

    pub(super) fn account_of(&mut self, request: usize) -> &mut Account {
        let request = &self.requests[request];
        let key = (request.client, request.batch, request.id.clone());
        self.accounts.entry(key).or_default()
    }

    /// A frame that is no request is answered with an error all the same. `may_stay_open`: or it settles
    /// something else instead.
    pub(super) fn owe_error(
        &mut self,
        client: ClientId,
        batch: Option<usize>,
        id: &str,
        may_stay_open: bool,
    ) {
        let account = self.account(client, batch, id);
        account.owed += 1;
        if may_stay_open {
            account.waive();
        }
    }

    /// An answer came back, with the number of its request or without.
    pub(super) fn pay(
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
        match self.accounts.get_mut(&(client, batch, id.to_owned())) {
            Some(account) => account.pay().map_err(name),
            None => Err(name("nobody there asked under this id".into())),
        }
    }

    /// A client takes back what it calls `id`. `true` if there is something that can be meant.
    pub(super) fn take_back(&mut self, client: ClientId, id: &str) -> bool {
        let mut found = false;
        let theirs =
            self.accounts.iter_mut().filter(|((owner, _, spelling), _)| *owner == client && spelling == id);
        for (_, account) in theirs {
            // A handshake and a farewell cannot be taken back.
            let mut meant =
                account.requests.iter().copied().filter(|&n| self.requests[n].verb.is_cancellable());
            let (Some(first), second) = (meant.next(), meant.next()) else { continue };
            drop(meant);
            found |= account.open() > 0;
            account.waive();
            if second.is_none() {
                self.requests[first].is_cancelled = true;
            }
        }
        found
    }

    /// The ask that a launch knows by this id.
    pub(super) fn ask_of(&mut self, launch: Launch, id: &str) -> Option<&mut Ask> {
        self.asks.iter_mut().rev().find(|ask| ask.launch == launch && ask.id == id)
    }

    /// A launch is given an answer to what it asked.
    pub(super) fn answer_ask(&mut self, launch: Launch, id: &str) -> Check {
        let Some(ask) = self.ask_of(launch, id) else {
            return Err(format!("{launch} got an answer with id {id}, which it never asked"));
        };
        ask.answers += 1;
        if ask.answers > 1 {
            Err(format!("{launch} got a second answer to its request {id}"))
        } else {
            Ok(())
        }
    }
}
