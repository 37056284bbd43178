//! Whole files with problems: the reports and their positions.

use std::path::Path;

use super::checks::{check_problems, check_server_problems};
use crate::config::load;

#[test]
fn small_audit_files_are_refused() {
    check_problems(
        r#"{ "mcpServers": {}, "audit": { "maxBytes": "1KiB", "clients": "some" } }"#,
        &[
            "error audit.maxBytes 1:44 1KiB is too small | write a size of at least 64KiB",
            "error audit.clients 1:63 unknown value \"some\" | write one of \"remote\", \"all\", \"none\"",
        ],
    );
}

#[test]
fn wrong_pool_settings() {
    check_server_problems(
        r#""scope": "workspace", "maxBackends": 0, "memoryLimit": 512, "rootArguments": [""], "state": true,
           "capabilities": "all", "debounce": { "tools/list_changed": "1s", "notifications/x": "soon" }"#,
        &[
            "error .scope: unknown value \"workspace\" | write one of \"auto\", \"root\", \"global\", \"client\"",
            "error .maxBackends: not a valid number: 0 | write a whole number from 1 to 100000",
            "error .memoryLimit: 512B is less than any server needs \
             | write a size such as \"512MiB\", or 0 for no limit",
            "error .rootArguments: not the name of an argument \
             | write the name of a tool's argument, such as \"directory_path\"",
            "error .state: unknown value true | write one of \"none\", \"client\", \"backend\", \"auto\"",
            "error .capabilities: unknown value \"all\" | write one of \"auto\", \"exact\", \"shared\"",
            "error .debounce.\"notifications/x\": not a duration: \"soon\" \
             | write \"500ms\", \"90s\", \"10m\" or \"1h\", or a number of seconds; at most a year",
        ],
    );
    check_server_problems(
        r#""debounce": { "tools/list_changed": "1s" }, "idleTtl": "long""#,
        &[
            "error .debounce.\"tools/list_changed\": `tools/list_changed` is not the method of a notification \
             | write its full name, such as \"notifications/tools/list_changed\"",
            "error .idleTtl: not a duration: \"long\" \
             | write \"500ms\", \"90s\", \"10m\" or \"1h\", or a number of seconds; at most a year",
        ],
    );
    check_server_problems(
        r#""debounce": "1s""#,
        &["error .debounce: expected an object of times, found a string | write { \"NAME\": \"500ms\" }"],
    );
    check_problems(
        r#"{ "mcpServers": {}, "pool": { "memoryLimit": 9, "maxBackend": 1 }, "defaultRoot": "", "openRoots": "on",
  "fallback": true, "ignoredFolders": ["a/b"] }"#,
        &[
            "error pool.memoryLimit 1:46 9B is less than any server needs \
             | write a size such as \"512MiB\", or 0 for no limit",
            "warning pool.maxBackend 1:49 unknown key `maxBackend`; it is ignored | did you mean `maxBackends`?",
            "error defaultRoot 1:83 not a folder | write a path such as \"~/work\", or remove the key",
            "error openRoots 1:100 expected true or false, found a string | write true or false, without quotes",
            "error fallback 2:15 unknown value true | write one of \"on\", \"off\"",
            "error ignoredFolders 2:39 \"a/b\" is not the name of a folder \
             | write a name such as \"node_modules\", without / and commas",
        ],
    );
}

