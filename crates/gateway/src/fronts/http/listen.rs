//! Addresses, connections and TLS of the HTTP front.

use super::guests::{Caller, Guest, Guests};
use super::idle_timeout::{Going, HEAD_TIMEOUT, IdleTimeout, Over, Watched, Work};
use super::{Front, HttpOptions};
use crate::io::task;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime};
use switchboard_process::lock::Lock;
use switchboard_process::path_socket::PathListener;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Interval of HTTP/2 pings.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// Interval of checks for a changed certificate.
const TLS_CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Tcp(SocketAddr),
    Path(PathBuf),
}

impl Address {
    /// Parses `127.0.0.1:7411`, `localhost:7411` or `unix:/path`.
    pub fn read(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Self::Path(path.into()));
        }
        let mut found = text.to_socket_addrs().map_err(|error| {
            format!("`{text}` is not an address to listen on: {error}; write 127.0.0.1:7411, or unix:/a/path")
        })?;
        found.next().map(Self::Tcp).ok_or_else(|| format!("`{text}` resolves to no address"))
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

/// Location of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallerOrigin {
    /// On this machine.
    Here,
    /// At this address, perhaps that of a proxy.
    Elsewhere(IpAddr),
}

impl fmt::Display for CallerOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here => write!(f, "this machine"),
            Self::Elsewhere(address) => write!(f, "{address}"),
        }
    }
}

/// Files of a certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    pub cert: PathBuf,
    pub key: PathBuf,
}

/// A bound address.
pub(crate) enum Listening {
    Tcp(TcpListener),
    Path(PathListener),
}

