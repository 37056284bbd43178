//! Messages of processes: answers, including wrong and repeated ones, and notifications.

use super::process::{AggregateProcess, Assigned, Job};
use super::verb::{Task, Verb};
use super::{AggregateTurn, AggregateWorld};
use crate::simulator::engine::{Check, LEVELS, Process, answer};
use serde_json::json;
use switchboard_core::Launch;
use switchboard_core::catalogue::List;

impl AggregateWorld {
    pub(super) fn answer_open(&mut self, launch: Launch, open: &Assigned) -> Check {
        let id = open.id;
        let words = match &open.job {
            Job::Greet => self.greeting_of(launch),
            Job::Page { list, cursor } => self.page_of(launch, *list, *cursor),
            Job::Client(tag) => self.words_for(launch, *tag),
            Job::Other => r#""result":{}"#.to_owned(),
        };
        let text = answer(id, words);
        self.process_says(AggregateTurn::default(), launch, text.clone())?;
        if !self.own.is_calm && self.rng.percent(3) && self.processes[&launch].is_alive() {
            self.stats.count("second_answers");
            return self.process_says(AggregateTurn::default(), launch, text);
        }
        Ok(())
    }

    fn greeting_of(&mut self, launch: Launch) -> String {
        let class = self.processes[&launch].class.unwrap_or_default();
        let p = self.process(launch);
        p.is_greeted = true;
        let server = p.server;
        let capabilities = self.own.servers[server].menu(class).capabilities();
        let name = self.name_of(server);
        format!(
            r#""result":{{"protocolVersion":"2025-06-18","capabilities":{capabilities},"serverInfo":{{"name":"{name}","version":"1"}},"instructions":"use it"}}"#
        )
    }

