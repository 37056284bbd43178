//! Arrivals at a process: the handshake first, then the clients' settings, then their requests, if they belong there.

use super::PoolWorld;
use super::process::{Job, Open};
use super::verb::Verb;
use crate::simulator::engine::{Asked, Check, LEVELS};
use serde_json::Value;
use switchboard_core::{ClientId, Launch};

impl PoolWorld {
    pub(super) fn told(&mut self, launch: Launch, method: &str, words: &Value) -> Check {
        match method {
            "notifications/roots/list_changed" if self.is_split() => {
                Err(format!("{launch} has one root, and is told that it has others"))
            }
            "notifications/roots/list_changed" if !self.settings.servers[0].asks.roots => {
                Err(format!("{launch} may not know of roots, and is told that they have changed"))
            }
            "notifications/roots/list_changed" => {
                self.stats.count("roots_changed_told");
                Ok(())
            }
            _ => Err(format!("{launch} is told what nobody says: {words}")),
        }
    }

    pub(super) fn requested(&mut self, asked: &Asked<'_>) -> Check {
        let Asked { launch, id, method, tag, words, text } = *asked;
        if let Some(request) = tag.and_then(|tag| self.ledger.requests.get(tag))
            && request.token.is_none()
            && method != "initialize"
            && !text.contains(&request.params)
        {
            return Err(format!("{launch} hears {text}, and its client said {}", request.params));
        }
        let job = self.job(launch, method, tag, words)?;
        let fails = match &job {
            Job::Client(number) => {
                self.client_request_at_process(launch, *number)?;
                let chance = if self.ledger.requests[*number].verb == Verb::Initialize { 3 } else { 7 };
                self.rng.percent(chance)
            }
            Job::Replay(_) => self.rng.percent(1),
            Job::Probe | Job::Restore => false,
        };
        if !fails {
            self.take_effect(launch, &job, method, words);
        }
        let since = self.now;
        self.process(launch).open.push(Open { id, job, since, fails });
        Ok(())
    }

    fn job(&mut self, launch: Launch, method: &str, tag: Option<usize>, words: &Value) -> Check<Job> {
        let is_over = |number: usize| {
            let request = &self.ledger.requests[number];
            let is_being_answered = self.turn.answering.as_ref().is_some_and(|(other, _)| *other == number);
            request.is_answered
                || is_being_answered
                || (request.verb == Verb::Initialize && !request.handed.is_empty())
        };
        match (method, tag) {
            ("initialize", Some(number)) => {
                let job = if is_over(number) { Job::Replay(Some(number)) } else { Job::Client(number) };
                self.check_declared(launch, words)?;
                self.handshake_at_process(launch, Some(number))?;
                Ok(job)
            }
            // A client that makes no handshake has its processes greeted by Switchboard.
            ("initialize", None) if words["params"]["protocolVersion"] == "2024-11-05" => {
                self.stats.count("plain_handshakes");
                self.handshake_at_process(launch, None)?;
                Ok(Job::Replay(None))
            }
            ("logging/setLevel", Some(number)) if is_over(number) => {
                let has_work = self.processes[&launch].has_work;
                self.stats.count(if has_work { "levels_lowered" } else { "levels_restored" });
                Ok(Job::Restore)
            }
            (_, Some(number)) => Ok(Job::Client(number)),
            ("ping", None) => Ok(Job::Probe),
            ("resources/subscribe", None) => {
                self.stats.count("subscriptions_restored");
                let uri = words["params"]["uri"].as_str().unwrap_or_default();
                // A client that had to move takes its subscriptions with it.
                let loose = self.own.sites.values().flat_map(|site| site.loose.iter());
                let loose: Vec<ClientId> =
                    loose.filter(|(other, _)| other == uri).map(|(_, client)| *client).collect();
                let site = self.site(launch.backend);
                site.loose.extend(loose.iter().map(|client| (uri.to_owned(), *client)));
                let wanted: Vec<ClientId> =
                    site.subscriptions.get(uri).into_iter().flatten().copied().chain(loose).collect();
                self.process(launch).may_have_used.extend(wanted);
                Ok(Job::Restore)
            }
            ("resources/unsubscribe", None) => Ok(Job::Restore),
            _ => Err(format!("{launch} is asked what nobody asks: {words}")),
        }
    }

