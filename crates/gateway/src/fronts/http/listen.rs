//! Addresses, connections and TLS.

use super::punctual::{Going, Patience, Watched, Work};
use super::{Front, HttpOptions};
use crate::task;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime};
use switchboard_process::path_socket::PathListener;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Somebody who takes longer to say what he wants is not waited for.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How often a connection on which several requests can go at a time is asked whether the other side is still there.
const ALIVE: Duration = Duration::from_secs(30);
/// So many connections are served at a time; the others wait to be let in.
const MOST_CONNECTIONS: usize = 8192;
/// How often it is looked whether a certificate is another now.
const LOOK: Duration = Duration::from_secs(2);

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Tcp(SocketAddr),
    Path(PathBuf),
}

impl Address {
    /// `127.0.0.1:7411`, `localhost:7411`, `unix:/path`.
    pub fn read(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Self::Path(path.into()));
        }
        let mut found = text.to_socket_addrs().map_err(|error| {
            format!("`{text}` is no address to listen at: {error}; write 127.0.0.1:7411, or unix:/a/path")
        })?;
        found.next().map(Self::Tcp).ok_or_else(|| format!("`{text}` leads nowhere"))
    }

    /// Whether only programs on this machine can connect.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().is_loopback(),
            Self::Path(_) => true,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Path(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Where a client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// On this machine.
    Here,
    Elsewhere,
}

/// A certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    pub cert: PathBuf,
    pub key: PathBuf,
}

/// An address that we listen at.
pub(crate) enum Listening {
    Tcp(TcpListener),
    Path(PathListener),
}

/// Takes an address, so that nobody else has it.
pub(crate) async fn bind(options: &HttpOptions) -> io::Result<(Vec<Listening>, Vec<Address>)> {
    let (mut listening, mut addresses) = (Vec::new(), Vec::new());
    for address in &options.listen {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{address}: {error}"));
        match address {
            Address::Tcp(at) => {
                let listener = TcpListener::bind(at).await.map_err(named)?;
                addresses.push(Address::Tcp(listener.local_addr()?));
                listening.push(Listening::Tcp(listener));
            }
            Address::Path(path) => {
                listening.push(Listening::Path(PathListener::bind(path).map_err(named)?));
                addresses.push(address.clone());
            }
        }
    }
    Ok((listening, addresses))
}

/// Everybody who is connected, and the word that it is time to go.
pub(crate) struct Guests {
    room: Arc<Semaphore>,
    closing: watch::Sender<bool>,
    is_closing: AtomicBool,
}

impl Guests {
    pub(crate) fn new() -> Arc<Self> {
        let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        Arc::new(Self { room, closing: watch::channel(false).0, is_closing: AtomicBool::new(false) })
    }

    fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }

    /// Lets them finish, for a while.
    pub(crate) async fn see_off(&self, patience: Duration) {
        self.is_closing.store(true, Ordering::Relaxed);
        self.closing.send_replace(true);
        let _ = tokio::time::timeout(patience, self.room.acquire_many(MOST_CONNECTIONS as u32)).await;
    }
}

/// Lets clients in at one address.
pub(crate) async fn welcome(
    front: Arc<Front>,
    listening: Listening,
    tls: Option<Arc<Tls>>,
    guests: Arc<Guests>,
) {
    loop {
        let Ok(place) = guests.room.clone().acquire_owned().await else { return };
        let accepted = match &listening {
            Listening::Tcp(listener) => match listener.accept().await {
                Ok((stream, peer)) => {
                    // An answer is not to wait for the acknowledgement of the one before.
                    let _ = stream.set_nodelay(true);
                    let from =
                        if peer.ip().to_canonical().is_loopback() { Origin::Here } else { Origin::Elsewhere };
                    Ok((Stream::Tcp(stream), from))
                }
                Err(error) => Err(error),
            },
            Listening::Path(listener) => {
                listener.accept().await.map(|stream| (Stream::Path(stream), Origin::Here))
            }
        };
        let Ok((stream, from)) = accepted else {
            // Without a descriptor for one more: a moment later there may be one.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (front, tls, guests) = (front.clone(), tls.clone(), guests.clone());
        task::spawn("connection", async move {
            let _place = place;
            match stream {
                Stream::Tcp(stream) => greet(front, stream, from, tls, &guests).await,
                Stream::Path(stream) => greet(front, stream, from, tls, &guests).await,
            }
        });
    }
}

enum Stream {
    Tcp(tokio::net::TcpStream),
    Path(switchboard_process::path_socket::PathStream),
}

async fn greet<S>(front: Arc<Front>, stream: S, from: Origin, tls: Option<Arc<Tls>>, guests: &Guests)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Some(tls) = tls else { return serve(front, stream, from, guests).await };
    let Some(acceptor) = tls.acceptor() else { return };
    if let Ok(Ok(stream)) = tokio::time::timeout(HEAD_TIME, acceptor.accept(stream)).await {
        serve(front, stream, from, guests).await;
    }
}

