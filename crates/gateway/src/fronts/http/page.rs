//! Page for people who open the address in a browser: a short description, and how to connect a client. It is
//! shown without a token, so it names no server and contains no secret.

use super::body::AnswerBody;
use super::reply::with;
use super::{Front, HttpReply, gate};
use hyper::header::{CACHE_CONTROL, HOST, HeaderValue};
use hyper::{Request, StatusCode};

/// The page loads nothing and runs nothing; its styles are inline.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

impl Front {
    /// The page for this host, which the gate has already checked.
    pub(super) fn page<B>(&self, request: &Request<B>) -> HttpReply {
        let authority = request.uri().authority().map(|authority| authority.as_str());
        // HTTP/2 names the host in the request line instead.
        let host = gate::text(request.headers(), &HOST).or(authority).unwrap_or("localhost");
        let scheme = if self.options.tls.is_some() { "https" } else { "http" };
        let address = format!("{scheme}://{host}/mcp");
        let body = html(&address, self.options.needs_token);
        let mut reply = with(StatusCode::OK, "text/html; charset=utf-8", AnswerBody::text(body));
        let headers = reply.headers_mut();
        headers.insert("content-security-policy", HeaderValue::from_static(POLICY));
        headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
        headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        reply
    }
}

fn html(address: &str, needs_token: bool) -> String {
    // The host comes from the request: unescaped, it could inject markup.
    let address = escaped(address);
    let (header, token) = match needs_token {
        true => (
            ",\n      \"headers\": { \"Authorization\": \"Bearer TOKEN\" }",
            "<p>For <code>TOKEN</code>, run <code>switchboard token show</code> on the machine that runs Switchboard.</p>",
        ),
        false => ("", "<p>No token is needed: Switchboard was started with <code>--no-auth</code>.</p>"),
    };
    include_str!("page.html")
        .replace("{address}", &address)
        .replace("{header}", header)
        .replace("{token}", token)
}

fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_escaped() {
        let page = html("http://a/<script>\"'&", true);
        assert!(
            page.contains("http://a/&lt;script&gt;&quot;&#39;&amp;") && !page.contains("<script"),
            "{page}"
        );
        assert!(page.contains("Bearer TOKEN") && page.contains("switchboard token show"));
    }

    #[test]
    fn page_is_filled_in() {
        for needs_token in [true, false] {
            let page = html("http://localhost:7411/mcp", needs_token);
            for mark in ["{address}", "{header}", "{token}"] {
                assert!(!page.contains(mark), "{mark}");
            }
            assert_eq!(page.contains("Bearer"), needs_token);
        }
    }
}
