//! Tokens of a home, and clients that have one.

use crate::daemon::house::House;
use crate::http::served::Served;
use serde_json::{Value, json};
use switchboard_testkit::client::{Client, Start, initialize_params};
use switchboard_testkit::http::Web;

/// Creates a token, and returns it: the last word of the output.
#[track_caller]
pub(crate) fn create(house: &House, words: &[&str]) -> String {
    let said = house.say(&[&["token", "create"], words].concat());
    let token = said.split_whitespace().last().unwrap().to_owned();
    assert!(token.starts_with("swb_") && said.ends_with(&format!("{token}\n")), "{said}");
    token
}

/// A client over HTTP with this token, which counts at once.
#[track_caller]
pub(crate) fn web_with(served: &Served, token: &str) -> Web {
    let web = served.web.with("Authorization", &format!("Bearer {token}"));
    assert_ne!(web.get("/readyz").send().status, 401, "a new token counts at once");
    web
}

/// Creates a token for the program that serves, and a client that has it.
#[track_caller]
pub(crate) fn web_of(served: &Served, words: &[&str]) -> Web {
    let token = create(&served.house, words);
    web_with(served, &token)
}

/// Parameters of a handshake that shows a token in this member of `params`.
pub(crate) fn showing(place: Place, token: &str) -> Value {
    let mut params = initialize_params();
    place.put(&mut params, token);
    params
}

/// Member of a message's `params` that shows a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Proxy,
    Meta,
}

impl Place {
    pub(crate) const BOTH: [Self; 2] = [Self::Proxy, Self::Meta];

    pub(crate) fn put(self, params: &mut Value, token: &str) {
        match self {
            Self::Proxy => params["proxy"] = json!({ "authToken": token }),
            Self::Meta => params["_meta"] = json!({ "switchboard/authToken": token }),
        }
    }
}

/// Starts a window with this token in its environment.
pub(crate) fn with_variable(window: Start, token: &str) -> Client {
    window.env("SWITCHBOARD_TOKEN", token).start()
}

/// The kind of an answer's error.
#[track_caller]
pub(crate) fn kind(answer: &Value) -> &str {
    answer["error"]["data"]["kind"].as_str().unwrap_or_else(|| panic!("no error: {answer}"))
}
