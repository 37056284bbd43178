//! The floor over HTTP: the least that a gateway from HTTP to a server on pipes can cost. An axum server replaces the id of
//! each request with a number of its own, and back again. Supports nothing else: no sessions, no streams, no tokens, and no
//! server that ends early.
//!
//! Single-threaded, like the gateway. Requests that arrive together are written together.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::ops::Range;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{Notify, oneshot};

use switchboard_testkit::client::Start;
use switchboard_testkit::monitor::Monitor;
use switchboard_testkit::wire;

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let command = match arguments.split_first() {
        Some((dashes, command)) if dashes == "--" && !command.is_empty() => command,
        Some(_) | None => return Err("usage: switchboard-bench bridge -- COMMAND ARGS…".to_owned()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let served = runtime.and_then(|runtime| runtime.block_on(serve(command)));
    served.map_err(|error| format!("bridge: {error}"))?;
    Ok(ExitCode::SUCCESS)
}

/// Serves until it is killed: then the server's stdin closes, and the server ends too.
async fn serve(command: &[OsString]) -> io::Result<()> {
    let mut child = Start::plain(command).stderr(Stdio::inherit()).spawn()?;
    let to = ChildStdin::from_std(child.stdin.take().expect("stdin was asked to be a pipe"))?;
    let from = ChildStdout::from_std(child.stdout.take().expect("stdout was asked to be a pipe"))?;
    let bridge = Arc::new(Bridge::default());
    tokio::spawn(write(bridge.clone(), to));
    tokio::spawn(read(bridge.clone(), from));
    let router =
        axum::Router::new().route("/mcp", post(pass)).layer(DefaultBodyLimit::disable()).with_state(bridge);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("bridge: listening at {}", listener.local_addr()?);
    // An answer must not wait for the acknowledgement of the one before.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, router).await
}

#[derive(Default)]
struct Bridge {
    inside: Monitor<Inside>,
    /// Whether there are bytes to write.
    more: Notify,
}

#[derive(Default)]
struct Inside {
    /// Bytes of the next write to the server.
    batch: Vec<u8>,
    waiting: HashMap<u64, Waiting>,
    next: u64,
}

struct Waiting {
    /// The id as the client spelled it.
    id: Box<[u8]>,
    reply: oneshot::Sender<Bytes>,
}

async fn pass(State(bridge): State<Arc<Bridge>>, body: Bytes) -> Response {
    let line = body.trim_ascii_end();
    let Some(id) = wire::field_at(line, b"\"id\"") else {
        bridge.inside.lock().push([line, b"", b""]);
        bridge.more.notify_one();
        return StatusCode::ACCEPTED.into_response();
    };
    let answer = bridge.ask(line, id);
    drop(body);
    match answer.await {
        Ok(message) => ([(CONTENT_TYPE, "application/json")], message).into_response(),
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}

impl Bridge {
    fn ask(&self, line: &[u8], id: Range<usize>) -> oneshot::Receiver<Bytes> {
        let (reply, answer) = oneshot::channel();
        let mut inside = self.inside.lock();
        let number = inside.next;
        inside.next += 1;
        inside.waiting.insert(number, Waiting { id: line[id.clone()].into(), reply });
        let mut digits = Vec::with_capacity(20);
        wire::push_number(&mut digits, number);
        inside.push([&line[..id.start], &digits, &line[id.end..]]);
        self.more.notify_one();
        answer
    }

    /// Hands an answer to the request that waits for it, with the id of that request.
    fn answer(&self, line: &[u8]) {
        let Some(ours) = wire::field_at(line, b"\"id\"") else { return };
        let number = wire::number(&line[ours.clone()]);
        let Some(Waiting { id, reply }) =
            number.and_then(|number| self.inside.lock().waiting.remove(&number))
        else {
            return;
        };
        let message = [&line[..ours.start], &id, &line[ours.end..]].concat();
        // The client may have gone away.
        let _ = reply.send(message.into());
    }
}

impl Inside {
    fn push(&mut self, parts: [&[u8]; 3]) {
        parts.iter().for_each(|part| self.batch.extend_from_slice(part));
        self.batch.push(b'\n');
    }
}

async fn write(bridge: Arc<Bridge>, mut to: ChildStdin) {
    let mut batch = Vec::new();
    loop {
        bridge.more.notified().await;
        std::mem::swap(&mut batch, &mut bridge.inside.lock().batch);
        if to.write_all(&batch).await.is_err() {
            return;
        }
        batch.clear();
    }
}

async fn read(bridge: Arc<Bridge>, mut from: ChildStdout) {
    let mut buffer = Vec::with_capacity(64 * 1024);
    // End of the part without a newline.
    let mut searched = 0;
    while let Ok(1..) = from.read_buf(&mut buffer).await {
        let mut start = 0;
        while let Some(newline) = memchr::memchr(b'\n', &buffer[searched..]) {
            let end = searched + newline;
            bridge.answer(&buffer[start..end]);
            start = end + 1;
            searched = start;
        }
        buffer.drain(..start);
        searched = buffer.len();
        // A large message makes room for its rest, since one read returns no more than there is room for.
        if buffer.capacity() - buffer.len() < 64 * 1024 {
            buffer.reserve(buffer.len().max(64 * 1024));
        }
    }
}
