//! Access checks: Host, Origin, content type and token. The body of a refused request is not read, and no
//! part of it reaches a server.

use super::served::{FAKE, Served, refused, token};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use switchboard_testkit::http::{Ask, Reply, Talk, call, hello};
use switchboard_testkit::patience;

/// A handshake that must not reach a server.
fn knock() -> Value {
    let mut hello = hello("2025-11-25", json!({}));
    hello["params"]["clientInfo"]["name"] = json!("forbidden");
    hello
}

/// Every kind of request, with and without an existing session.
fn all_requests(served: &Served, talk: &Talk) -> Vec<Ask> {
    let web = &served.web;
    let say = call(99, "echo", json!({ "is": "forbidden" })).to_string();
    let mut ways = Vec::new();
    for path in [FAKE, "/mcp"] {
        ways.push(web.post(path, knock().to_string()));
        ways.push(web.post(path, say.clone()).header("Mcp-Session-Id", &talk.session));
        ways.push(web.get(path).header("Mcp-Session-Id", &talk.session));
        ways.push(web.delete(path).header("Mcp-Session-Id", &talk.session));
    }
    for path in ["/sse", "/servers/fake/sse"] {
        ways.push(web.get(path));
    }
    ways.push(web.post(&format!("/servers/fake/messages?session={}", talk.session), say));
    ways
}

#[test]
fn unknown_host_is_refused() {
    let served = Served::set(json!({ "allowedHosts": ["mcp.example.com"] }));
    let talk = served.open();
    let port = served.web.port();
    for host in [
        "evil.test".to_owned(),
        format!("evil.test:{port}"),
        format!("localhost.evil.test:{port}"),
        format!("127.0.0.1.evil.test:{port}"),
        format!("0.0.0.0:{port}"),
        format!("192.168.0.1:{port}"),
        format!("mcp.example.com.evil.test:{port}"),
        format!("[::1].evil.test:{port}"),
        "[localhost]".to_owned(),
        String::new(),
    ] {
        for way in all_requests(&served, &talk) {
            let text = refused(way.header("Host", &host), 403);
            assert!(text.contains("allowedHosts"), "{text}");
        }
        // Not even the health check answers.
        assert_eq!(served.web.get("/healthz").header("Host", &host).send().status, 403, "{host}");
    }
    for way in all_requests(&served, &talk) {
        refused(way.also("Host", "evil.test"), 403);
    }
    for host in [
        "localhost".to_owned(),
        format!("LOCALHOST:{port}"),
        format!("[::1]:{port}"),
        "mcp.example.com".into(),
    ] {
        assert_eq!(
            served
                .web
                .post(FAKE, hello("2025-11-25", json!({})).to_string())
                .header("Host", &host)
                .send()
                .status,
            200,
            "{host}"
        );
    }
    served.check_not_forwarded("forbidden");
}

/// The host of an absolute target is checked like the header.
#[test]
fn absolute_target_must_name_our_host() {
    let served = Served::new();
    let talk = served.open();
    let port = served.web.port();
    let say = call(99, "echo", json!({ "is": "forbidden" })).to_string();
    for authority in ["evil.test".to_owned(), format!("evil.test:{port}"), "localhost@evil.test".to_owned()] {
        for path in [FAKE, "/mcp", "/servers/fake/messages?session=x"] {
            let target = format!("http://{authority}{path}");
            refused(served.web.post(&target, knock().to_string()), 403);
            refused(served.web.post(&target, say.clone()).header("Mcp-Session-Id", &talk.session), 403);
        }
        refused(served.web.get(&format!("http://{authority}/servers/fake/sse")), 403);
        refused(served.web.get(&format!("http://{authority}/healthz")), 403);
    }
    let ours = format!("http://localhost:{port}{FAKE}");
    assert_eq!(served.web.post(&ours, hello("2025-11-25", json!({})).to_string()).send().status, 200);
    served.check_not_forwarded("forbidden");
}

#[test]
fn two_origins_are_refused() {
    let served = Served::new();
    let talk = served.open();
    for (one, two) in [("http://localhost", "http://evil.test"), ("http://localhost", "http://localhost")] {
        for way in all_requests(&served, &talk) {
            let mut reply = way.header("Origin", one).also("Origin", two).send();
            assert_eq!(reply.header("access-control-allow-origin"), None);
            let text = reply.text();
            assert_eq!(reply.status, 403, "{text}");
        }
    }
    served.check_not_forwarded("forbidden");
}

