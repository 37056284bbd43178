//! One client after another in one window: each asks, checks what it is told, and goes in one way or another. All of them
//! use the same ids.

use super::{Rng, World};
use crate::spawn::{self, Group};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Beyond this a request counts as lost.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_OPEN_REQUESTS: usize = 12;

/// What is known of an open request.
struct Open {
    tag: String,
    since: Instant,
    is_cancelled: bool,
}

struct Window<'a> {
    world: &'a World,
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// By their ids, as they are spelled.
    open: BTreeMap<String, Open>,
    /// Cancelled, and not waited for any more.
    taken_back: BTreeSet<String>,
    /// A last line without an end.
    cut_off: Option<String>,
    next: u64,
    rng: Rng,
}

/// How a client goes.
enum End {
    Closes,
    IsKilled,
}

pub(super) fn live(world: &World, number: usize, is_rough: bool) {
    let mut rng = Rng(world.seed ^ (number as u64) << 32);
    let mut round = 0;
    while !world.is_over() {
        round += 1;
        let (seed, lifetime) = (rng.next(), Duration::from_millis(200 + rng.below(12_000)));
        let end = if rng.below(3) == 0 { End::IsKilled } else { End::Closes };
        match Window::open(world, format!("{number}.{round}"), is_rough, seed) {
            Ok(mut window) => window.work(lifetime, end),
            Err(error) => {
                world.complain(
                    |tally| &tally.lost,
                    &format!("window {number}.{round} cannot be opened: {error}"),
                );
                std::thread::sleep(Duration::from_secs(1));
            }
        }
    }
}

impl<'a> Window<'a> {
    fn open(world: &'a World, name: String, is_rough: bool, seed: u64) -> std::io::Result<Self> {
        let mut rng = Rng(seed);
        let log = OpenOptions::new().append(true).create(true).open(world.folder.join("windows.stderr"))?;
        let config = world.config(is_rough);
        let words = ["stdio", "--server", "soak", "--config"].map(OsStr::new);
        let argv = [&[world.switchboard.as_os_str()], &words[..], &[config.as_os_str()]].concat();
        let folder = world.folder.join(rng.below(3).to_string());
        let mut child = spawn::window(&argv, &world.folder, &folder, Stdio::from(log), Group::Own)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both were asked to be pipes");
        };
        let (sender, lines) = mpsc::sync_channel(4096);
        std::thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let mut line = String::new();
            while stdout.read_line(&mut line).is_ok_and(|length| length > 0) {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        world.tally.add(|tally| &tally.windows);
        Ok(Self {
            world,
            name,
            child,
            stdin: Some(stdin),
            lines,
            open: BTreeMap::new(),
            taken_back: BTreeSet::new(),
            cut_off: None,
            next: 0,
            rng,
        })
    }

    fn work(&mut self, lifetime: Duration, end: End) {
        let deadline = Instant::now() + lifetime;
        let who = json!({ "name": self.name, "version": "1" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who });
        self.ask("\"first\"", "initialize", &params, "initialize");
        while self.open.contains_key("\"first\"") && self.listen(Duration::from_millis(100)) {}
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        while Instant::now() < deadline && !self.world.is_over() {
            while self.open.len() < MAX_OPEN_REQUESTS && self.rng.below(4) != 0 {
                self.call();
            }
            let wait = Duration::from_millis(self.rng.below(20));
            if !self.listen(wait) {
                return self.has_ended();
            }
        }
        match end {
            End::IsKilled => self.kill(),
            End::Closes => self.close(),
        }
    }