async fn serve<S>(front: Arc<Front>, stream: S, from: Origin, guests: &Guests)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut closing = guests.closing.subscribe();
    let work: Arc<Work> = Arc::default();
    let stream = Watched::new(stream, work.clone());
    let mut patience = Patience::new(work.clone(), HEAD_TIME);
    let service = service_fn(move |request| {
        let front = front.clone();
        // A connection keeps room for the work on a request, even while there is none: for a pointer, then.
        let job = work.begin();
        Box::pin(async move {
            let reply = front.serve(request, from).await;
            Ok::<_, Infallible>(reply.map(|answer| Going { answer, _job: job }))
        })
    });
    let mut builder = Builder::new(TokioExecutor::new());
    // Without `pipeline_flush`: it has every answer copied into a buffer that the connection keeps, however large it was.
    // `Patience` looks at the time.
    builder.http1().header_read_timeout(None);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(256).keep_alive_interval(ALIVE);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let mut seen_off = pin!(closing.wait_for(|is_closing| *is_closing));
    let mut listens = false;
    let ended = poll_fn(|context| {
        // Whatever it was, it concerns this client alone.
        if connection.as_mut().poll(context).is_ready() || patience.is_over(context) {
            return Poll::Ready(true);
        }
        // Once it has been told whom to wake it need not be asked again until the time has come: it would be at each request.
        if (!listens || guests.is_closing()) && seen_off.as_mut().poll(context).is_ready() {
            return Poll::Ready(false);
        }
        listens = true;
        Poll::Pending
    });
    if !ended.await {
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

/// A certificate that may become another while we serve.
pub(crate) struct Tls {
    files: TlsFiles,
    state: Mutex<Loaded>,
}

struct Loaded {
    config: Arc<ServerConfig>,
    stamps: Stamps,
    looked: Instant,
}

type Stamps = (Option<SystemTime>, Option<SystemTime>);

impl Tls {
    pub(crate) fn load(files: TlsFiles) -> io::Result<Arc<Self>> {
        let stamps = stamps(&files);
        let config = read(&files)?;
        Ok(Arc::new(Self { files, state: Mutex::new(Loaded { config, stamps, looked: Instant::now() }) }))
    }

    /// A certificate that cannot be read leaves the one before.
    fn acceptor(&self) -> Option<TlsAcceptor> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.looked.elapsed() >= LOOK {
            state.looked = Instant::now();
            let now = stamps(&self.files);
            if now != state.stamps
                && let Ok(config) = read(&self.files)
            {
                state.config = config;
                state.stamps = now;
            }
        }
        Some(TlsAcceptor::from(state.config.clone()))
    }
}

fn stamps(files: &TlsFiles) -> Stamps {
    let written = |path: &PathBuf| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    (written(&files.cert), written(&files.key))
}

fn read(files: &TlsFiles) -> io::Result<Arc<ServerConfig>> {
    let named = |path: &PathBuf, error: &dyn fmt::Display| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display()))
    };
    let certs = CertificateDer::pem_file_iter(&files.cert).map_err(|error| named(&files.cert, &error))?;
    let certs: Result<Vec<_>, _> = certs.collect();
    let certs = certs.map_err(|error| named(&files.cert, &error))?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| named(&files.key, &error))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| named(&files.cert, &error))?;
    let mut config = builder
        .with_no_client_auth()
        .with_single_cert(certs, key)
        .map_err(|error| named(&files.cert, &error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
