//! Start of the program, as by a user, in a home of its own.

use super::{Client, Program};
use crate::record::Record;
use crate::scratch::Scratch;
use crate::wine;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Framing of this client's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    Newline,
    ContentLength,
}

/// The kind of the program's standard streams.
#[derive(Debug)]
enum Streams {
    Pipes,
    /// Socket pairs, as node makes them.
    Sockets,
    /// This file as input.
    File(PathBuf),
}

/// A client to be started.
#[derive(Debug)]
pub struct Start {
    pub(super) scratch: Scratch,
    pub(super) framing: Framing,
    pub(super) reads_output: bool,
    pub(super) reads_stderr: bool,
    binary: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    cwd: Option<PathBuf>,
    user: Option<u32>,
    own_group: bool,
    streams: Streams,
    /// `None` for a pipe, which [`Client`] reads.
    stderr: Option<Stdio>,
}

impl Start {
    /// The program in its default mode: with a PATH, an empty home and a runtime folder as a login makes one, both in a
    /// scratch folder of this test. None of our own variables is set.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        Self::within(Scratch::new(), binary)
    }

    /// The same in a scratch folder shared by several programs.
    pub fn inside(scratch: &Scratch, binary: impl Into<PathBuf>) -> Self {
        Self::within(scratch.lent(), binary)
    }

    fn within(scratch: Scratch, binary: impl Into<PathBuf>) -> Self {
        let (home, runtime) = (scratch.home(), scratch.runtime());
        let kept = ["PATH", "SystemRoot", "TMPDIR"];
        let kept = kept.into_iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
        let mut env: Vec<(OsString, OsString)> = kept.collect();
        env.push(("HOME".into(), home.into()));
        env.push(("XDG_RUNTIME_DIR".into(), runtime.into()));
        let (folder, binary) = (scratch.path().to_owned(), binary.into());
        if !wine::is_windows(&binary) {
            return Self::bare(scratch, binary, env).cwd(folder);
        }
        let kept = wine::VARIABLES.into_iter();
        env.extend(kept.filter_map(|name| Some((name.into(), std::env::var_os(name)?))));
        // Otherwise Wine takes the bytes of our arguments for those of another encoding.
        env.push(("LC_ALL".into(), "C.UTF-8".into()));
        let loader = wine::loader().expect("just checked").to_owned();
        Self::bare(scratch, loader, env).cwd(folder).arg(binary)
    }

    fn bare(scratch: Scratch, binary: PathBuf, env: Vec<(OsString, OsString)>) -> Self {
        Self {
            scratch,
            framing: Framing::Newline,
            reads_output: true,
            reads_stderr: true,
            binary,
            args: Vec::new(),
            env,
            cwd: None,
            user: None,
            own_group: false,
            streams: Streams::Pipes,
            stderr: None,
        }
    }

    /// A command line in our own environment and folder, to be measured.
    pub fn plain(argv: &[OsString]) -> Self {
        let (binary, args) = argv.split_first().expect("a command line names a program");
        Self::bare(Scratch::here(), binary.into(), std::env::vars_os().collect()).args(args)
    }

    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// The folder for the record of the fake backend.
    pub fn record(&self) -> Record {
        Record::in_folder(self.scratch.folder("record"))
    }

    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable; later values of a name win.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Sets these variables and no others.
    pub fn only_envs(mut self, env: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.env = env.into_iter().collect();
        self
    }

    /// Removes a variable.
    pub fn without_env(mut self, name: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self
    }

    /// Sets a home that outlives this start: later starts find its config, state and logs.
    pub fn home(self, folder: impl AsRef<OsStr>) -> Self {
        self.env("HOME", folder)
    }

    /// Starts another program in place of this one, which gets the whole command line of this one after
    /// its own arguments; these are made from the path of the scratch folder.
    pub fn behind(mut self, binary: &Path, words: impl FnOnce(&Path) -> Vec<OsString>) -> Self {
        let mut args = words(self.scratch.path());
        args.push(std::mem::replace(&mut self.binary, binary.to_owned()).into());
        args.append(&mut self.args);
        self.args = args;
        self
    }

    pub fn cwd(mut self, folder: impl AsRef<Path>) -> Self {
        self.cwd = Some(folder.as_ref().to_owned());
        self
    }

    /// Runs as another user, who gets the scratch folder. Only for root.
    pub fn user(mut self, number: u32) -> Self {
        self.user = Some(number);
        self.binary = self.scratch.lend(&self.binary);
        self
    }

    /// Makes the program lead a process group, as a shell does.
    pub fn own_group(mut self) -> Self {
        self.own_group = true;
        self
    }

    /// Uses sockets for input and output.
    pub fn over_sockets(mut self) -> Self {
        self.streams = Streams::Sockets;
        self
    }

    /// Uses a file as input. Input sent by the test is dropped.
    pub fn reading_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.streams = Streams::File(file.into());
        self
    }

    pub fn framing(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// Does not read answers until told to.
    pub fn not_reading(mut self) -> Self {
        self.reads_output = false;
        self
    }

    /// Never reads the program's stderr.
    pub fn not_reading_stderr(mut self) -> Self {
        self.reads_stderr = false;
        self
    }

    /// Sets the target of stderr, instead of [`Client`].
    pub fn stderr(mut self, stderr: impl Into<Stdio>) -> Self {
        self.stderr = Some(stderr.into());
        self
    }

    /// Detaches the streams.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(&self.args).env_clear().envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &self.cwd {
            command.current_dir(folder);
        }
        if Some(&*self.binary) == wine::loader() {
            self.name_windows_folders(&mut command);
        }
        command
    }

    /// Wine replaces the home folder and everything in it by its own.
    fn name_windows_folders(&self, command: &mut Command) {
        let value =
            |name: &str| self.env.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value);
        let Some(home) = value("HOME") else { return };
        for (name, folder) in [("XDG_STATE_HOME", ".local/state"), ("XDG_CONFIG_HOME", ".config")] {
            if value(name).is_none() {
                command.env(name, wine::path(&Path::new(home).join(folder)));
            }
        }
        if let Some(folder) = value("XDG_RUNTIME_DIR") {
            command.env("XDG_RUNTIME_DIR", wine::path(Path::new(folder)));
        }
    }

    /// Starts the program in a terminal of this width.
    #[cfg(target_os = "linux")]
    #[track_caller]
    pub fn in_terminal(self, columns: u16) -> crate::terminal::Terminal {
        let command = self.command();
        crate::terminal::Terminal::start(command, self.scratch, columns)
    }

    #[track_caller]
    pub fn start(self) -> Client {
        self.try_start().unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn try_start(mut self) -> io::Result<Client> {
        Ok(Client::adopt(self.spawn()?, self))
    }

    /// Starts a client without threads. Its stderr is lost, unless [`Self::stderr`] was called.
    pub fn program(mut self) -> io::Result<Program> {
        self.stderr.get_or_insert_with(Stdio::null);
        Program::adopt(self.spawn()?)
    }

    /// Starts the process alone, with our ends of its streams.
    pub fn spawn(&mut self) -> io::Result<Child> {
        let mut command = self.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(self.stderr.take().unwrap_or_else(Stdio::piped));
        let sockets = self.connect(&mut command);
        self.dress(&mut command);
        #[expect(
            clippy::disallowed_methods,
            reason = "this plays an IDE, which starts us; `Client` cleans up"
        )]
        let mut child = command.spawn().map_err(|error| {
            io::Error::new(error.kind(), format!("{} cannot be started: {error}", self.binary.display()))
        })?;
        if let Some((input, output)) = sockets {
            child.stdin = Some(input.into());
            child.stdout.get_or_insert_with(|| output.into());
        }
        // `command` holds copies of the other ends, which close here.
        drop(command);
        Ok(child)
    }

    /// Our ends of streams that are no pipes.
    fn connect(&self, command: &mut Command) -> Option<(OwnedFd, OwnedFd)> {
        let pair = || UnixStream::pair().unwrap_or_else(|error| panic!("no sockets: {error}"));
        match &self.streams {
            Streams::Pipes => None,
            Streams::Sockets => {
                let ((ours, theirs), (our_output, their_output)) = (pair(), pair());
                command.stdin(OwnedFd::from(theirs)).stdout(OwnedFd::from(their_output));
                Some((ours.into(), our_output.into()))
            }
            Streams::File(path) => {
                let file = std::fs::File::open(path);
                command.stdin(file.unwrap_or_else(|error| panic!("{}: {error}", path.display())));
                let (ours, output) = pair();
                Some((ours.into(), output.into()))
            }
        }
    }

    fn dress(&self, command: &mut Command) {
        if let Some(user) = self.user {
            self.scratch.give_to(user);
            command.uid(user).gid(user);
        }
        if self.own_group {
            command.process_group(0);
        }
    }
}