    /// Ids are equal in all windows, and some are numbers where others are texts.
    fn call(&mut self) {
        self.next += 1;
        let id = if self.next.is_multiple_of(2) {
            format!("{}", self.next / 2)
        } else {
            format!("\"{}\"", self.next / 2)
        };
        if self.rng.below(20) == 0 {
            return self.ask(&id, "tools/list", &json!({}), "tools/list");
        }
        let tag = format!("{}/{}", self.name, id.replace('"', "'"));
        let token: Value = serde_json::from_str(&id).unwrap_or_default();
        let fill = if self.rng.below(50) == 0 { self.rng.below(300_000) } else { 0 };
        let arguments = json!({ "tag": tag, "ms": self.rng.below(30), "fill": fill });
        let params = json!({ "name": "echo", "arguments": arguments, "_meta": { "progressToken": token } });
        self.ask(&id, "tools/call", &params, &tag);
        if self.rng.below(40) == 0 {
            let params = json!({ "requestId": token });
            self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }));
            if let Some(open) = self.open.get_mut(&id) {
                open.is_cancelled = true;
            }
        }
    }

    fn ask(&mut self, id: &str, method: &str, params: &Value, tag: &str) {
        self.world.tally.add(|tally| &tally.requests);
        let open = Open { tag: tag.to_owned(), since: Instant::now(), is_cancelled: false };
        self.open.insert(id.to_owned(), open);
        let id: Value = serde_json::from_str(id).unwrap_or_default();
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    fn say(&mut self, message: &Value) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(format!("{message}\n").as_bytes());
        }
    }

    /// Takes what has come, for at most so long. False if nothing more will.
    fn listen(&mut self, wait: Duration) -> bool {
        let deadline = Instant::now() + wait;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.hear(&line),
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        // What was cancelled may be answered all the same, or not.
        let cancelled = |open: &Open| open.is_cancelled && open.since.elapsed() > Duration::from_secs(2);
        let over: Vec<String> =
            self.open.iter().filter(|(_, open)| cancelled(open)).map(|(id, _)| id.clone()).collect();
        for id in over {
            self.open.remove(&id);
            self.taken_back.insert(id);
            self.world.tally.add(|tally| &tally.cancelled);
        }
        let late = |open: &Open| open.since.elapsed() > ANSWER_TIMEOUT;
        while let Some(id) = self.open.iter().find(|(_, open)| late(open)).map(|(id, _)| id.clone()) {
            let tag = self.open.remove(&id).map(|open| open.tag).unwrap_or_default();
            self.lose(&format!("{tag} got no answer within {} s", ANSWER_TIMEOUT.as_secs()));
        }
        true
    }

    fn lose(&self, text: &str) {
        self.world.complain(|tally| &tally.lost, &format!("window {}: {text}", self.name));
    }

    fn wrong(&self, line: &str, why: &str) {
        let (length, shown) = (line.len(), line.chars().take(300).collect::<String>());
        self.world
            .complain(|tally| &tally.wrong, &format!("window {}: {why}, {length} bytes: {shown}", self.name));
    }

    fn hear(&mut self, line: &str) {
        if !line.ends_with('\n') {
            // Whoever is killed may be in the middle of a line; nobody else.
            self.cut_off = Some(line.to_owned());
            return;
        }
        let Ok(message) = serde_json::from_str::<Value>(line) else { return self.wrong(line, "not JSON") };
        if message["method"] == "notifications/progress" {
            let params = &message["params"];
            let tag = self.open.get(&params["progressToken"].to_string()).map(|open| open.tag.as_str());
            match tag {
                Some(tag) if params["message"] == tag => self.world.tally.add(|tally| &tally.progress),
                Some(_) => self.wrong(line, "another's progress"),
                None if self.taken_back.contains(&params["progressToken"].to_string()) => {}
                None => self.wrong(line, "progress of nothing"),
            }
            return;
        }
        if message.get("method").is_some() {
            return;
        }
        let id = message["id"].to_string();
        let Some(open) = self.open.remove(&id) else {
            // What was taken back may be answered all the same, however late; once.
            if !self.taken_back.remove(&id) {
                self.wrong(line, "an answer to nothing");
            }
            return;
        };
        let is_error = message["error"]["data"]["kind"].is_string();
        let is_right = match open.tag.as_str() {
            "initialize" => message["result"]["serverInfo"]["name"] == "soak",
            "tools/list" => message["result"]["tools"].is_array(),
            tag => message["result"]["content"][0]["text"] == tag,
        };
        match (is_right, is_error) {
            (true, _) => self.world.tally.add(|tally| &tally.answers),
            (false, true) => self.world.tally.add(|tally| &tally.errors),
            (false, false) => self.wrong(line, "another's answer"),
        }
    }

    /// The end of a window that was not killed: its last line was whole.
    fn check_last_line(&mut self) {
        if let Some(line) = self.cut_off.take() {
            self.wrong(&line, "cut off");
        }
    }

    fn abandon(&mut self) {
        for (_, open) in std::mem::take(&mut self.open) {
            let what = open.is_cancelled;
            self.world.tally.add(|tally| if what { &tally.cancelled } else { &tally.abandoned });
        }
    }

    /// Killed by [`super::chaos`], or by itself; that is how anything else counts too.
    fn has_ended(&mut self) {
        let status = self.child.wait();
        match status {
            Ok(status) if std::os::unix::process::ExitStatusExt::signal(&status) == Some(9) => self.abandon(),
            other => self.lose(&format!("the program ended by itself: {other:?}")),
        }
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.world.tally.add(|tally| &tally.killed_clients);
        while self.listen(Duration::from_millis(10)) {}
        self.abandon();
    }

    /// In order: everything that is open is answered, and then it ends.
    fn close(&mut self) {
        self.stdin = None;
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        while self.listen(Duration::from_millis(50)) && Instant::now() < deadline {}
        match self.child.try_wait() {
            Ok(None) if Instant::now() >= deadline => {
                let _ = self.child.kill();
                self.lose("it does not end when its input does");
            }
            Ok(_) => {}
            Err(error) => self.lose(&error.to_string()),
        }
        let was_killed = self.child.wait().is_ok_and(|status| !status.success());
        if was_killed {
            return self.abandon();
        }
        self.check_last_line();
        for (_, open) in std::mem::take(&mut self.open) {
            match open.is_cancelled {
                true => self.world.tally.add(|tally| &tally.cancelled),
                false => self.lose(&format!("{} was open at its end, and got no answer", open.tag)),
            }
        }
    }
}
