//! Lines that stand for several, outcomes included. Options follow after `; `.
//!
//! | line | meaning |
//! |---|---|
//! | `A opens 1` | a client connects in the folder /p, its process starts, and both complete the handshake |
//! | `B joins 1` | a client connects in the folder /p, and gets the answer of a process that runs |
//! | `A greets all: 1 2` | a client of all servers connects in /p and greets; the processes 1 and 2 start |
//! | `2 completes handshake 5` | a process spawns, gets `initialize` under the id 5, answers it, and gets `initialized` |
//! | `1 lists 3: read`, `2 lists 4: read write; store 1` | a process is asked for its tools under the id 3 and answers; its server's lists are stored |
//! | `A> {"id":7,…} -> 1 as 2`, `1> {"id":2,…} -> A as 7` | the message reaches a process or client under another id, otherwise to the byte; `-> 1`: under any id |
//! | `A starts 1` | a client connects without a folder (or in one), and its process starts |
//! | `A answers 1 with roots /a /b` | a client answers `roots/list` of the id 1; the folders exist as named |
//!
//! | option | meaning |
//! |---|---|
//! | `folder /q`, `env X=1`, `rights RIGHTS`, `profile NAME` | of the client |
//! | `with CAPABILITIES`, `as NAME` | of the client, in `initialize` |
//! | `offers CAPABILITIES` | of the server, in its answer |
//! | `id 3` | the id of `initialize` towards the process; 1, if nothing is said |
//! | `on greeting` | the process starts when the client greets, not when it connects |
//! | `unanswered` | the process has not answered `initialize` |
//! | `unconfirmed` | the client has not sent `notifications/initialized` |
//! | `answers A` | the answer reaches this client |

/// Replaces each such line by the lines that it stands for.
pub(super) fn expand(story: &str) -> String {
    let lines = story.lines().map(|line| expand_line(line.trim()).unwrap_or_else(|| line.to_owned()));
    lines.map(|line| line + "\n").collect()
}

#[derive(Default)]
struct Options<'a> {
    folder: Option<&'a str>,
    env: Option<&'a str>,
    rights: Option<&'a str>,
    profile: Option<&'a str>,
    with: Option<&'a str>,
    name: Option<&'a str>,
    offers: Option<&'a str>,
    id: Option<&'a str>,
    on_greeting: bool,
    unanswered: bool,
    unconfirmed: bool,
    answers: Option<&'a str>,
    store: Option<&'a str>,
}

impl<'a> Options<'a> {
    fn read(parts: impl Iterator<Item = &'a str>) -> Self {
        let mut options = Self::default();
        for part in parts {
            match part.split_once(' ').unwrap_or((part, "")) {
                ("folder", path) => options.folder = Some(path),
                ("env", text) => options.env = Some(text),
                ("rights", text) => options.rights = Some(text),
                ("profile", name) => options.profile = Some(name),
                ("with", capabilities) => options.with = Some(capabilities),
                ("as", name) => options.name = Some(name),
                ("offers", capabilities) => options.offers = Some(capabilities),
                ("id", id) => options.id = Some(id),
                ("on", "greeting") => options.on_greeting = true,
                ("unanswered", _) => options.unanswered = true,
                ("unconfirmed", _) => options.unconfirmed = true,
                ("answers", client) => options.answers = Some(client),
                ("store", server) => options.store = Some(server),
                other => panic!("unknown option: {other:?}"),
            }
        }
        options
    }

    fn folder(&self) -> &str {
        self.folder.unwrap_or("/p")
    }

    fn comes(&self, who: &str) -> String {
        let env = self.env.map(|env| format!("; env {env}")).unwrap_or_default();
        let rights = self.rights.map(|rights| format!("; rights {rights}")).unwrap_or_default();
        let profile = self.profile.map(|name| format!("; profile {name}")).unwrap_or_default();
        format!("{who} comes; folder {}{env}{rights}{profile}", self.folder())
    }

    fn greets(&self, who: &str) -> String {
        let with = self.with.map(|with| format!(" with {with}")).unwrap_or_default();
        let name = self.name.map(|name| format!(" as {name}")).unwrap_or_default();
        format!("{who} greets{with}{name}")
    }

    fn start(&self, process: &str) -> String {
        let env = self.env.map(|env| format!(" with env {env}")).unwrap_or_default();
        format!("start {process} at {}{env}", self.folder())
    }