    fn handshake_at_process(&mut self, launch: Launch, number: Option<usize>) -> Check {
        let is_handshake = |open: &Open, world: &Self| match open.job {
            Job::Replay(_) => true,
            Job::Client(number) => world.ledger.requests[number].verb == Verb::Initialize,
            Job::Probe | Job::Restore => false,
        };
        let process = &self.processes[&launch];
        if process.is_greeted || process.open.iter().any(|open| is_handshake(open, self)) {
            return Err(format!("{launch} hears a second handshake"));
        }
        self.stats.count_if("handshakes_made_later", process.handshakes > 1);
        let process = self.process(launch);
        (process.is_confirmed, process.own.greeter) = (false, number);
        Ok(())
    }

    fn take_effect(&mut self, launch: Launch, job: &Job, method: &str, words: &Value) {
        let process = self.process(launch);
        let text = |name: &str| words["params"][name].as_str().unwrap_or_default().to_owned();
        match method {
            "resources/subscribe" => drop(process.subscriptions.insert(text("uri"))),
            "resources/unsubscribe" => drop(process.subscriptions.remove(&text("uri"))),
            "logging/setLevel" => {
                process.level = LEVELS.iter().position(|level| *level == text("level"));
                process.level_by = None;
            }
            _ => {}
        }
        let Job::Client(number) = job else { return };
        let request = &self.ledger.requests[*number];
        let (client, verb) = (request.client, request.verb.clone());
        self.process(launch).has_work |= verb.follows_handshake();
        if let Verb::SetLevel { .. } = verb {
            self.process(launch).level_by = Some(client);
        }
        if let Verb::Subscribe { uri } = verb {
            // Until the answer, the client may or may not get updates.
            self.site(launch.backend).loose.insert((uri, client));
        }
    }

    /// Checks that a client's request goes to the right process, at the right time, and only once.
    fn client_request_at_process(&mut self, launch: Launch, number: usize) -> Check {
        let request = &self.ledger.requests[number];
        let (client, verb) = (request.client, request.verb.clone());
        let what = format!("{client}'s {} (tag {number})", verb.method());
        let c = &self.clients[&client];
        let process = &self.processes[&launch];
        let is_about_task = self.check_place(launch, number, &what)? && !c.home.contains(&process.root);
        if verb.follows_handshake() && c.is_greeted && !process.is_greeted {
            return Err(format!("{launch} is given {what} before it has answered a handshake"));
        }
        if request.is_plain && !(process.is_greeted && process.is_confirmed) {
            return Err(format!("{launch} is given {what} without a handshake"));
        }
        let is_ready = request.is_confirmed && c.is_confirmed && c.is_greeted;
        let is_elsewhere = verb.task().is_some();
        if verb.follows_handshake() && is_ready && !is_elsewhere && !process.is_confirmed {
            return Err(format!("{launch} is given {what} before it hears that its client is ready"));
        }
        self.stats.count_if("tasks_found_again", is_about_task);
        if request.rule.is_use {
            self.check_isolation(launch, client, &verb, &what)?;
        }
        let now = self.now;
        self.give(number, launch)?;
        self.ledger.requests[number].touched = now;
        if verb != Verb::Ping {
            self.process(launch).last_use = now;
        }
        self.serve(number, launch)
    }

    /// Whether a request is about a task that runs here; an error if it belongs elsewhere.
    fn check_place(&self, launch: Launch, number: usize, what: &str) -> Check<bool> {
        let (request, process) = (&self.ledger.requests[number], &self.processes[&launch]);
        if let Some(id) = request.verb.task() {
            let sites = self.own.sites.iter();
            let mut known =
                sites.flat_map(|(backend, site)| site.tasks.iter().map(move |task| (*backend, task)));
            let home = known.find(|(_, task)| {
                task.id == *id
                    && !task.is_loose
                    && task.client == request.client
                    && self.processes[&task.launch].is_alive()
            });
            if let Some((backend, _)) = home {
                return match backend == launch.backend {
                    true => Ok(true),
                    false => Err(format!("{launch} is given {what}, about a task of {backend}")),
                };
            }
            let is_anothers = |task: &super::site::Task| {
                task.id == *id && task.client != request.client && task.launch == launch
            };
            if self.own.sites.values().flat_map(|site| &site.tasks).any(is_anothers) {
                return Err(format!("{launch} is given {what}, about a task of another"));
            }
            return Ok(false);
        }
        // If roots do not decide, an unsent request moves with its client.
        let moves = !self.is_split() && self.clients[&request.client].homes.contains(&process.root);
        if !request.roots.contains(&process.root) && !request.is_unclear && !moves {
            return Err(format!(
                "{launch} is at {:?}, and is given {what}, which belongs to {:?}",
                process.root, request.roots
            ));
        }
        Ok(false)
    }
}