/// The scheme is case-insensitive (RFC 9110): the session is found with any spelling.
#[test]
fn bearer_scheme_is_case_insensitive() {
    let served = Served::new();
    let upper = &served.web;
    let [lower, spaced] = ["bearer ", "BEARER   "]
        .map(|scheme| upper.with("Authorization", &format!("{scheme}{}", token(&served.house))));
    let all = [upper, &lower, &spaced];
    for path in [FAKE, "/mcp"] {
        for begun in all {
            let talk = Talk::open(begun, path);
            for web in all {
                let other = Talk::of(web, path, &talk.session);
                assert_eq!(other.request("ping", json!({}))["result"], json!({}));
                patience::until_true("the own stream can be had", || other.listen().status == 200);
            }
            assert_eq!(Talk::of(&lower, path, &talk.session).end(), 200);
        }
    }
    // HTTP+SSE.
    let mut stream = lower.get("/servers/fake/sse").send();
    let to = stream.event().unwrap().data;
    assert_eq!(upper.post(&to, hello("2024-11-05", json!({})).to_string()).send().status, 202);
    assert_eq!(stream.message().unwrap()["id"], "hello");
}

#[test]
fn unknown_origin_is_refused() {
    let served = Served::set(json!({ "allowedOrigins": ["https://app.example.com"] }));
    let talk = served.open();
    for origin in [
        "http://evil.test",
        "null",
        "",
        "https://localhost.evil.test",
        "http://127.0.0.1.evil.test",
        "http://app.example.com",
        "https://app.example.com.evil.test",
        "https://app.example.com:8443",
        "file://",
        "chrome-extension://abcdef",
    ] {
        for way in all_requests(&served, &talk) {
            let mut reply = way.header("Origin", origin).send();
            assert_eq!(reply.header("access-control-allow-origin"), None, "{origin}");
            let text = reply.text();
            assert_eq!(reply.status, 403, "{origin}: {text}");
        }
        let mut asked = served.web.ask("OPTIONS", FAKE).header("Origin", origin);
        asked = asked.header("Access-Control-Request-Method", "POST");
        let reply = asked.send();
        assert_eq!((reply.status, reply.header("access-control-allow-origin")), (403, None), "{origin}");
    }
    for origin in ["https://app.example.com", "http://localhost:3000", "http://127.0.0.1", "http://[::1]:9"] {
        let may = served.web.ask("OPTIONS", FAKE).without("Authorization").header("Origin", origin).send();
        assert_eq!((may.status, may.header("access-control-allow-origin")), (204, Some(origin)));
        let allowed = may.header("access-control-allow-headers").unwrap();
        for header in [
            "authorization",
            "content-type",
            "mcp-session-id",
            "mcp-protocol-version",
            "last-event-id",
            "mcp-method",
            "mcp-name",
        ] {
            assert!(allowed.contains(header), "{allowed}");
        }
        // Headers for annotated arguments have names of the server's choice.
        let asked = served.web.ask("OPTIONS", FAKE).header("Origin", origin);
        let may = asked.header("Access-Control-Request-Headers", "x-other, Mcp-Param-Region").send();
        let allowed = may.header("access-control-allow-headers").unwrap();
        assert!(allowed.contains("Mcp-Param-Region") && !allowed.contains("x-other"), "{allowed}");
        let reply =
            served.web.post(FAKE, hello("2025-11-25", json!({})).to_string()).header("Origin", origin).send();
        assert_eq!((reply.status, reply.header("access-control-allow-origin")), (200, Some(origin)));
        assert!(reply.header("access-control-expose-headers").unwrap().contains("mcp-session-id"));
    }
    served.check_not_forwarded("forbidden");
}

#[test]
fn only_json_bodies_are_accepted() {
    let served = Served::new();
    let talk = served.open();
    let paths = [FAKE.to_owned(), "/mcp".to_owned()];
    for kind in [
        "text/plain",
        "text/plain; application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json-seq",
        "",
    ] {
        for path in &paths {
            let say = call(99, "echo", json!({ "is": "forbidden" })).to_string();
            refused(served.web.post(path, knock().to_string()).header("Content-Type", kind), 415);
            refused(
                served
                    .web
                    .post(path, say)
                    .header("Mcp-Session-Id", &talk.session)
                    .header("Content-Type", kind),
                415,
            );
        }
    }
    refused(served.web.post(FAKE, knock().to_string()).without("Content-Type"), 415);
    served.check_not_forwarded("forbidden");
}

