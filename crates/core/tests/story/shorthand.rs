//! Lines that stand for several, outcomes included.
//!
//! | line | meaning |
//! |---|---|
//! | `A opens 1`, `A opens 1; folder /q; env X=1; with CAPABILITIES; offers CAPABILITIES` | a client connects in /p, its process starts, and both complete the handshake |
//! | `B joins 1`, `B joins 1; folder /q; env X=1; with CAPABILITIES` | a client connects in /p, and is answered for the process that runs |

/// Replaces each such line by the lines that it stands for.
pub(super) fn expand(story: &str) -> String {
    story.lines().map(|line| expand_line(line.trim()).unwrap_or_else(|| line.to_owned()) + "\n").collect()
}

fn expand_line(line: &str) -> Option<String> {
    let mut parts = line.split("; ");
    let [who, verb, number] = parts.next()?.split(' ').collect::<Vec<_>>()[..] else { return None };
    let (mut folder, mut env, mut with, mut offers) = ("/p", String::new(), String::new(), String::new());
    if !["opens", "joins"].contains(&verb) {
        return None;
    }
    for part in parts {
        match part.split_once(' ').expect("a word and a value") {
            ("folder", path) => folder = path,
            ("env", text) => env = format!("env {text}"),
            ("with", capabilities) => with = format!(" with {capabilities}"),
            ("offers", capabilities) => offers = format!(" with {capabilities}"),
            other => panic!("unknown option: {other:?}"),
        }
    }
    let (comes, starts) = match env.is_empty() {
        true => (String::new(), String::new()),
        false => (format!("; {env}"), format!(" with {env}")),
    };
    let comes = match folder {
        "nowhere" => format!("{who} comes{comes}"),
        _ => format!("{who} comes; folder {folder}{comes}"),
    };
    Some(match verb {
        "opens" => format!(
            r#"{comes}
                start {number} at {folder}{starts}
            {number} spawns
            {who} greets{with}
                {number}< {{"id":1,"method":"initialize",…}}
            {number} greets{offers}
                {who}< {{"id":0,"result":{{"serverInfo":{number}…}}}}
            {who} confirms
                {number}< {{"method":"notifications/initialized"}}"#
        ),
        _ => format!(
            r#"{comes}
            {who} greets{with}
                {who}< {{"id":0,"result":{{"serverInfo":{number}…}}}}
            {who} confirms"#
        ),
    })
}
