//! Other listeners: TLS, a Unix socket, HTTP/2.

use super::served::{FAKE, Served, token};
use crate::daemon::house::House;
use crate::support::text;
use serde_json::json;
use std::fs;
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use switchboard_testkit::http::{Reply, Talk, Web, hello};
use switchboard_testkit::patience;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// A self-signed certificate for this machine, and its key.
pub(crate) fn certificate(folder: &Path) -> (PathBuf, PathBuf) {
    let (cert, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
    openssl.args(["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]);
    openssl
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&cert);
    #[expect(clippy::disallowed_methods, reason = "a tool of the test's, which is waited for")]
    let made = openssl.output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    (cert, key)
}

/// A TLS connection that trusts only this certificate; none if the server shows another.
fn secure(port: u16, trusted: &CertificateDer<'static>) -> Option<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = ClientConnection::new(Arc::new(config), ServerName::try_from("localhost").unwrap()).unwrap();
    let tcp = TcpStream::connect(("127.0.0.1", port)).unwrap();
    tcp.set_read_timeout(Some(patience::LIMIT)).unwrap();
    let mut stream = StreamOwned::new(client, tcp);
    stream.flush().ok()?;
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).ok()?;
    }
    Some(stream)
}

#[test]
fn changed_tls_certificate_is_loaded() {
    let house = House::new();
    let (cert, key) = certificate(&house.path("home"));
    let read = || CertificateDer::from_pem_file(&cert).unwrap();
    let first = read();
    let flags = ["--tls-cert", cert.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let served = Served::start(house, &flags);
    let port = served.web.port();
    let greet = |trusted: &CertificateDer<'static>| {
        let stream = secure(port, trusted)?;
        Some(
            served
                .web
                .post(FAKE, hello("2025-11-25", json!({})).to_string())
                .send_on(Box::new(stream))
                .status,
        )
    };
    assert_eq!(greet(&first), Some(200));
    // A client without TLS gets no answer.
    let mut plain = served.web.connect();
    plain.write_all(&served.web.get("/healthz").to_bytes()).unwrap();
    let mut heard = Vec::new();
    let _ = plain.read_to_end(&mut heard);
    assert!(!heard.starts_with(b"HTTP/1.1 200"), "{heard:?}");
    // An unreadable certificate leaves the old one in use.
    let whole = fs::read(&cert).unwrap();
    fs::write(&cert, "nonsense").unwrap();
    assert_eq!(greet(&first), Some(200));
    fs::write(&cert, whole).unwrap();
    certificate(&served.house.path("home"));
    let second = read();
    patience::until_true("the new certificate is shown", || greet(&second) == Some(200));
    assert_eq!(greet(&first), None);
}

#[test]
fn unix_socket_serves_http() {
    let house = House::new();
    let path = house.path("r/mcp.sock");
    let listen = format!("unix:{}", path.display());
    let served = Served::start(house, &["--listen", &listen]);
    patience::until_true("the socket is there", || path.exists());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0, "nobody else can connect");
    let web = Web::at_path(&path).with("Authorization", &format!("Bearer {}", token(&served.house)));
    assert_eq!(text(&Talk::open(&web, FAKE).call("echo", json!({}))), "{}");
    assert_eq!(web.without("Authorization").get("/mcp").send().status, 401);
    drop(served);
    assert!(!path.exists(), "it goes with us");
}

/// Hand-written frames: enough HTTP/2 for one request.
#[test]
fn http2_works_with_prior_knowledge() {
    let served = Served::new();
    let body = hello("2025-11-25", json!({})).to_string();
    let authorization = format!("Bearer {}", token(&served.house));
    let lower = authorization.replace("Bearer", "bearer");
    for (authorization, authority, host, status) in [
        (&*authorization, "localhost", "localhost", 0x88u8),
        (&lower, "localhost", "127.0.0.1", 0x88),
        ("Bearer nobody", "localhost", "localhost", 0x48),
        // Both `:authority` and `host` are checked.
        (&authorization, "evil.test", "localhost", 0x48),
        (&authorization, "localhost", "evil.test", 0x48),
        (&authorization, "[::1].evil.test", "localhost", 0x48),
    ] {
        let mut connection = served.web.connect();
        let mut said = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        said.extend(frame(4, 0, 0, b""));
        let headers = [
            (":method", "POST"),
            (":scheme", "http"),
            (":authority", authority),
            (":path", FAKE),
            ("host", host),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("authorization", authorization),
        ];
        let block: Vec<u8> = headers.iter().flat_map(|(name, value)| literal(name, value)).collect();
        said.extend(frame(1, 4, 1, &block));
        said.extend(frame(0, 1, 1, body.as_bytes()));
        connection.write_all(&said).unwrap();
        let mut connection = BufReader::new(connection);
        let (mut first, mut answer) = (0, Vec::new());
        loop {
            let mut head = [0; 9];
            connection.read_exact(&mut head).unwrap();
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let mut payload = vec![0; length];
            connection.read_exact(&mut payload).unwrap();
            match head[3] {
                0 => answer.extend(payload),
                1 => first = payload[0],
                _ => continue,
            }
            if head[4] & 1 == 1 {
                break;
            }
        }
        assert_eq!(first, status, "{}", String::from_utf8_lossy(&answer));
        assert_eq!(status == 0x88, String::from_utf8_lossy(&answer).contains("fake-backend"));
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A header literal, never indexed.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| {
        assert!(text.len() < 127);
        [&[text.len() as u8], text.as_bytes()].concat()
    };
    [vec![0x10], text(name), text(value)].concat()
}

#[test]
fn connection_can_be_reused() {
    let served = Served::new();
    let mut connection = served.web.connect();
    for _ in 0..3 {
        let reply: Reply =
            served.web.post(FAKE, hello("2025-11-25", json!({})).to_string()).send_on(connection);
        assert_eq!(reply.status, 200);
        connection = reply.again();
    }
}
