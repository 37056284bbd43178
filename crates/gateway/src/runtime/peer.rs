//! Client side of a conversation: starts a program and exchanges newline-delimited JSON with it, one message
//! at a time. For the demo and the commands; not for the forwarding path.

use bytes::{Bytes, BytesMut};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Duration;
use switchboard_process::child::{self, Child, Ended, Launch, Spawned};
use switchboard_process::lock::Lock;
use switchboard_process::pipe::{ByteReader, ByteWriter};
use switchboard_protocol::framing::DEFAULT_MESSAGE_LIMIT_BYTES;
use switchboard_protocol::{Frame, Framer, Framing};
use tokio::task::JoinHandle;

/// Bytes of the program's stderr that are kept.
const MAX_STDERR_BYTES: usize = 64 << 10;
/// Time limit for the rest of stderr after the program's end.
const LAST_STDERR_TIMEOUT: Duration = Duration::from_millis(500);

/// Reason why there is no message.
#[derive(Debug, thiserror::Error)]
pub enum Silence {
    #[error("it sent nothing within {:.1} s", .0.as_secs_f64())]
    TooLong(Duration),
    #[error("it closed its stdout")]
    Ended,
    #[error("it sent a message of {0} bytes, which is over the limit")]
    TooMuch(usize),
    #[error("it sent something that is not JSON: {0}")]
    NotJson(String),
}

/// A running program, and our end of its pipes. Dropping it kills the program.
pub struct Conversation {
    child: Child,
    stdin: ByteWriter,
    stdout: ByteReader,
    framer: Framer,
    words: Arc<Lock<Vec<u8>>>,
    listening: JoinHandle<()>,
}

impl Conversation {
    /// Starts the program with exactly this environment. Must be called within a tokio runtime.
    pub fn start(program: OsString, args: Vec<OsString>, env: Vec<(OsString, OsString)>) -> io::Result<Self> {
        let Spawned { child, stdin, stdout, stderr } =
            child::spawn(&Launch { program, args, env, cwd: None }).map_err(io::Error::other)?;
        let words = Arc::new(Lock::new(Vec::new()));
        let listening = tokio::spawn(listen(stderr, words.clone()));
        let framer = Framer::new(Some(Framing::Newline), DEFAULT_MESSAGE_LIMIT_BYTES);
        Ok(Self { child, stdin, stdout, framer, words, listening })
    }

    /// Changes the message limit. To be called before the first message is read.
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.framer = Framer::new(Some(Framing::Newline), limit);
        self
    }

    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    pub async fn say(&self, message: &Value) -> io::Result<()> {
        self.say_line(&format!("{message}\n")).await
    }

    /// Sends one message; its last byte, and no other, is a line break.
    pub async fn say_line(&self, line: &str) -> io::Result<()> {
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            match self.stdin.try_write(&[IoSlice::new(rest)]) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.stdin.writable().await?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads the next message. A line that is not JSON is an error, as for a strict client.
    pub async fn hear(&mut self, within: Duration) -> Result<Value, Silence> {
        let line =
            tokio::time::timeout(within, self.hear_line()).await.map_err(|_| Silence::TooLong(within))??;
        serde_json::from_slice(&line)
            .map_err(|_| Silence::NotJson(String::from_utf8_lossy(&line).into_owned()))
    }

    /// Reads the next line, without a time limit.
    pub async fn hear_line(&mut self) -> Result<Bytes, Silence> {
        loop {
            match self.framer.next_frame() {
                // Noise is returned too: each caller decides what a line that is not JSON means.
                Some(Frame::Message(line) | Frame::Noise(line)) => return Ok(line),
                Some(Frame::TooLong { length, .. }) => return Err(Silence::TooMuch(length as usize)),
                None => {
                    let read = self.stdout.read(self.framer.buffer()).await;
                    // An error means the same as the end: no more messages can come.
                    let Ok(1..) = read else { return Err(Silence::Ended) };
                }
            }
        }
    }

    /// The program's stderr so far.
    pub fn words(&self) -> String {
        String::from_utf8_lossy(&self.words.lock()).into_owned()
    }

    /// Closes the program's input and waits for its end, by force after `grace`. Returns
    /// how it ended, and its stderr.
    pub async fn end(self, grace: Duration) -> (Ended, String) {
        let Self { mut child, stdin, stdout, words, listening, .. } = self;
        // The end of its input asks a stdio server to end on its own.
        drop(stdin);
        let ended = child.stop(grace).await.ended;
        drop((child, stdout));
        // A grandchild may hold stderr open.
        let _ = tokio::time::timeout(LAST_STDERR_TIMEOUT, listening).await;
        let words = String::from_utf8_lossy(&words.lock()).into_owned();
        (ended, words)
    }
}

async fn listen(mut stderr: ByteReader, words: Arc<Lock<Vec<u8>>>) {
    let mut buffer = BytesMut::new();
    while let Ok(1..) = stderr.read(&mut buffer).await {
        let mut words = words.lock();
        let room = MAX_STDERR_BYTES.saturating_sub(words.len()).min(buffer.len());
        // Bytes beyond the limit are still read, so that a talkative program never blocks on a full pipe.
        words.extend_from_slice(&buffer[..room]);
        buffer.clear();
    }
}
