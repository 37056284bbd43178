//! A sequence of clients in one window: each makes requests, checks the answers, and ends in one of several ways. All of
//! them use the same ids.

use super::{Count, Rng, World};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};
use switchboard_testkit::client::{Client, Start, VERSION, Wait};
use switchboard_testkit::message;
use switchboard_testkit::pids::Word;

/// Time after which a request counts as lost.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_OPEN_REQUESTS: usize = 12;

struct Open {
    tag: String,
    since: Instant,
    is_cancelled: bool,
}

struct Window<'a> {
    world: &'a World,
    name: String,
    client: Client,
    /// Open requests by id, as spelled.
    open: BTreeMap<String, Open>,
    /// Cancelled requests, which are no longer waited for.
    taken_back: BTreeSet<String>,
    next: u64,
    rng: Rng,
}

/// End of a client.
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
                world.complain(Count::Lost, &format!("window {number}.{round} cannot be opened: {error}"));
                std::thread::sleep(Duration::from_secs(1));
            }
        }
    }
}

impl<'a> Window<'a> {
    fn open(world: &'a World, name: String, is_rough: bool, seed: u64) -> std::io::Result<Self> {
        let mut rng = Rng(seed);
        let log = OpenOptions::new().append(true).create(true).open(world.scratch.join("windows.stderr"))?;
        let start = Start::inside(&world.scratch, &world.switchboard).stderr(log).own_group();
        let start = start.args(["stdio", "--server", "soak", "--config"]).arg(world.config(is_rough));
        let start = start.env("SWITCHBOARD_STATE_DIR", world.scratch.join("state"));
        let client = start.cwd(world.scratch.join(&rng.below(3).to_string())).try_start()?;
        world.counters.add(Count::Windows);
        let (open, taken_back) = (BTreeMap::new(), BTreeSet::new());
        Ok(Self { world, name, client, open, taken_back, next: 0, rng })
    }

