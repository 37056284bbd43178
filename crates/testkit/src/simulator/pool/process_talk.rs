//! Messages of processes: answers, and notifications with the clients that they concern.

use super::plan::{DEBOUNCED, HIDDEN};
use super::process::{Job, Open};
use super::site::Task;
use super::verb::Verb;
use super::{PoolTurn, PoolWorld};
use crate::simulator::engine::{Check, LEVELS, answer};
use serde_json::{Value, json};
use switchboard_core::{ClientId, Launch};

impl PoolWorld {
    pub(super) fn process_answers(&mut self, launch: Launch) -> Check {
        let count = self.process(launch).open.len();
        if count == 0 {
            return Ok(());
        }
        // Usually in order.
        let index = if self.rng.percent(70) { 0 } else { self.rng.below(count) };
        let open = self.process(launch).open.remove(index);
        self.process(launch).answers += 1;
        let is_filtered = self.is_filtered();
        let mut turn = PoolTurn::default();
        if let Job::Client(number) = open.job {
            self.process(launch).answered = Some((open.id, number));
            let now = self.now;
            let request = &self.ledger.requests[number];
            if request.verb != Verb::Ping && request.is_open() {
                self.process(launch).last_use = now;
            }
            turn.answering = Some((number, Value::Null));
        }
        let words = if open.fails {
            let tag = match open.job {
                Job::Client(number) => Some(number),
                Job::Replay(number) => number,
                Job::Probe | Job::Restore => None,
            };
            json!({ "code": -32000, "message": "no", "data": { "tag": tag } })
        } else {
            self.result_of(launch, &open)
        };
        let text = answer(open.id, format!("\"{}\":{words}", if open.fails { "error" } else { "result" }));
        if let Some((_, expected)) = &mut turn.answering {
            *expected = words;
            // A hidden tool is never shown to a client.
            if let Some(tools) =
                expected.get_mut("tools").and_then(Value::as_array_mut).filter(|_| is_filtered)
            {
                tools.retain(|tool| tool["name"] != HIDDEN);
                self.stats.count("filtered_lists");
            }
        }
        match open.job {
            Job::Client(number) if self.ledger.requests[number].verb == Verb::Initialize => {
                self.process(launch).is_greeted |= !open.fails;
            }
            Job::Client(number) => match self.ledger.requests[number].verb.clone() {
                Verb::TaskResult { task } | Verb::TaskCancel { task } if !open.fails => {
                    self.task_over(launch, &task)
                }
                _ => {}
            },
            Job::Replay(_) => {
                let now = self.now;
                let process = self.process(launch);
                process.is_greeted |= !open.fails;
                process.last_use = now;
            }
            Job::Probe | Job::Restore => {}
        }
        let Some(number) = turn.answering.as_ref().map(|(number, _)| *number) else {
            return self.process_says(turn, launch, text);
        };
        let (was_over, was_open) =
            (self.ledger.requests[number].is_answered, self.ledger.requests[number].is_open());
        self.process_says(turn, launch, text)?;
        if !open.fails && !was_over && (self.ledger.requests[number].is_answered || !was_open) {
            self.note_answer(launch, number, was_open);
        }
        self.check_answered(launch, number)
    }

    fn result_of(&mut self, launch: Launch, open: &Open) -> Value {
        let offers_differ = self.plan.offers_differ;
        // By the abilities that the server hears of.
        let variant = |world: &Self, number: usize| {
            let (_, abilities, _) = world.kind_of(world.ledger.requests[number].client);
            abilities.into_iter().filter(|has_it| *has_it).count()
        };
        let process = &self.processes[&launch];
        let number = match open.job {
            Job::Client(number) | Job::Replay(Some(number)) => number,
            Job::Replay(None) => return welcome(0),
            Job::Probe | Job::Restore => return json!({}),
        };
        match &self.ledger.requests[number].verb {
            Verb::Initialize => {
                let kind = if offers_differ { variant(self, number) } else { 0 };
                welcome(kind)
            }
            Verb::List => {
                let kind =
                    process.greeter.filter(|_| offers_differ).map_or(0, |number| variant(self, number));
                json!({ "tools": [{ "name": format!("echo_{kind}") }, { "name": HIDDEN }] })
            }
            Verb::Call { as_task: true } => {
                json!({ "task": { "taskId": format!("t{number}"), "status": "working" } })
            }
            Verb::TaskGet { task } => json!({ "taskId": task, "status": "working" }),
            Verb::TaskCancel { task } => json!({ "taskId": task, "status": "cancelled" }),
            Verb::Call { .. } | Verb::Read | Verb::TaskResult { .. } => {
                json!({ "tag": number, "root": process.root, "environment": process.environment })
            }
            Verb::Ping | Verb::Subscribe { .. } | Verb::Unsubscribe { .. } | Verb::SetLevel { .. } => {
                json!({})
            }
        }
    }

