//! `Mcp-Param-*`: headers that repeat annotated arguments are compared with the body, under the names of each path.

use crate::http::served::{FAKE, Served};
use crate::support::text;
use serde_json::{Value, json};
use switchboard_testkit::http::{Ask, Modern, header_value};
use switchboard_testkit::scratch::Scratch;

const ANNOTATED: &str = r#"{ "tools": [
    { "name": "echo", "inputSchema": { "type": "object", "properties": {
        "region": { "type": "string", "x-mcp-header": "Region" },
        "dry": { "type": "boolean", "x-mcp-header": "Dry" },
        "page": { "type": "object", "properties": { "size": { "type": "integer", "x-mcp-header": "Size" } } } } } },
    { "name": "facts", "inputSchema": { "type": "object", "properties": { "region": { "type": "string" } } } }
] }"#;

/// Paths, and the prefix of tools there.
const PATHS: [(&str, &str); 3] = [(FAKE, ""), ("/mcp", "fake__"), ("/profiles/some/mcp", "fake__")];

struct Annotated {
    served: Served,
    _offer: Scratch,
}

fn annotated() -> Annotated {
    let scratch = Scratch::new();
    let offer = scratch.file("offer.json", ANNOTATED);
    let options = ["--era", "modern", "--offer", offer.to_str().unwrap()];
    let served = Served::with(json!({ "profiles": { "some": ["fake"] } }), json!({}), &options);
    Annotated { served, _offer: scratch }
}

/// A client that has seen the tools of its path.
struct Page<'a> {
    modern: Modern,
    prefix: &'a str,
}

impl Page<'_> {
    fn call(&self, tool: &str, arguments: &Value, headers: &[(&str, &str)]) -> Ask {
        let params = json!({ "name": format!("{}{tool}", self.prefix), "arguments": arguments });
        let ask = self.modern.say(&self.modern.message("tools/call", params).1);
        headers.iter().fold(ask, |ask, (name, value)| ask.also(name, value))
    }

    #[track_caller]
    fn passes(&self, arguments: Value, headers: &[(&str, &str)]) {
        let mut reply = self.call("echo", &arguments, headers).send();
        assert_eq!(text(&reply.json()), arguments.to_string(), "{headers:?}");
    }

    #[track_caller]
    fn is_refused(&self, mut arguments: Value, headers: &[(&str, &str)]) {
        arguments["is"] = json!("forbidden");
        let mut reply = self.call("echo", &arguments, headers).send();
        let answer = reply.json();
        let found = (reply.status, &answer["error"]["code"]);
        assert_eq!(found, (400, &json!(-32020)), "{arguments} {headers:?}: {answer}");
        assert!(answer["error"]["message"].to_string().contains("Mcp-Param-"), "{answer}");
    }
}

/// Runs a check on each path. No call that it has refused may reach the server.
#[track_caller]
fn on_each_path(check: impl Fn(&Page<'_>)) {
    let Annotated { served, _offer } = annotated();
    for (path, prefix) in PATHS {
        let page = Page { modern: Modern::at(&served.web, path), prefix };
        page.modern.request("tools/list", json!({}));
        check(&page);
        // Everything forwarded before this call has arrived by its answer.
        page.passes(json!({ "mark": "the last one" }), &[]);
    }
    let lines = served.record().all_lines();
    assert!(lines.iter().any(|line| line.contains("the last one")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("forbidden")), "{lines:?}");
}

#[test]
fn equal_headers_pass() {
    on_each_path(|page| {
        let west = json!({ "region": "west" });
        page.passes(west.clone(), &[("Mcp-Param-Region", "west")]);
        page.passes(west.clone(), &[("mcp-param-REGION", "west")]);
        page.passes(west, &[("Mcp-Param-Region", "=?base64?d2VzdA==?=")]);
        for odd in ["Köln", " padded ", "line\nline", "=?base64?literal?=", "", "💡"] {
            page.passes(json!({ "region": odd }), &[("Mcp-Param-Region", &header_value(odd))]);
        }
        page.passes(json!({ "dry": true }), &[("Mcp-Param-Dry", "true")]);
        page.passes(json!({ "page": { "size": 7 } }), &[("Mcp-Param-Size", "7")]);
        page.passes(json!({ "page": { "size": 7 } }), &[("Mcp-Param-Size", "7.0")]);
        let all = json!({ "region": "west", "dry": false, "page": { "size": -3 } });
        let headers = [("Mcp-Param-Region", "west"), ("Mcp-Param-Dry", "false"), ("Mcp-Param-Size", "-3")];
        page.passes(all, &headers);
    });
}

#[test]
fn absent_values_have_no_header() {
    on_each_path(|page| {
        for absent in [json!({}), json!({ "region": null }), json!({ "page": {} }), json!({ "page": null })] {
            page.passes(absent.clone(), &[]);
            page.is_refused(absent, &[("Mcp-Param-Region", "west")]);
        }
        page.is_refused(json!({ "page": { "size": null } }), &[("Mcp-Param-Size", "7")]);
    });
}

#[test]
fn other_headers_are_refused() {
    on_each_path(|page| {
        let west = || json!({ "region": "west" });
        page.is_refused(west(), &[]);
        for wrong in ["east", "West", "west,west", "\"west\"", "=?base64?ZWFzdA==?=", "=?base64?%?=", "wëst"]
        {
            page.is_refused(west(), &[("Mcp-Param-Region", wrong)]);
        }
        page.is_refused(west(), &[("Mcp-Param-Region", "west"), ("Mcp-Param-Region", "west")]);
        page.is_refused(west(), &[("Mcp-Param-Region", "west"), ("Mcp-Param-Region", "east")]);
        page.is_refused(json!({ "region": "Köln" }), &[("Mcp-Param-Region", "Köln")]);
        page.is_refused(json!({ "dry": true }), &[("Mcp-Param-Dry", "True")]);
        for wrong in ["8", "", "seven", "7 7"] {
            page.is_refused(json!({ "page": { "size": 7 } }), &[("Mcp-Param-Size", wrong)]);
        }
        page.is_refused(json!({ "region": "west", "dry": true }), &[("Mcp-Param-Region", "west")]);
    });
}

/// Headers that no annotation names say nothing, and those of another tool neither.
#[test]
fn unknown_headers_are_ignored() {
    on_each_path(|page| {
        let west = json!({ "region": "west" });
        let unknown = [("Mcp-Param-Region", "west"), ("Mcp-Param-Other", "anything"), ("Mcp-Param-X", "1")];
        page.passes(west.clone(), &unknown);
        let mut reply = page.call("facts", &west, &[("Mcp-Param-Region", "east")]).send();
        assert!(reply.status == 200 && reply.json().get("result").is_some());
    });
}