/// Binds all addresses.
pub(crate) async fn bind(options: &HttpOptions) -> io::Result<(Vec<Listening>, Vec<Address>)> {
    let (mut listening, mut addresses) = (Vec::new(), Vec::new());
    for address in &options.listen {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{address}: {error}"));
        match address {
            Address::Tcp(at) => {
                let listener = TcpListener::bind(at).await.map_err(named)?;
                // The bound address, since port 0 lets the system choose one.
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

/// Accepts clients at one address.
pub(crate) async fn welcome(
    front: Arc<Front>,
    listening: Listening,
    tls: Option<Arc<Tls>>,
    guests: Arc<Guests>,
) {
    loop {
        let Ok((stream, from)) = accept(&listening).await else {
            // Without a descriptor for one more: a moment later there may be one.
            guests.dismiss_oldest();
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (front, tls, guests) = (front.clone(), tls.clone(), guests.clone());
        let guest = guests.arrive();
        task::spawn("connection", async move {
            match stream {
                Stream::Tcp(stream) => greet(front, stream, from, tls, &guests, guest).await,
                Stream::Path(stream) => greet(front, stream, from, tls, &guests, guest).await,
            }
        });
    }
}

async fn accept(listening: &Listening) -> io::Result<(Stream, CallerOrigin)> {
    match listening {
        Listening::Tcp(listener) => {
            let (stream, peer) = listener.accept().await?;
            // Without this an answer waits until the client has acknowledged the one before it.
            let _ = stream.set_nodelay(true);
            // An IPv4 address may be written as IPv6 on a socket for both.
            let origin = match peer.ip().to_canonical() {
                address if address.is_loopback() => CallerOrigin::Here,
                address => CallerOrigin::Elsewhere(address),
            };
            Ok((Stream::Tcp(stream), origin))
        }
        Listening::Path(listener) => Ok((Stream::Path(listener.accept().await?), CallerOrigin::Here)),
    }
}

enum Stream {
    Tcp(tokio::net::TcpStream),
    Path(switchboard_process::path_socket::PathStream),
}

async fn greet<S>(
    front: Arc<Front>,
    stream: S,
    from: CallerOrigin,
    tls: Option<Arc<Tls>>,
    guests: &Guests,
    guest: Arc<Guest>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Some(tls) = tls else { return serve(front, stream, from, guests, guest).await };
    let Some(acceptor) = tls.acceptor() else { return };
    tokio::select! {
        // The handshake counts as part of the head: a client that says nothing must not keep a place.
        accepted = tokio::time::timeout(HEAD_TIMEOUT, acceptor.accept(stream)) => {
            if let Ok(Ok(stream)) = accepted {
                serve(front, stream, from, guests, guest).await;
            }
        }
        () = guest.dismissed() => {}
    }
}

/// Next step for a connection.
enum Next {
    /// Ended, or to be closed at once.
    Gone,
    /// To be closed after its running requests.
    Farewell,
}

async fn serve<S>(front: Arc<Front>, stream: S, from: CallerOrigin, guests: &Guests, guest: Arc<Guest>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut closing = guests.closing();
    let work: Arc<Work> = Arc::default();
    let stream = Watched::new(stream, work.clone());
    let mut idle_timeout = IdleTimeout::new(work.clone());
    let caller = Arc::new(Caller::new(from, guest.clone()));
    let service = service_fn(move |request| {
        let (front, caller) = (front.clone(), caller.clone());
        // Boxed, because a connection reserves space for this future even between requests.
        let job = work.begin();
        Box::pin(async move {
            let reply = front.serve(request, &caller).await;
            Ok::<_, Infallible>(reply.map(|answer| Going::new(answer, job)))
        })
    });
    let mut builder = Builder::new(TokioExecutor::new());
    // Without `pipeline_flush`, which would copy every answer into a buffer that the connection keeps,
    // however large. `IdleTimeout` enforces the timeouts.
    builder.http1().header_read_timeout(None);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(256)
        .keep_alive_interval(KEEP_ALIVE_INTERVAL);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let mut seen_off = pin!(closing.wait_for(|is_closing| *is_closing));
    let mut dismissed = pin!(guest.dismissed());
    let (mut listens, mut is_leaving) = (false, false);
    loop {
        let next = poll_fn(|context| {
            // An error concerns this client alone.
            if connection.as_mut().poll(context).is_ready() {
                return Poll::Ready(Next::Gone);
            }
            match idle_timeout.check(context, guest.is_stranger()) {
                Some(Over::Idle) if !is_leaving => return Poll::Ready(Next::Farewell),
                // An idle connection was told to leave before; a late one is not told at all.
                Some(Over::Idle | Over::Late) => return Poll::Ready(Next::Gone),
                None => {}
            }
            // Once these futures have registered a waker, they are not polled again before their time:
            // they would be at each request.
            let may_go = guest.is_stranger() && (!listens || guest.is_dismissed());
            if may_go && dismissed.as_mut().poll(context).is_ready() {
                return Poll::Ready(Next::Gone);
            }
            if !is_leaving && (!listens || guests.is_closing()) && seen_off.as_mut().poll(context).is_ready()
            {
                return Poll::Ready(Next::Farewell);
            }
            listens = true;
            Poll::Pending
        });
        match next.await {
            Next::Gone => return,
            Next::Farewell => {
                connection.as_mut().graceful_shutdown();
                idle_timeout.leave();
                is_leaving = true;
            }
        }
    }
}

/// Certificate that may be replaced while serving.
pub(crate) struct Tls {
    files: TlsFiles,
    state: Lock<LoadedTls>,
}

struct LoadedTls {
    config: Arc<ServerConfig>,
    stamps: Stamps,
    looked: Instant,
}

type Stamps = (Option<SystemTime>, Option<SystemTime>);

impl Tls {
    pub(crate) fn load(files: TlsFiles) -> io::Result<Arc<Self>> {
        let stamps = stamps(&files);
        let config = read(&files)?;
        Ok(Arc::new(Self { files, state: Lock::new(LoadedTls { config, stamps, looked: Instant::now() }) }))
    }

    /// TLS acceptor with the present certificate. An unreadable certificate leaves the old one in place.
    fn acceptor(&self) -> Option<TlsAcceptor> {
        let mut state = self.state.lock();
        if state.looked.elapsed() >= TLS_CHECK_INTERVAL {
            state.looked = Instant::now();
            // Read before the files: a change in between is then noticed at the next check.
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
    // No client certificates: clients are known by their bearer token.
    let mut config = builder
        .with_no_client_auth()
        .with_single_cert(certs, key)
        .map_err(|error| named(&files.cert, &error))?;
    // Offered in TLS, since clients use HTTP/2 only if the handshake says so.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