    fn page_of(&mut self, launch: Launch, list: List, from: usize) -> String {
        self.process(launch).has_listed |= list == List::Tools;
        let p = &self.processes[&launch];
        let server = &self.own.servers[p.server];
        let lies = server.lies;
        let menu = server.menu(p.class.unwrap_or_default()).clone();
        if !self.own.is_calm && self.rng.percent(lies) {
            self.stats.count("refused_pages");
            return r#""error":{"code":-32601,"message":"Method not found"}"#.to_owned();
        }
        if !self.own.is_calm && self.rng.percent(lies) {
            return r#""result":{"nothing":[]}"#.to_owned();
        }
        let marks = &menu.lists[list as usize];
        let from = from.min(marks.len());
        let to = (from + menu.page).min(marks.len());
        let items: Vec<String> = marks[from..to].iter().map(|&mark| self.own.items[mark].text()).collect();
        let next = if to < marks.len() { format!(r#","nextCursor":"{to}""#) } else { String::new() };
        self.stats.count("pages_served");
        format!(r#""result":{{"{}":[{}]{next}}}"#, list.member(), items.join(","))
    }

    fn words_for(&mut self, launch: Launch, tag: usize) -> String {
        let fails = !self.own.is_calm && self.rng.percent(6);
        let (verb, client) = (self.ledger.requests[tag].verb.clone(), self.ledger.requests[tag].client);
        if verb == Verb::Initialize && !fails {
            let words = self.greeting_of(launch);
            self.ledger.requests[tag].said = Some(words.clone());
            return words;
        }
        if let Verb::List { list, .. } = verb {
            let words = self.page_of(launch, list, 0);
            self.ledger.requests[tag].said = Some(words.clone());
            return words;
        }
        let server = self.processes[&launch].server;
        let words = if fails {
            format!(r#""error":{{"code":-5,"message":"no","data":{{"tag":{tag}}}}}"#)
        } else if verb == (Verb::Call { as_task: true }) {
            let task = self.own.tasks.len();
            self.own.tasks.push(Task { client, launch });
            self.stats.count("tasks");
            format!(r#""result":{{"task":{{"taskId":"t{task}","status":"working"}},"tag":{tag}}}"#)
        } else if verb == Verb::TasksList {
            let own = (0..self.own.tasks.len()).filter(|&task| self.own.tasks[task].launch == launch);
            let mut ids: Vec<String> = own.map(|task| format!(r#"{{"taskId":"t{task}"}}"#)).collect();
            ids.push(format!(r#"{{"taskId":"s{server}"}}"#));
            format!(r#""result":{{"tasks":[{}],"tag":{tag}}}"#, ids.join(","))
        } else if self.rng.percent(30) && matches!(verb, Verb::Call { .. } | Verb::Read) {
            format!(r#""result":{{"tag":{tag},"content":[{{"uri":"file:///w/1"}}],"n":0.70}}"#)
        } else {
            format!(r#""result":{{"tag":{tag},"n":0.70}}"#)
        };
        self.take_effect(launch, tag, fails);
        self.ledger.requests[tag].said = Some(words.clone());
        words
    }

    /// Effects of a request on the server.
    fn take_effect(&mut self, launch: Launch, tag: usize, fails: bool) {
        let request = &self.ledger.requests[tag];
        let (client, is_open) = (request.client, request.is_open());
        let Some(uri) = request.name.clone().filter(|_| !fails) else { return };
        let uri = self.own_uri(client, &uri);
        let is_subscribe = request.verb == Verb::Subscribe;
        let is_unsubscribe = request.verb == Verb::Unsubscribe;
        // A subscription from before another handshake, or from before a move, has no effect.
        let is_settled = tag >= self.clients[&client].settled_at;
        let p = self.process(launch);
        if is_unsubscribe || is_subscribe {
            p.listeners.retain(|known| *known != (uri.clone(), client));
        }
        if is_unsubscribe && is_open {
            p.deaf.insert((uri.clone(), client));
        }
        if is_subscribe && is_open && is_settled && p.clients.contains(&client) {
            p.listeners.push((uri, client));
        }
    }

    /// Sends an unsolicited message.
    pub(super) fn process_talks(&mut self, launch: Launch) -> Check {
        let p = &self.processes[&launch];
        if !p.is_greeted || p.is_stopping {
            return Ok(());
        }
        match self.rng.below(10) {
            0..4 => self.list_changes(launch),
            4..5 => self.says_news(launch),
            5..6 => self.logs(launch),
            6..8 => self.updates(launch),
            8..9 => self.progresses(launch),
            _ => self.asks_something(launch),
        }
    }

    /// Announces a changed list, from each process that has it, at once or later.
    fn list_changes(&mut self, launch: Launch) -> Check {
        let (server, class) = {
            let p = &self.processes[&launch];
            (p.server, p.class.unwrap_or_default())
        };
        let list = *self.rng.pick(&List::ALL);
        self.change_list(server, class, list);
        self.stats.count("list_changes");
        let differs = self.own.servers[server].differs;
        let offers_it = |p: &&mut Process<AggregateProcess>| {
            p.server == server && p.is_alive() && (!differs || p.class == Some(class))
        };
        for p in self.processes.values_mut().filter(offers_it) {
            p.unannounced.push(list);
        }
        if self.rng.percent(60) { self.says_news(launch) } else { Ok(()) }
    }

    /// Announces the change, often more than once.
    pub(super) fn says_news(&mut self, launch: Launch) -> Check {
        let mut unannounced = std::mem::take(&mut self.process(launch).unannounced);
        if unannounced.is_empty() && !self.own.is_calm {
            unannounced = vec![*self.rng.pick(&List::ALL)];
        }
        for list in unannounced {
            let times = if !self.own.is_calm && self.rng.percent(10) { 20 } else { 1 };
            for _ in 0..times {
                let what = match list {
                    List::Tools => "tools",
                    List::Prompts => "prompts",
                    List::Resources | List::Templates => "resources",
                };
                self.process_notifies(launch, &format!("notifications/{what}/list_changed"), "{}")?;
            }
        }
        Ok(())
    }

    fn logs(&mut self, launch: Launch) -> Check {
        let rank = self.rng.below(8);
        let level = LEVELS[rank];
        let logger = *self.rng.pick(&["", r#","logger":"db""#]);
        let params = format!(r#"{{"level":"{level}"{logger},"data":{{"by":"{launch}"}}}}"#);
        self.process_notifies(launch, "notifications/message", params)?;
        self.stats.count("logs");
        self.check_log(launch, rank, !logger.is_empty())
    }

    fn updates(&mut self, launch: Launch) -> Check {
        let listeners = self.processes[&launch].listeners.clone();
        let uri = match listeners.is_empty() || self.rng.percent(10) {
            true => "file:///w/1".to_owned(),
            false => self.rng.pick(&listeners).0.clone(),
        };
        let params = json!({ "uri": uri, "by": launch.to_string() });
        self.process_notifies(launch, "notifications/resources/updated", params)?;
        self.stats.count("updates");
        self.check_update(launch, &uri)
    }

    fn progresses(&mut self, launch: Launch) -> Check {
        let has_token = |open: &&Assigned| match open.job {
            Job::Client(tag) => self.ledger.requests[tag].token.is_some(),
            Job::Greet | Job::Page { .. } | Job::Other => false,
        };
        let open: Vec<Assigned> = self.processes[&launch].open.iter().filter(has_token).cloned().collect();
        let Some(Assigned { id, job: Job::Client(tag), .. }) = self.rng.choose(&open) else { return Ok(()) };
        let params = format!(r#"{{"progressToken":{id},"progress":{tag}}}"#);
        self.process_notifies(launch, "notifications/progress", params)?;
        // In a batch, the request may have its answer already.
        let request = &self.ledger.requests[tag];
        let must_hear = !request.is_in_batch && self.is_sure(request.client);
        self.check_progress(tag, must_hear)
    }

    fn asks_something(&mut self, launch: Launch) -> Check {
        if !self.plan.asks {
            return Ok(());
        }
        let method = *self.rng.pick(&["sampling/createMessage", "roots/list"]);
        let number = self.ledger.add_ask(launch, self.now, method == "roots/list");
        let params =
            if method == "roots/list" { String::new() } else { format!(r#","params":{{"ask":{number}}}"#) };
        self.stats.count("asks");
        let is_for_roots = method == "roots/list";
        if is_for_roots {
            // Clients with other roots than the process was told move.
            for client in self.processes[&launch].clients.clone() {
                self.roots_moved(client);
            }
        } else {
            let server = self.processes[&launch].server;
            self.own.servers[server].has_asked = true;
        }
        let text = format!(r#"{{"jsonrpc":"2.0","id":"q{number}","method":"{method}"{params}}}"#);
        self.process_says(AggregateTurn::default(), launch, text)?;
        if is_for_roots { Ok(()) } else { self.check_question(launch, number) }
    }
}
