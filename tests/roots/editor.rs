//! An editor with folders open: a client that answers every `roots/list`.

use crate::support::configured;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use switchboard_testkit::client::{Client, Start, initialize_params};
use switchboard_testkit::record::Record;

pub(crate) struct Editor {
    pub(crate) client: Client,
    /// Roots, each as the text of an object.
    roots: Vec<String>,
    /// Number of `roots/list` requests.
    pub(crate) asked: usize,
}

/// Facts that a process of the fake backend reports about itself.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) cwd: PathBuf,
    pub(crate) argv: Vec<String>,
    pub(crate) env: Value,
    pub(crate) pid: u32,
}

/// The fake backend with `${root}` in its command line and its environment.
pub(crate) fn rooted(file: Value, mut server: Value) -> Start {
    server["env"] = json!({ "ROOT": "${root}" });
    configured(file, server, &["--", "at:${workspaceFolder}"])
}

/// Folders of the scratch folder, made if missing.
pub(crate) fn folders<const N: usize>(start: &Start, names: [&str; N]) -> [PathBuf; N] {
    names.map(|name| start.scratch().folder(name))
}

/// The URI without escapes: the test escapes characters where needed.
pub(crate) fn uri(path: impl AsRef<Path>) -> String {
    format!("file://{}", path.as_ref().display())
}

impl Editor {
    /// A client without roots, after its handshake.
    #[track_caller]
    pub(crate) fn plain(start: Start) -> Self {
        let mut client = start.start();
        client.initialize();
        Self { client, roots: Vec::new(), asked: 0 }
    }

    /// A client with these folders open, after its handshake.
    #[track_caller]
    pub(crate) fn open<P: AsRef<Path>>(start: Start, folders: &[P]) -> Self {
        let mut editor = Self::silent(start, folders);
        editor.greet();
        editor
    }

    /// The same before its handshake.
    #[track_caller]
    pub(crate) fn silent<P: AsRef<Path>>(start: Start, folders: &[P]) -> Self {
        Self { client: start.start(), roots: roots(folders), asked: 0 }
    }

    /// The handshake, which declares roots.
    #[track_caller]
    fn greet(&mut self) {
        let mut params = initialize_params();
        params["capabilities"] = json!({ "roots": { "listChanged": true } });
        let answer = self.request("initialize", params);
        assert!(answer["result"].is_object(), "no greeting: {answer}");
        self.client.notify("notifications/initialized", json!({}));
    }

    /// Changes the roots; waits until the program has requested them again.
    #[track_caller]
    pub(crate) fn change<P: AsRef<Path>>(&mut self, folders: &[P]) {
        self.change_raw(roots(folders));
    }

    /// The same with roots in this spelling.
    #[track_caller]
    pub(crate) fn change_raw(&mut self, roots: Vec<String>) {
        self.roots = roots;
        let before = self.asked;
        self.client.notify("notifications/roots/list_changed", json!({}));
        self.asked_again(before);
    }

    /// The same without a notification.
    pub(crate) fn change_to<P: AsRef<Path>>(&mut self, folders: &[P]) {
        self.roots = roots(folders);
    }

    /// Answers until `roots/list` came once more than `before`.
    #[track_caller]
    pub(crate) fn asked_again(&mut self, before: usize) {
        while self.asked == before {
            let question = self.client.told("roots/list");
            self.name_roots(&question);
        }
    }

    fn name_roots(&mut self, question: &Value) {
        self.asked += 1;
        let (id, roots) = (&question["id"], self.roots.join(","));
        self.client.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"roots":[{roots}]}}}}"#));
    }

    /// The answer to a request; answers `roots/list` meanwhile.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        loop {
            let is_it = |value: &Value| match value.get("method") {
                None => value["id"] == id,
                Some(method) => method == "roots/list",
            };
            let value = self.client.recv_where(&format!("the answer to {id}"), is_it);
            if value.get("method").is_none() {
                return value;
            }
            self.name_roots(&value);
        }
    }

    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.client.ask(method, params);
        self.answer(id)
    }

    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.client.start_call(tool, arguments);
        self.answer(id)
    }

    /// Facts of the process that a call with these arguments goes to.
    #[track_caller]
    pub(crate) fn facts(&mut self, arguments: Value) -> Facts {
        Facts::of(&self.call("facts", arguments))
    }

    pub(crate) fn record(&self) -> Record {
        self.client.record()
    }

    /// A path in the scratch folder.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.client.scratch().join(name)
    }

    /// Ends in order; returns the output that was not read.
    #[track_caller]
    pub(crate) fn finish(mut self) -> String {
        let end = self.client.finish();
        assert_eq!(end.code, Some(0), "{}", end.stderr);
        String::from_utf8_lossy(&end.stdout).into_owned()
    }
}

impl Facts {
    #[track_caller]
    pub(crate) fn of(answer: &Value) -> Self {
        let result = &answer["result"];
        let Some(argv) = result["argv"].as_array() else { panic!("no facts: {answer}") };
        Self {
            cwd: result["cwd"].as_str().unwrap_or_default().into(),
            argv: argv.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect(),
            env: result["env"].clone(),
            pid: result["pid"].as_u64().unwrap_or_default() as u32,
        }
    }

    /// Checks that the process was started for this folder.
    #[track_caller]
    pub(crate) fn is_at(&self, root: &Path) {
        assert_eq!(self.cwd, root, "{self:?}");
        assert_eq!(self.env["ROOT"], json!(root), "{self:?}");
        assert_eq!(self.argv.last(), Some(&format!("at:{}", root.display())), "{self:?}");
    }
}

fn roots<P: AsRef<Path>>(folders: &[P]) -> Vec<String> {
    folders.iter().map(|folder| json!({ "uri": uri(folder) }).to_string()).collect()
}