    fn initialize(&self, process: &str, id: &str) -> String {
        let with = self.with.unwrap_or("{}");
        let info = self.name.map(|name| format!(r#","clientInfo":{{"name":"{name}"}}"#)).unwrap_or_default();
        let params = format!(r#"{{"protocolVersion":"v","capabilities":{with}{info}}}"#);
        format!(r#"{process}< {{"id":{id},"method":"initialize","params":{params}}}"#)
    }

    fn answer(&self, process: &str) -> String {
        let offers = self.offers.map(|offers| format!(" with {offers}")).unwrap_or_default();
        format!("{process} greets{offers}")
    }

    /// The answer of the process, as a client gets it.
    fn answered(&self, who: &str, process: &str) -> String {
        let offers = self.offers.map(|offers| format!(r#","capabilities":{offers}"#)).unwrap_or_default();
        format!(r#"{who}< {{"id":0,"result":{{"serverInfo":{process}{offers}}}}}"#)
    }
}

fn expand_line(line: &str) -> Option<String> {
    if let Some(passed) = passed_on(line) {
        return Some(passed);
    }
    let mut parts = line.split("; ");
    let words: Vec<&str> = parts.next()?.split(' ').collect();
    let lines = match words[..] {
        [who, "opens", process] => opens(who, process, &Options::read(parts)),
        [who, "starts", process] => {
            let options = Options::read(parts);
            let folder = options.folder.map(|path| format!("; folder {path}")).unwrap_or_default();
            let at = options.folder.unwrap_or("nowhere");
            vec![
                format!("{who} comes{folder}"),
                format!("start {process} at {at}"),
                format!("{process} spawns"),
            ]
        }
        [who, "joins", process] => {
            let options = Options::read(parts);
            let mut lines = vec![options.comes(who), options.greets(who), options.answered(who, process)];
            lines.extend((!options.unconfirmed).then(|| format!("{who} confirms")));
            lines
        }
        [who, "greets", "all:", ref processes @ ..] => {
            let options = Options::read(parts);
            let mut lines = vec![format!("{}; server all", options.comes(who)), options.greets(who)];
            lines.extend(processes.iter().map(|process| options.start(process)));
            lines
        }
        [process, "completes", "handshake", id] => {
            let options = Options::read(parts);
            let mut lines = vec![format!("{process} spawns"), options.initialize(process, id)];
            lines.push(options.answer(process));
            lines.extend(options.answers.map(|client| format!(r#"{client}< {{"id":0,"result":…}}"#)));
            lines.push(format!(r#"{process}< {{"method":"notifications/initialized"}}"#));
            lines
        }
        [process, "lists", id, ref names @ ..] => {
            let options = Options::read(parts);
            let id = id.trim_end_matches(':');
            let tools: Vec<String> = names.iter().map(|name| format!(r#"{{"name":"{name}"}}"#)).collect();
            vec![
                format!(r#"{process}< {{"id":{id},"method":"tools/list"}}"#),
                format!(r#"{process}> {{"id":{id},"result":{{"tools":[{}]}}}}"#, tools.join(",")),
                format!("store {}", options.store.unwrap_or("0")),
            ]
        }
        [who, "answers", id, "with", "roots", ref paths @ ..] => {
            let uris: Vec<String> =
                paths.iter().map(|path| format!(r#"{{"uri":"file://{path}"}}"#)).collect();
            let (uris, paths) = (uris.join(","), paths.join(" "));
            let answer = format!(r#"{who}> {{"id":{id},"result":{{"roots":[{uris}]}}}}"#);
            vec![answer, format!("look up {paths}"), format!("found {paths}")]
        }
        _ => return None,
    };
    Some(lines.join("\n"))
}

/// A message that reaches another party under another id, and the same message there.
fn passed_on(line: &str) -> Option<String> {
    let (event, target) = line.rsplit_once("} -> ")?;
    let (to, id) = target.split_once(" as ").unwrap_or((target, "…"));
    let (_, message) = event.split_once("> {\"id\":")?;
    // An id is a number or a text without commas.
    let (_, rest) = message.split_once(',')?;
    Some(format!("{event}}}\n{to}< {{\"id\":{id},{rest}}}"))
}

fn opens(who: &str, process: &str, options: &Options<'_>) -> Vec<String> {
    let spawns = [options.start(process), format!("{process} spawns")];
    let mut lines = vec![options.comes(who)];
    match options.on_greeting {
        true => lines.extend([options.greets(who)].into_iter().chain(spawns)),
        false => lines.extend(spawns.into_iter().chain([options.greets(who)])),
    }
    lines.push(options.initialize(process, options.id.unwrap_or("1")));
    if !options.unanswered {
        lines.extend([options.answer(process), options.answered(who, process)]);
    }
    if !options.unanswered && !options.unconfirmed {
        lines.push(format!("{who} confirms"));
        lines.push(format!(r#"{process}< {{"method":"notifications/initialized"}}"#));
    }
    lines
}
