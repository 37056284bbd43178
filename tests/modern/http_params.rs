//! `Mcp-Param-*`: headers that repeat annotated arguments are compared with the body, under the names of each path.

use crate::aggregate::slow::stored_in;
use crate::http::served::{FAKE, Served};
use crate::support::text;
use serde_json::{Value, json};
use switchboard_testkit::http::{Ask, Modern, header_value};
use switchboard_testkit::patience;
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

/// Runs a check on each path, for a client that has listed the tools. No call that it has refused may reach the server.
#[track_caller]
fn on_each_path(check: impl Fn(&Page<'_>)) {
    on_each_path_with(|page| {
        page.modern.request("tools/list", json!({}));
        check(page);
    });
}

/// The same for a client that has listed nothing.
#[track_caller]
fn on_each_path_with(check: impl Fn(&Page<'_>)) {
    let Annotated { served, _offer } = annotated();
    for (path, prefix) in PATHS {
        let page = Page { modern: Modern::at(&served.web, path), prefix };
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

/// A client that calls without a list is checked against the list that it would see.
#[test]
fn unlisted_tools_are_checked() {
    on_each_path_with(|page| {
        let west = || json!({ "region": "west" });
        page.is_refused(west(), &[("Mcp-Param-Region", "east")]);
        page.is_refused(west(), &[("mcp-param-region", "east")]);
        page.passes(west(), &[("Mcp-Param-Region", "west")]);
        // From now on the tool is known.
        page.is_refused(west(), &[]);
        let unknown = [("Mcp-Param-Region", "west"), ("Mcp-Param-Other", "anything")];
        page.passes(west(), &unknown);
    });
}

/// One server is not asked for its tools because of a call that repeats nothing. Several have been asked anyway.
#[test]
fn missing_headers_are_noticed_if_known() {
    let Annotated { served, _offer } = annotated();
    for (path, prefix) in PATHS {
        let page = Page { modern: Modern::at(&served.web, path), prefix };
        match path == FAKE {
            true => page.passes(json!({ "region": "west" }), &[]),
            false => page.is_refused(json!({ "region": "west" }), &[]),
        }
    }
    let lists = served.record().all_lines().iter().filter(|line| line.contains("tools/list")).count();
    assert_eq!(lists, 1, "for the clients of several servers");
}

/// Definitions that change after they were listed in the name of a client do not cost it a call.
#[test]
fn changed_annotations_are_fetched_again() {
    let Annotated { served, _offer } = annotated();
    let page = Page { modern: Modern::at(&served.web, FAKE), prefix: "" };
    let west = || json!({ "region": "west" });
    page.passes(west(), &[("Mcp-Param-Region", "west")]);
    _offer.file("offer.json", ANNOTATED.replace("\"Region\"", "\"Place\""));
    page.passes(west(), &[("Mcp-Param-Place", "west")]);
    page.is_refused(west(), &[("Mcp-Param-Place", "east")]);
}

/// Tools on later pages are known as well, and a token sees only its own.
#[test]
fn every_page_is_looked_at() {
    let scratch = Scratch::new();
    let paged =
        ANNOTATED.replacen('{', r#"{ "pageSize": 1,"#, 1).replace("echo", "first").replace("facts", "echo");
    let paged = paged.replace(
        r#""region": { "type": "string" }"#,
        r#""region": { "type": "string", "x-mcp-header": "Place" }"#,
    );
    let offer = scratch.file("offer.json", paged);
    let served = Served::with(json!({}), json!({}), &["--era", "modern", "--offer", offer.to_str().unwrap()]);
    for (path, prefix) in [(FAKE, ""), ("/mcp", "fake__")] {
        let page = Page { modern: Modern::at(&served.web, path), prefix };
        page.is_refused(json!({ "region": "west" }), &[("Mcp-Param-Place", "east")]);
        page.passes(json!({ "region": "west" }), &[("Mcp-Param-Place", "west")]);
    }
}

/// The lists that a server stored at an earlier start are known at once.
#[test]
fn stored_tools_are_checked() {
    let Annotated { served, _offer } = annotated();
    let path = "/mcp";
    Page { modern: Modern::at(&served.web, path), prefix: "fake__" }.modern.request("tools/list", json!({}));
    let folder = served.house.state("catalogue");
    patience::until_true("the lists are stored", || stored_in(&folder) > 0);
    let Served { program, web, house } = served;
    drop((program, web));
    let served = Served::start(house, &[]);
    let page = Page { modern: Modern::at(&served.web, path), prefix: "fake__" };
    page.is_refused(json!({ "region": "west" }), &[]);
    page.is_refused(json!({ "region": "west" }), &[("Mcp-Param-Region", "east")]);
    assert_eq!(served.record().launches(), 1, "nothing was started for a refusal");
    page.passes(json!({ "region": "west" }), &[("Mcp-Param-Region", "west")]);
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