    /// Effects of an answered request.
    fn note_answer(&mut self, launch: Launch, number: usize, is_open: bool) {
        let request = &self.ledger.requests[number];
        let (client, verb) = (request.client, request.verb.clone());
        if self.is_lost(client) {
            return;
        }
        let still_sure = self.site(launch.backend).sure.contains(&client);
        let site = self.site(launch.backend);
        match verb {
            Verb::Subscribe { uri } if is_open && still_sure => {
                site.loose.remove(&(uri.clone(), client));
                site.subscriptions.entry(uri).or_default().insert(client);
            }
            Verb::Unsubscribe { uri } if is_open && still_sure => drop(site.loose.remove(&(uri, client))),
            Verb::Call { as_task: true } => {
                let id = format!("t{number}");
                site.tasks.push(Task { id: id.clone(), client, launch, is_over: false, is_loose: !is_open });
                self.client(client).tasks.push(id);
                self.stats.count("tasks");
            }
            _ => {}
        }
    }

    fn task_over(&mut self, launch: Launch, id: &str) {
        let now = self.now;
        self.process(launch).free_since = now;
        for task in self.site(launch.backend).tasks.iter_mut().filter(|task| task.id == id) {
            task.is_over = true;
        }
    }

    pub(super) fn process_progresses(&mut self, launch: Launch) -> Check {
        if self.rng.percent(20) {
            return self.progresses_late(launch);
        }
        let requests = &self.ledger.requests;
        let has_token = |open: &&Open| matches!(open.job, Job::Client(n) if requests[n].token.is_some());
        let Some(open) = self.processes[&launch].open.iter().find(has_token).cloned() else { return Ok(()) };
        let Job::Client(number) = open.job else { return Ok(()) };
        self.ledger.requests[number].touched = self.now;
        let params = json!({ "progressToken": open.id, "progress": 1, "tag": number });
        self.process_notifies(launch, "notifications/progress", params)?;
        self.check_progress(number, true)
    }

    /// Progress for a request that was answered.
    fn progresses_late(&mut self, launch: Launch) -> Check {
        let Some((id, number)) = self.processes[&launch].answered else { return Ok(()) };
        if self.ledger.requests[number].token.is_none() {
            return Ok(());
        }
        let params = json!({ "progressToken": id, "progress": 2, "tag": number });
        self.process_notifies(launch, "notifications/progress", params)?;
        self.stats.count_if("late_progress", !self.heard.is_empty());
        self.check_progress(number, true)
    }

    pub(super) fn process_logs(&mut self, launch: Launch) -> Check {
        let lowest = self.process(launch).level.unwrap_or(0);
        let rank = lowest + self.rng.below(LEVELS.len() - lowest);
        let params = json!({ "level": LEVELS[rank], "data": "something" });
        self.process_notifies(launch, "notifications/message", params)?;
        self.check_log(launch, rank)
    }

    pub(super) fn process_lists_change(&mut self, launch: Launch) -> Check {
        let times = self.rng.within(1..=3);
        let mut heard = 0;
        for _ in 0..times {
            self.note_news(launch);
            self.process_notifies(launch, DEBOUNCED, "{}")?;
            self.check_listeners(launch)?;
            heard += usize::from(!self.heard.is_empty());
        }
        let has_users = !self.site(launch.backend).sure.is_empty();
        self.stats.count_if("merged_notifications", has_users && heard == 1 && times > 1);
        Ok(())
    }

    /// Records that clients with lists from this process must be notified.
    fn note_news(&mut self, launch: Launch) {
        if !self.process(launch).is_staying() {
            return;
        }
        let now = self.now;
        let (_, sure) = self.users(launch.backend);
        let site = &self.own.sites[&launch.backend];
        let is_home = |client: &ClientId| self.clients[client].home.iter().eq([&site.root]);
        let concerned: Vec<ClientId> = sure.into_iter().filter(is_home).collect();
        for client in concerned {
            self.site(launch.backend).news_for.insert(client, now);
        }
    }

    pub(super) fn process_updates(&mut self, launch: Launch) -> Check {
        let uris: Vec<String> = self.process(launch).subscriptions.iter().cloned().collect();
        if uris.is_empty() {
            return Ok(());
        }
        let uri = self.rng.pick(&uris).clone();
        self.process_notifies(launch, "notifications/resources/updated", json!({ "uri": uri }))?;
        self.check_update(launch, &uri)
    }

    /// Completes a task, which the process announces by itself.
    pub(super) fn process_ends_task(&mut self, launch: Launch) -> Check {
        let tasks = &self.own.sites[&launch.backend].tasks;
        let is_known = |task: &&Task| task.launch == launch && !task.is_over && !task.is_loose;
        let Some(task) = tasks.iter().find(is_known) else { return Ok(()) };
        let (id, owner) = (task.id.clone(), task.client);
        self.task_over(launch, &id);
        let params = json!({ "taskId": id, "status": "completed" });
        self.process_notifies(launch, "notifications/tasks/status", params)?;
        self.check_only(launch, owner)
    }
}

/// The answer to a handshake, of one of several kinds.
fn welcome(kind: usize) -> Value {
    json!({
        "protocolVersion": "2025-06-18",
        "capabilities": { "tools": { "listChanged": true }, "resources": { "subscribe": true }, "logging": {} },
        "serverInfo": { "name": format!("sim {kind}"), "version": "1" },
    })
}