    fn work(&mut self, lifetime: Duration, end: End) {
        let deadline = Instant::now() + lifetime;
        let params = message::initialize_params(&self.name, VERSION, json!({}));
        self.ask("\"first\"", "initialize", params, "initialize");
        while self.open.contains_key("\"first\"") && self.listen(Duration::from_millis(100)) {}
        self.client.notify("notifications/initialized", json!({}));
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

    /// Ids are equal in all windows; some are numbers, others strings.
    fn call(&mut self) {
        self.next += 1;
        let id = if self.next.is_multiple_of(2) {
            format!("{}", self.next / 2)
        } else {
            format!("\"{}\"", self.next / 2)
        };
        if self.rng.below(20) == 0 {
            return self.ask(&id, "tools/list", json!({}), "tools/list");
        }
        let tag = format!("{}/{}", self.name, id.replace('"', "'"));
        let token: Value = serde_json::from_str(&id).unwrap_or_default();
        let fill = if self.rng.below(50) == 0 { self.rng.below(300_000) } else { 0 };
        let arguments = json!({ "tag": tag, "ms": self.rng.below(30), "fill": fill });
        let params = json!({ "name": "later", "arguments": arguments, "_meta": { "progressToken": token } });
        self.ask(&id, "tools/call", params, &tag);
        if self.rng.below(40) == 0 {
            self.client.notify("notifications/cancelled", json!({ "requestId": token }));
            if let Some(open) = self.open.get_mut(&id) {
                open.is_cancelled = true;
            }
        }
    }

    fn ask(&mut self, id: &str, method: &str, params: Value, tag: &str) {
        self.world.counters.add(Count::Requests);
        let open = Open { tag: tag.to_owned(), since: Instant::now(), is_cancelled: false };
        self.open.insert(id.to_owned(), open);
        let id: Value = serde_json::from_str(id).unwrap_or_default();
        self.client.send(message::request(id, method, params).to_string());
    }

    /// Reads messages for this long. `false` at the end of the stream.
    fn listen(&mut self, wait: Duration) -> bool {
        let deadline = Instant::now() + wait;
        loop {
            match self.client.recv_line_within(deadline.saturating_duration_since(Instant::now())) {
                Wait::Found(line) => self.hear(&String::from_utf8_lossy(&line)),
                Wait::Ended => return false,
                Wait::TimedOut => break,
            }
        }
        // A cancelled request may be answered or not.
        let cancelled = |open: &Open| open.is_cancelled && open.since.elapsed() > Duration::from_secs(2);
        let over: Vec<String> =
            self.open.iter().filter(|(_, open)| cancelled(open)).map(|(id, _)| id.clone()).collect();
        for id in over {
            self.open.remove(&id);
            self.taken_back.insert(id);
            self.world.counters.add(Count::Cancelled);
        }
        let late = |open: &Open| open.since.elapsed() > ANSWER_TIMEOUT;
        while let Some(id) = self.open.iter().find(|(_, open)| late(open)).map(|(id, _)| id.clone()) {
            let tag = self.open.remove(&id).map(|open| open.tag).unwrap_or_default();
            self.lose(&format!("{tag} got no answer within {} s", ANSWER_TIMEOUT.as_secs()));
        }
        true
    }

    fn lose(&self, text: &str) {
        self.world.complain(Count::Lost, &format!("window {}: {text}", self.name));
    }

    fn wrong(&self, line: &str, why: &str) {
        let (length, shown) = (line.len(), line.chars().take(300).collect::<String>());
        self.world.complain(Count::Wrong, &format!("window {}: {why}, {length} bytes: {shown}", self.name));
    }

    fn hear(&mut self, line: &str) {
        let Ok(message) = serde_json::from_str::<Value>(line) else { return self.wrong(line, "not JSON") };
        if message["method"] == "notifications/progress" {
            let params = &message["params"];
            let tag = self.open.get(&params["progressToken"].to_string()).map(|open| open.tag.as_str());
            match tag {
                Some(tag) if params["message"] == tag => self.world.counters.add(Count::Progress),
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
            // A cancelled request may still be answered, however late; but only once.
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
            (true, _) => self.world.counters.add(Count::Answers),
            (false, true) => self.world.counters.add(Count::Errors),
            (false, false) => self.wrong(line, "another's answer"),
        }
    }

    fn abandon(&mut self) {
        for (_, open) in std::mem::take(&mut self.open) {
            let what = open.is_cancelled;
            self.world.counters.add(if what { Count::Cancelled } else { Count::Abandoned });
        }
    }

    /// The unexpected end of a program. Only a kill excuses it.
    fn has_ended(&mut self) {
        match self.client.wait() {
            Ok(status) if status.signal() == Some(9) => self.abandon(),
            other => self.lose(&format!("the program ended by itself: {other:?}")),
        }
    }

    fn kill(&mut self) {
        self.client.signal(Word::Kill);
        let _ = self.client.wait();
        self.world.counters.add(Count::KilledClients);
        while self.listen(Duration::from_millis(10)) {}
        self.abandon();
    }

    /// Ends in order: all open requests are answered, and then the program ends.
    fn close(&mut self) {
        self.client.close_input();
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        while self.listen(Duration::from_millis(50)) && Instant::now() < deadline {}
        if Instant::now() >= deadline && !self.client.has_ended() {
            self.client.signal(Word::Kill);
            self.lose("it does not end when its input does");
        }
        let was_killed = self.client.wait().is_ok_and(|status| !status.success());
        if was_killed {
            return self.abandon();
        }
        // Only a killed program may leave a line incomplete.
        let cut_off = self.client.unread_bytes();
        if !cut_off.is_empty() {
            self.wrong(&String::from_utf8_lossy(&cut_off), "cut off");
        }
        for (_, open) in std::mem::take(&mut self.open) {
            match open.is_cancelled {
                true => self.world.counters.add(Count::Cancelled),
                false => self.lose(&format!("{} was open at its end, and got no answer", open.tag)),
            }
        }
    }
}
