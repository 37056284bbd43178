//! Limits on calls: a call beyond a limit is refused before it is sent, and a permit ends with its call.

use crate::story::{run, run_with, settings};
use std::time::Duration;
use switchboard_core::access::{
    CallAttempt, CallLimiter, CallRefusal, ExceededLimit, LimitScope, NewLimiter, Permit, Rate,
};
use switchboard_core::{Moment, Settings};

#[test]
fn calls_over_the_rate_are_not_sent() {
    run(r#"
        given call_limits 6/min burst 2
        A opens 1
        A> {"id":1,"method":"tools/call","params":{"name":"a"}}
            1< {"id":2,"method":"tools/call","params":{"name":"a"}}
        A> {"id":2,"method":"resources/read","params":{"uri":"mem:a"}}
            1< {"id":3,"method":"resources/read","params":{"uri":"mem:a"}}
        A> {"id":3,"method":"prompts/get","params":{"name":"a"}}
            - owner over the server limit at files: 1
            A< {"id":3,"error":{"code":-32603,"data":{"hint":"try again in 10 s; `limits.rate` of the server `files` is the limit of all clients","kind":"rate_limited","limit":"server","retryAfterMs":10000,"retryable":true,"server":"files"},"message":"too many calls to the server `files`: the limit is 6/min"}}
        A> {"id":4,"method":"tools/list"}
            1< {"id":4,"method":"tools/list"}
        +9.9995s
        A> {"id":5,"method":"tools/call","params":{"name":"a"}}
            A< {"id":5,"error":{…"retryAfterMs":1,…
        +0.0005s
        A> {"id":6,"method":"tools/call","params":{"name":"a"}}
            1< {"id":5,"method":"tools/call","params":{"name":"a"}}
    "#);
}

#[test]
fn a_tool_has_limits_of_its_own() {
    run(r#"
        given tool_limits create_* 1/min; rename create_issue new
        A opens 1
        A> {"id":1,"method":"tools/call","params":{"name":"new"}}
            1< {"id":2,"method":"tools/call","params":{"name":"create_issue"}}
        A> {"id":2,"method":"tools/call","params":{"name":"create_label"}}
            - owner over the tool limit at files: 1
            A< {"id":2,"error":{…"limit":"tool","retryAfterMs":60000,…"message":"too many calls of the tool `create_label`: the limit is 1/min"}}
        A> {"id":3,"method":"tools/call","params":{"name":"new"}}
            A< {"id":3,"error":{…"message":"too many calls of the tool `new`: the limit is 1/min"}}
        A> {"id":4,"method":"tools/call","params":{"name":"read"}}
            1< {"id":3,"method":"tools/call","params":{"name":"read"}}
    "#);
}

/// A hidden name is refused as unknown, and costs nothing.
#[test]
fn hidden_tools_use_up_nothing() {
    run(r#"
        given call_limits 1/min; deny secret
        A opens 1
        A> {"id":1,"method":"tools/call","params":{"name":"secret"}}
            A< {"id":1,"error":{…"kind":"unknown_name"…
        A> {"id":2,"method":"tools/call","params":{"name":"a"}}
            1< {"id":2,"method":"tools/call","params":{"name":"a"}}
    "#);
}

#[test]
fn limits_of_an_identity_hold_everywhere() {
    run(r#"
        given servers more; server 0; shared; server 1; shared
        A comes; folder /p; identity ci; limits 1/min
            start 1 at /p
        1 spawns
        A greets
            1< {"id":1,"method":"initialize",…
        1 greets
            A< {"id":0,"result":{"serverInfo":1}}
        B comes; folder /p; identity ci; limits 1/min; server 1
            start 2 at /p
        2 spawns
        B greets
            2< {"id":2,"method":"initialize",…
        2 greets
            B< {"id":0,"result":{"serverInfo":2}}
        A> {"id":1,"method":"tools/call","params":{"name":"a"}}
            1< {"id":3,"method":"tools/call","params":{"name":"a"}}
        B> {"id":1,"method":"tools/call","params":{"name":"a"}}
            - ci over the token limit at more: 1
            B< {"id":1,"error":{…"hint":"try again in 60 s; the rate limit of `ci` is set with its token",…"limit":"token"…"message":"too many calls of `ci`: the limit is 1/min"}}
    "#);
}

/// The owner has none, unless the config says so; a token's own take precedence, one by one.
#[test]
fn given_limits_are_for_others() {
    let call = r#"
        A> {"id":1,"method":"tools/call","params":{"name":"a"}}
            1< {"id":2,"method":"tools/call","params":{"name":"a"}}
        A> {"id":2,"method":"tools/call","params":{"name":"a"}}
    "#;
    let opens = r#"
            start 1 at /p
        1 spawns
        A greets
            1< {"id":1,"method":"initialize",…
        1 greets
            A< {"id":0,"result":{"serverInfo":1}}
    "#;
    let sent = r#"1< {"id":3,"method":"tools/call","params":{"name":"a"}}"#;
    let refused =
        r#"A< {"id":2,"error":{…"hint":"…`limits.rate` in the config is the limit of each identity"…"#;
    let too_many =
        r#"A< {"id":2,"error":{…"hint":"…`limits.concurrent` in the config is the limit of each identity"…"#;
    for (given, who, expect) in [
        ("1/min", "", sent.to_owned()),
        ("1/min; include_owner", "", format!("- owner over the token limit at files: 1\n{refused}")),
        ("1/min", "; identity anonymous", format!("- anonymous over the token limit at files: 1\n{refused}")),
        ("1/min", "; identity ci; limits 2/min", sent.to_owned()),
        (
            "1/min concurrent 1",
            "; identity ci; limits 2/min",
            format!("- ci over the token limit at files: 1\n{too_many}"),
        ),
    ] {
        run(&format!("given identity_limits {given}\nA comes; folder /p{who}\n{opens}{call}{expect}"));
    }
}

#[test]
fn calls_in_progress_are_limited() {
    run(r#"
        given call_limits concurrent 1
        A opens 1
        A> {"id":1,"method":"tools/call","params":{"name":"a"}}
            1< {"id":2,"method":"tools/call","params":{"name":"a"}}
        A> {"id":2,"method":"tools/call","params":{"name":"a"}}
            - owner over the server limit at files: 1
            A< {"id":2,"error":{…"limit":"server","retryAfterMs":1000,…"message":"too many calls to the server `files` at a time: the limit is 1"}}
        1> {"id":2,"result":{}}
            A< {"id":1,"result":{}}
        A> {"id":3,"method":"tools/call","params":{"name":"a"}}
            1< {"id":3,"method":"tools/call","params":{"name":"a"}}
    "#);
}

/// Whatever ends a call makes room for the next one.
#[test]
fn every_end_returns_the_permit() {
    let opening = r#"
        given call_limits concurrent 1; timeout 60s; on_timeout keep; linger 60min
        A opens 1
        A> {"id":1,"method":"tools/call","params":{"name":"a"}}
            1< {"id":2,"method":"tools/call","params":{"name":"a"}}
    "#;
    let next = |id: u32, process: u32| {
        format!(
            r#"
        A> {{"id":9,"method":"tools/call","params":{{"name":"b"}}}}
            {process}< {{"id":{id},"method":"tools/call","params":{{"name":"b"}}}}
    "#
        )
    };
    for (end, next) in [
        (
            r#"1> {"id":2,"error":{"code":1,"message":"no"}}
            A< {"id":1,"error":…"#,
            next(3, 1),
        ),
        (
            r#"A> {"method":"notifications/cancelled","params":{"requestId":1}}
            1< {"method":"notifications/cancelled","params":{"requestId":2}}"#,
            next(3, 1),
        ),
        (
            r#"+60s
            A< {"id":1,"error":{"code":-32003…
            1< {"method":"notifications/cancelled",…"#,
            next(3, 1),
        ),
        // The late answer to a cancelled call must not end another's permit.
        (
            r#"A> {"method":"notifications/cancelled","params":{"requestId":1}}
            1< {"method":"notifications/cancelled","params":{"requestId":2}}
        A> {"id":2,"method":"tools/call","params":{"name":"b"}}
            1< {"id":3,"method":"tools/call","params":{"name":"b"}}
        1> {"id":2,"result":{}}
            A< {"id":1,"result":{}}
        A> {"id":3,"method":"tools/call","params":{"name":"b"}}
            - owner over the server limit at files: 1
            A< {"id":3,"error":{…"kind":"rate_limited"…
        1> {"id":3,"result":{}}
            A< {"id":2,"result":{}}"#,
            next(4, 1),
        ),
    ] {
        run(&format!("{opening}{end}{next}"));
    }
}

#[test]
fn a_crash_returns_the_permit() {
    run(r#"
        given call_limits concurrent 1
        A opens 1
        A> {"id":1,"method":"tools/call","params":{"name":"a"}}
            1< {"id":2,"method":"tools/call","params":{"name":"a"}}
        1 ends
            A< {"id":1,"error":{"code":-32002…
            - restart after a pause
        A> {"id":2,"method":"tools/call","params":{"name":"a"}}
        A> {"id":3,"method":"tools/call","params":{"name":"a"}}
            - owner over the server limit at files: 1
            A< {"id":3,"error":{…"kind":"rate_limited"…
    "#);
}

/// A read that is sent again after a crash was never over.
#[test]
fn a_retried_read_keeps_its_permit() {
    run(r#"
        given call_limits concurrent 1
        A opens 1
        A> {"id":1,"method":"resources/read","params":{"uri":"mem:a"}}
            1< {"id":2,"method":"resources/read","params":{"uri":"mem:a"}}
        1 ends
            - retry: resources/read
            - restart after a pause
        A> {"id":2,"method":"resources/read","params":{"uri":"mem:a"}}
            - owner over the server limit at files: 1
            A< {"id":2,"error":{…"kind":"rate_limited"…
        +2s
            start 2 at /p
        2 spawns
            2< {"id":3,"method":"initialize",…
        2 greets
            2< {"method":"notifications/initialized"}
            2< {"id":2,"method":"resources/read","params":{"uri":"mem:a"}}
        2> {"id":2,"result":{}}
            A< {"id":1,"result":{}}
        A> {"id":3,"method":"resources/read","params":{"uri":"mem:a"}}
            2< {"id":4,"method":"resources/read","params":{"uri":"mem:a"}}
    "#);
}

#[test]
fn a_lost_client_returns_its_permits() {
    run(r#"
        given call_limits concurrent 1; max_in_flight 1; linger 60s
        A opens 1
        B joins 1
        A> {"id":1,"method":"tools/call","params":{"name":"a"}}
            1< {"id":3,"method":"tools/call","params":{"name":"a"}}
        B> {"id":1,"method":"tools/call","params":{"name":"b"}}
            - owner over the server limit at files: 1
            B< {"id":1,"error":{…"kind":"rate_limited"…
        A leaves
            1< {"method":"notifications/cancelled",…
        B> {"id":2,"method":"tools/call","params":{"name":"b"}}
            1< {"id":4,"method":"tools/call","params":{"name":"b"}}
    "#);
}

#[test]
fn limits_are_shared_by_identities() {
    run(r#"
        given call_limits 60/min burst 2; scope global
        A comes; identity ci
            start 1 at home
        1 spawns
        A greets
            1< {"id":1,"method":"initialize",…
        1 greets
            A< {"id":0,"result":{"serverInfo":1}}
        B comes
        B greets
            B< {"id":0,"result":{"serverInfo":1}}
        A> {"id":1,"method":"tools/call","params":{"name":"a"}}
            1< {"id":3,"method":"tools/call","params":{"name":"a"}}
        A> {"id":2,"method":"tools/call","params":{"name":"a"}}
            1< {"id":4,"method":"tools/call","params":{"name":"a"}}
        B> {"id":1,"method":"tools/call","params":{"name":"a"}}
            - owner over the server limit at files: 1
            B< {"id":1,"error":{…"hint":"try again in 1.0 s; `limits.rate` of the server `files` is the limit of all clients, and 2 share it now"…
        +1s
        A> {"id":3,"method":"tools/call","params":{"name":"a"}}
            - ci over the server limit at files: 1
            A< {"id":3,"error":{…"retryAfterMs":1000…
        B> {"id":2,"method":"tools/call","params":{"name":"a"}}
            1< {"id":5,"method":"tools/call","params":{"name":"a"}}
    "#);
}

#[test]
fn reload_changes_limits_of_running_servers() {
    run(r#"
        given call_limits 2/min
        A opens 1
        A> {"id":1,"method":"tools/call","params":{"name":"a"}}
            1< {"id":2,"method":"tools/call","params":{"name":"a"}}
        A> {"id":2,"method":"tools/call","params":{"name":"a"}}
            1< {"id":3,"method":"tools/call","params":{"name":"a"}}
        config limits 2/min
        A> {"id":3,"method":"tools/call","params":{"name":"a"}}
            - owner over the server limit at files: 1
            A< {"id":3,"error":{…"retryAfterMs":30000…
        config limits 2/s
        +1s
        A> {"id":4,"method":"tools/call","params":{"name":"a"}}
            1< {"id":4,"method":"tools/call","params":{"name":"a"}}
        config lifts its limits
        A> {"id":5,"method":"tools/call","params":{"name":"a"}}
            1< {"id":5,"method":"tools/call","params":{"name":"a"}}
        A> {"id":6,"method":"tools/call","params":{"name":"a"}}
            1< {"id":6,"method":"tools/call","params":{"name":"a"}}
        A> {"id":7,"method":"tools/call","params":{"name":"a"}}
            1< {"id":7,"method":"tools/call","params":{"name":"a"}}
    "#);
}

/// A call that waits for its route counts from the start, and its permit ends with it.
#[test]
fn parked_calls_count() {
    run(r#"
        given call_limits concurrent 1; splits; needs_root
        A comes
        A greets with {"roots":{}}
            A< {"id":0,"result":…
        A confirms
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A> {"id":1,"method":"tools/call","params":{"name":"a"}}
        A> {"id":2,"method":"tools/call","params":{"name":"a"}}
            - owner over the server limit at files: 1
            A< {"id":2,"error":{…"kind":"rate_limited"…
        A> {"method":"notifications/cancelled","params":{"requestId":1}}
        A> {"id":3,"method":"tools/call","params":{"name":"a"}}
    "#);
}

/// Queued requests take turns between identities first, then between their clients.
#[test]
fn identities_take_turns_at_a_server() {
    run(r#"
        given max_in_flight 1; scope global
        A comes; identity ci
            start 1 at home
        1 spawns
        A greets
            1< {"id":1,"method":"initialize",…
        1 greets
            A< {"id":0,"result":{"serverInfo":1}}
        B comes; identity ci
        B greets
            B< {"id":0,"result":{"serverInfo":1}}
        C comes
        C greets
            C< {"id":0,"result":{"serverInfo":1}}
        A> {"id":1,"method":"tools/call","params":{"name":"first"}}
            1< {"id":4,"method":"tools/call","params":{"name":"first"}}
        A> {"id":2,"method":"tools/call","params":{"name":"a2"}}
        B> {"id":1,"method":"tools/call","params":{"name":"b1"}}
        B> {"id":2,"method":"tools/call","params":{"name":"b2"}}
        C> {"id":1,"method":"tools/call","params":{"name":"c1"}}
        C> {"id":2,"method":"tools/call","params":{"name":"c2"}}
        1> {"id":4,"result":{}}
            A< {"id":1,"result":{}}
            1< {"id":5,"method":"tools/call","params":{"name":"a2"}}
        1> {"id":5,"result":{}}
            A< {"id":2,"result":{}}
            1< {"id":8,"method":"tools/call","params":{"name":"c1"}}
        1> {"id":8,"result":{}}
            C< {"id":1,"result":{}}
            1< {"id":6,"method":"tools/call","params":{"name":"b1"}}
        1> {"id":6,"result":{}}
            B< {"id":1,"result":{}}
            1< {"id":9,"method":"tools/call","params":{"name":"c2"}}
        1> {"id":9,"result":{}}
            C< {"id":2,"result":{}}
            1< {"id":7,"method":"tools/call","params":{"name":"b2"}}
    "#);
}

/// Lets everybody make one call at a time.
#[derive(Debug, Default)]
struct HouseRules {
    given: u64,
    held: usize,
}

impl CallLimiter for HouseRules {
    fn begin(&mut self, _: &CallAttempt<'_>, _: Moment) -> Result<Option<Permit>, CallRefusal> {
        if self.held > 0 {
            let limit = ExceededLimit::Rate(Rate::parse("1/d").expect("a rate"));
            let retry_after = Duration::from_secs(7);
            return Err(CallRefusal { scope: LimitScope::Token, limit, retry_after, users: 1 });
        }
        (self.given, self.held) = (self.given + 1, self.held + 1);
        Ok(Some(Permit(self.given)))
    }

    fn end(&mut self, _: Permit) {
        self.held -= 1;
    }

    fn held(&self) -> usize {
        self.held
    }
}

/// Another policy is asked about every call, limits or not, and gets its permits back.
#[test]
fn another_policy_can_take_its_place() {
    let limiter = NewLimiter::by(|| Box::new(HouseRules::default()));
    run_with(
        Settings { limiter, ..settings() },
        r#"
        A opens 1
        A> {"id":1,"method":"tools/call","params":{"name":"a"}}
            1< {"id":2,"method":"tools/call","params":{"name":"a"}}
        A> {"id":2,"method":"prompts/get","params":{"name":"a"}}
            - owner over the token limit at files: 1
            A< {"id":2,"error":{…"retryAfterMs":7000…
        1> {"id":2,"result":{}}
            A< {"id":1,"result":{}}
        A> {"id":3,"method":"prompts/get","params":{"name":"a"}}
            1< {"id":3,"method":"prompts/get","params":{"name":"a"}}
        A> {"id":4,"method":"tools/list"}
            1< {"id":4,"method":"tools/list"}
    "#,
    );
}