#[test]
fn server_with_more_backends_than_the_pool() {
    check_problems(
        r#"{ "mcpServers": { "s": { "command": "c", "maxBackends": 9 } }, "pool": { "maxBackends": 8 } }"#,
        &[
            "warning mcpServers.s.maxBackends 1:57 9 is more than the 8 that `pool.maxBackends` allows for all servers \
           | write at most 8, or raise `pool.maxBackends`",
        ],
    );
    // A default is never reported.
    check_problems(r#"{ "mcpServers": { "s": { "command": "c" } }, "pool": { "maxBackends": 1 } }"#, &[]);
}

#[test]
fn remote_problems_show_no_secret() {
    let check = |keys: &str, expect: &[&str]| {
        check_problems(&format!(r#"{{ "mcpServers": {{ "r": {{ {keys} }} }} }}"#), expect);
    };
    check(
        r#""type": "http""#,
        &[
            "error mcpServers.r 1:19 `url` is missing | add the server's address, such as \"url\": \"https://…\"",
        ],
    );
    let remedy = "write the server's address, such as \"https://example.com/mcp\"";
    check(
        r#""url": "ftp://x""#,
        &[&format!("error mcpServers.r.url 1:33 `url` must begin with https:// or http:// | {remedy}")],
    );
    check(
        r#""url": "example.com/mcp""#,
        &[&format!("error mcpServers.r.url 1:33 `url` is not valid: relative URL without a base | {remedy}")],
    );
    check(
        r#""url": "http://example.com/mcp""#,
        &[
            "warning mcpServers.r.url 1:33 http:// is not encrypted: others on the network can read messages and `headers` \
           | use https:// if the server offers it",
        ],
    );
    for fine in
        ["http://localhost:1/mcp", "http://127.0.0.1/mcp", "http://[::1]:80/", "${URL}", "http://${HOST}/mcp"]
    {
        check(&format!(r#""url": "{fine}""#), &[]);
    }
    check(
        r#""url": "https://x", "headers": { "A B": "1", "Mcp-Session-Id": "2", "X": "3", "x": "4" }"#,
        &[
            "error mcpServers.r.headers.\"A B\" 1:59 not the name of a header | use letters, digits and -",
            "error mcpServers.r.headers.Mcp-Session-Id 1:71 this header is set by Switchboard itself | remove it",
            "error mcpServers.r.headers.x 1:104 this header is given twice | remove one of the two",
        ],
    );
}

#[test]
fn unknown_keys_suggest_the_nearest() {
    check_server_problems(
        r#""comand": "x", "start_timeout": "1s", "ARGS": [], "wholly": 1"#,
        &[
            "warning .comand: unknown key `comand`; it is ignored | did you mean `command`?",
            "warning .start_timeout: unknown key `start_timeout`; it is ignored | did you mean `startTimeout`?",
            "warning .ARGS: unknown key `ARGS`; it is ignored | did you mean `args`?",
            "warning .wholly: unknown key `wholly`; it is ignored | -",
        ],
    );
    check_problems(
        r#"{ "mcpservers": {}, "log": { "levle": "info" } }"#,
        &[
            "warning  1:1 no servers in this file | add \"mcpServers\": { \"NAME\": { \"command\": \"…\" } }",
            "warning mcpservers 1:3 unknown key `mcpservers`; it is ignored | did you mean `mcpServers`?",
            "warning log.levle 1:30 unknown key `levle`; it is ignored | did you mean `level`?",
        ],
    );
}

#[test]
fn wrong_types_name_place_and_remedy() {
    check_server_problems(
        r#""args": ["ok", 8080, true], "env": { "PORT": 3000, "": "x", "A=B": "x" }, "cwd": null,
           "disabled": "yes", "passEnv": "HOME""#,
        &[
            "error .args[1]: expected a string, found a number | write text in double quotes",
            "error .args[2]: expected a string, found a boolean | write text in double quotes",
            "error .env.PORT: expected a string, found a number | write text in double quotes",
            "error .env.\"\": not a name for an environment variable | use letters, digits and _",
            "error .env.\"A=B\": not a name for an environment variable | use letters, digits and _",
            "error .cwd: expected a string, found null | remove the key to get the default",
            "error .disabled: expected true or false, found a string | write true or false, without quotes",
            "error .passEnv: expected an array of strings, found a string | write [\"…\", \"…\"]",
        ],
    );
    check_problems(
        r#"{ "mcpServers": { "a": [], "b": { "command": ["npx", "x"] } }, "log": true }"#,
        &[
            "error mcpServers.a 1:24 expected an object, found an array | write { … }",
            "error mcpServers.b.command 1:46 expected a string, found an array | write text in double quotes",
            "error log 1:71 expected an object, found a boolean | write { … }",
        ],
    );
}

#[test]
fn wrong_values_name_what_is_accepted() {
    let time = "write \"500ms\", \"90s\", \"10m\" or \"1h\", or a number of seconds; at most a year";
    check_server_problems(
        r#""framing": "lines", "inheritEnv": true, "startTimeout": "soon", "timeout": -1,
           "hardTimeout": 1e9, "shutdownGrace": {}"#,
        &[
            "error .framing: unknown value \"lines\" | write one of \"auto\", \"newline\", \"content-length\"",
            "error .inheritEnv: unknown value true | write one of \"safe\", \"all\", \"none\"",
            &format!("error .startTimeout: not a duration: \"soon\" | {time}"),
            &format!("error .timeout: not a duration: -1 | {time}"),
            &format!("error .hardTimeout: not a duration: 1e9 | {time}"),
            &format!("error .shutdownGrace: not a duration: an object | {time}"),
        ],
    );
    check_server_problems(
        r#""startTimeout": 0, "timeout": "0s", "args": ["a\u0000b"], "passEnv": ["A=1"]"#,
        &[
            "error .startTimeout: the time must not be 0 | write a longer time, or remove the key to get 30s",
            "error .timeout: the time must not be 0 | write a longer time, or remove the key to get 10m",
            "error .args[0]: contains a NUL character | remove the \\u0000: no program can receive it",
            "error .passEnv: not the name of an environment variable \
             | write names, such as \"GITHUB_*\"; values go into `env`",
        ],
    );
    let size = "write \"64KiB\", \"10MB\" or \"512MiB\", or a whole number of bytes";
    for (written, message) in [
        ("\"big\"", format!("not a size: \"big\" | {size}")),
        ("1.5", format!("not a size: 1.5 | {size}")),
        ("512", "512B is out of bounds | write a size from 1KiB to 1GiB".to_owned()),
        ("\"2GiB\"", "2GiB is out of bounds | write a size from 1KiB to 1GiB".to_owned()),
    ] {
        check_problems(
            &format!(r#"{{ "mcpServers": {{}}, "maxMessageBytes": {written} }}"#),
            &[&format!("error maxMessageBytes 1:40 {message}")],
        );
    }
}

#[test]
fn hard_timeout_below_timeout() {
    check_server_problems(
        r#""timeout": "2h""#,
        &["warning : `hardTimeout` (1h) ends a call before `timeout` (2h) does \
           | set a longer `hardTimeout`, or 0 for none"],
    );
    check_server_problems(r#""timeout": "2h", "hardTimeout": 0"#, &[]);
}

#[test]
fn server_needs_name_and_command() {
    let remedy = "add the program to start, such as \"command\": \"npx\"";
    check_problems(
        r#"{ "mcpServers": { "": { "command": "c" }, "a": {}, "b": { "command": " " }, "c\u0007": { "command": "c" } } }"#,
        &[
            "error mcpServers.\"\" 1:19 a server without a name | give it a short name, such as \"github\"",
            &format!("error mcpServers.a 1:43 `command` is missing | {remedy}"),
            &format!("error mcpServers.b.command 1:70 `command` is empty | {remedy}"),
            "error mcpServers.\"c�\" 1:77 a control character in a server's name | use letters, digits, - and _",
        ],
    );
}

#[test]
fn no_key_may_be_there_twice() {
    check_problems(
        "{ \"mcpServers\": {\n  \"a\": { \"command\": \"c\",\n    \"command\": \"d\", \"dev\": [{ \"x\": 1, \"x\": 2 }] },\n  \"a\": { \"command\": \"c\" } } }",
        &[
            "error mcpServers.a.command 3:5 the key `command` is in this object twice | remove one of the two",
            "error mcpServers.a.dev[0].x 3:39 the key `x` is in this object twice | remove one of the two",
            "error mcpServers.a 4:3 the key `a` is in this object twice | remove one of the two",
        ],
    );
}

#[test]
fn syntax_errors_have_line_and_column() {
    for (source, expect) in [
        ("", "1:1 the file is empty | write { \"mcpServers\": { … } } into it"),
        ("// nothing", "1:1 the file is empty | write { \"mcpServers\": { … } } into it"),
        ("[]", "1:1 the file is not a JSON object | it should look like { \"mcpServers\": { … } }"),
        ("{", "1:1 syntax error: unterminated object | add the missing }"),
        ("{\n \"é\": 1 \"b\": 2 }", "2:8 syntax error: expected comma | put a comma here"),
        ("{ a: 1 }", "1:3 syntax error: expected string for object property | put the key in double quotes"),
        ("{ 'a': 1 }", "1:3 syntax error: single-quoted strings are not allowed | use double quotes"),
        ("{ \"a\": yes }", "1:8 syntax error: unexpected word | put text in double quotes"),
        (
            "{ \"a\": \"C:\\x\" }",
            "1:11 syntax error: invalid escape \
             | strings start and end with a double quote; write \\\\ for a backslash",
        ),
        (
            "{} {}",
            "1:4 syntax error: text cannot contain more than one JSON value \
             | the file is JSON; comments and trailing commas are fine",
        ),
    ] {
        check_problems(source, &[&format!("error  {expect}")]);
    }
}

#[test]
fn problem_is_shown_like_a_compilers() {
    let source = "{\n  \"mcpServers\": {\n    \"github\": {\n      \"command\": \"npx\",\n      \"timeout\": \"soon\"\n    }\n  }\n}";
    let loaded = load(Path::new("/etc/config.json"), source);
    let expect = r#"
error: mcpServers.github.timeout: not a duration: "soon"
 --> /etc/config.json:5:18
  |
5 |       "timeout": "soon"
  |                  ^^^^^^
  = help: write "500ms", "90s", "10m" or "1h", or a number of seconds; at most a year"#;
    assert_eq!(format!("\n{}", loaded.problems[0]), expect);
}

#[test]
fn no_problem_shows_a_secret() {
    for source in [
        r#"{ "mcpServers": { "s": { "env": { "T": "s3cret" }, "comand": "s3cret", "timeout": "soon" } } }"#,
        r#"{ "mcpServers": { "s": { "command": "c", "env": { "T": ["s3cret"], "U": { "x": "s3cret" } } } } }"#,
        r#"{ "mcpServers": { "s": { "command": "c", "env": ["s3cret"] } } }"#,
        r#"{ "mcpServers": { "s": { "command": "c", "passEnv": ["T=s3cret"] } } }"#,
        r#"{ "mcpServers": { "s": { "env": { "T": s3cret } } } }"#,
        r#"{ "mcpServers": { "s": { "env": { "T": "s3cret } } } }"#,
        r#"{ "mcpServers": { "s": { "env": { "T: "s3cret" } } } }"#,
        r#"{ "mcpServers": { "s": { "env": { "T": 's3cret' } } } }"#,
        r#"{ "mcpServers": { "s": { "env": { "T" "s3cret" } } } }"#,
        r#"{ "mcpServers": [{ "name": "s", "env": { "T": "s3cret" } }] }"#,
        r#"{ "mcpServers": { "s": { "command": ["c", "--token=s3cret"], "timeout": ["s3cret"] } } }"#,
        r#"{ "mcpServers": { "s": { "command": "c", "args": "--token s3cret", "cwd": ["s3cret"] } } }"#,
        r#"["s3cret"]"#,
    ] {
        let loaded = load(Path::new("config.json"), source);
        assert!(!loaded.problems.is_empty());
        for problem in &loaded.problems {
            assert!(!problem.to_string().contains("s3cret"), "{problem}");
            assert!(!format!("{problem:?}").contains("s3cret"), "{problem:?}");
        }
    }
    let config =
        load(Path::new(""), r#"{ "mcpServers": { "s": { "command": "c", "env": { "T": "s3cret" } } } }"#);
    assert!(!format!("{config:?}").contains("s3cret"));
}

#[test]
fn kept_processes_have_plain_names() {
    let name = "not the name of a process | write a name as `ps` shows it, such as \"adb\"";
    let strict = "`keep` does not work with `guard: strict` | use \"guard\": \"auto\" for this server, or remove `keep`";
    for written in [r#"[""]"#, r#"["/usr/bin/adb"]"#, r#"["a\nb"]"#] {
        check_problems(
            &format!(r#"{{ "mcpServers": {{ "s": {{ "command": "c", "keep": {written} }} }} }}"#),
            &[&format!("error mcpServers.s.keep 1:50 {name}")],
        );
    }
    check_problems(
        r#"{ "mcpServers": { "s": { "command": "c", "guard": "strict", "keep": ["adb"] } } }"#,
        &[&format!("warning mcpServers.s.keep 1:69 {strict}")],
    );
}

#[test]
fn count_is_a_whole_number() {
    for written in ["0", "-1", "1.5", "\"4\"", "1e9", "true"] {
        let file =
            format!(r#"{{ "mcpServers": {{ "s": {{ "command": "c", "maxInFlight": {written} }} }} }}"#);
        assert!(load(Path::new("c.json"), &file).config.is_none(), "{written}");
    }
}
