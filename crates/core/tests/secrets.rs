//! Secrets of the config do not occur in errors, logs and records, wherever a server repeats them.

use crate::story::run;

#[test]
fn quarantined_lines_hide_values() {
    run(r#"
        given secret hunter-two
        A opens 1
        1> raw connecting with hunter-two
            - quarantined: connecting with [redacted]
    "#);
}

/// The limit of a quarantined line is within the value.
#[test]
fn cut_lines_hide_the_start_of_a_value() {
    let filler = "x ".repeat(98);
    let story = r#"
        given secret hunter-two
        A opens 1
        1> raw FILLERhunter-two and more
            - quarantined: FILLER[red
    "#;
    run(&story.replace("FILLER", &filler));
}

#[test]
fn errors_hide_values() {
    run(r#"
        given secret hunter-two
        A comes; folder /p
            start 1 at /p
        A greets
        1 cannot spawn: no program hunter-two
            A< {"id":0,"error":…no program [redacted]…
    "#);
    run(r#"
        given secret hunter-two
        A opens 1
        A> {"id":1,"method":"tools/call"}
            1< {"id":2,"method":"tools/call"}
        1 ends: exit code 1; said: fatal: hunter-two is wrong
            - crashed: fatal: [redacted] is wrong
            A< {"id":1,"error":…fatal: [redacted] is wrong…
            - restart after a pause
    "#);
    run(r#"
        given secret hunter-two; framing newline
        A opens 1; unanswered
        1> {"id":1,"error":{"code":1,"message":"hunter-two is wrong"}}
            A< {"id":0,"error":{"code":1,"message":"hunter-two is wrong"}}
    "#);
}