#[test]
fn missing_or_wrong_token_is_refused() {
    let served = Served::new();
    let talk = served.open();
    let right = token(&served.house);
    let wrong = [
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        format!("Bearer {}", "0".repeat(right.len())),
        format!("Bearer {}", &right[1..]),
        format!("Bearer {right}0"),
        format!("Basic {right}"),
        right.clone(),
    ];
    for way in all_requests(&served, &talk) {
        let reply = way.without("Authorization").send();
        assert_eq!(
            (reply.status, reply.header("www-authenticate")),
            (401, Some("Bearer realm=\"switchboard\""))
        );
    }
    for wrong in wrong {
        for way in all_requests(&served, &talk) {
            let mut reply = way.header("Authorization", &wrong).send();
            assert!(reply.header("www-authenticate").is_some());
            let text = reply.text();
            assert_eq!(reply.status, 401, "{wrong}: {text}");
            assert!(!text.contains(&right), "it is not told");
        }
    }
    // The token is accepted in the header only.
    for path in ["/mcp", FAKE] {
        for name in ["token", "access_token", "key"] {
            let path = format!("{path}?{name}={right}");
            refused(served.web.post(&path, knock().to_string()).without("Authorization"), 401);
        }
        refused(
            served
                .web
                .post(path, knock().to_string())
                .without("Authorization")
                .header("Cookie", &format!("token={right}")),
            401,
        );
    }
    assert_eq!(served.web.without("Authorization").get("/healthz").send().status, 200);
    assert_eq!(served.web.without("Authorization").get("/readyz").send().status, 401);
    served.check_not_forwarded("forbidden");
}

/// The refusal arrives before the body is sent.
#[test]
fn body_is_not_read_without_a_token() {
    let served = Served::new();
    for expect in ["", "Expect: 100-continue\r\n"] {
        let mut connection = served.web.connect();
        let head = format!(
            "POST {FAKE} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: */*\r\n{expect}Content-Length: 1000000\r\n\r\n"
        );
        connection.write_all(head.as_bytes()).unwrap();
        assert_eq!(Reply::read(std::io::BufReader::new(connection)).unwrap().status, 401);
    }
}

#[test]
fn token_file_is_private_and_stable() {
    let served = Served::new();
    let path = served.house.state("token");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let shown = served.house.say(&["token", "show"]);
    assert_eq!(shown.trim(), token(&served.house));
    assert!(shown.trim().len() >= 32, "{shown}");
    assert_eq!(served.house.say(&["token", "show"]), shown, "it stays the same");
}

#[test]
fn token_reaches_no_server() {
    let served = Served::new();
    let token = token(&served.house);
    let talk = served.open();
    let facts = talk.call("facts", json!({})).to_string();
    assert!(facts.contains("\"argv\""), "{facts}");
    assert!(!facts.contains(&token));
    assert!(!served.record().all_lines().iter().any(|line| line.contains(&token)));
}

#[test]
fn no_auth_needs_a_loopback_address() {
    let house = crate::daemon::house::House::new();
    let end = house
        .program("home")
        .args(["serve", "--no-auth", "--listen", "0.0.0.0:0", "--config"])
        .arg(house.config())
        .start()
        .finish();
    assert_eq!(end.code, Some(2), "{}", end.stderr);
    assert!(end.stderr.contains("127.0.0.1"), "{}", end.stderr);
}

/// Requests start no processes but those of the config.
#[test]
fn no_path_accepts_a_command_line() {
    let served = Served::new();
    let order = json!({ "command": "touch", "args": ["forbidden"], "server": "x", "mcpServers": { "x": { "command": "touch" } } });
    for path in [
        "/",
        "/servers",
        "/servers/x",
        "/servers/x/mcp",
        "/servers/touch%20forbidden/mcp",
        "/spawn",
        "/api/servers",
        "/mcp?command=touch&args=forbidden",
        "/sse?command=touch",
        "/stdio?command=touch&transportType=stdio",
        "/connect",
        "/config",
        "/profiles/x/mcp",
    ] {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let mut ask = served.web.post(path, order.to_string());
            if method == "GET" {
                // A stream, and the home page.
                if path.starts_with("/sse") || path == "/" {
                    continue;
                }
                ask = served.web.get(path);
            } else if method != "POST" {
                ask = served.web.ask(method, path);
            }
            let reply = ask.send();
            assert!((400..500).contains(&reply.status), "{method} {path}: {}", reply.status);
        }
    }
    let mut hello = hello("2025-11-25", json!({ "experimental": order }));
    hello["params"]["_meta"] = order.clone();
    assert_eq!(served.web.post(FAKE, hello.to_string()).send().status, 200);
    assert_eq!(served.record().launches(), 1, "the one that was asked for by its name");
    assert!(!served.house.path("home/forbidden").exists());
}
