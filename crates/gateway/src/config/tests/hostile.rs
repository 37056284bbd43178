//! Arbitrary text: `load` neither panics nor takes long.

use std::path::Path;
use std::time::Duration;

use crate::config::{Severity, load};

const SAMPLE: &str = r#"// a comment
{
  "mcpServers": {
    "github": {
      "command": "npx", "args": ["-y", "é\u00e9\ud83d\ude00"], "env": { "TOKEN": "${TOKEN}" },
      "timeout": 60000, "hardTimeout": "1.5h", "framing": "auto", /* block */ "unknown": [1, -2e3, null],
      "tools": { "allow": ["a*"], "rename": { "a": "é b", "c": "é b" } }, "prompts": ["p"], "resources": { "deny": ["*"] },
    },
    "git hub": { "command": "c" }, "git_hub": { "command": "c" }, "git_hub__x": { "command": "c" },
  },
  "names": "prefixed", "pageSize": 5, "notifications": { "notifications/x": ["githib"] },
  "maxMessageBytes": "16MiB", "log": { "level": "info", "bodies": false },
}"#;

/// Loads and displays: both must work for any text.
fn try_out(source: &str) {
    for problem in load(Path::new("config.json"), source).problems {
        let shown = problem.to_string();
        assert!(!shown.is_empty());
    }
}

/// Small random number generator (xorshift), so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

#[test]
fn every_beginning_of_a_file() {
    for (end, _) in SAMPLE.char_indices() {
        try_out(&SAMPLE[..end]);
    }
    try_out("\u{a0}{}");
}

#[test]
fn a_file_with_any_character_changed() {
    for (at, old) in SAMPLE.char_indices() {
        for new in ["", "\"", "\\", "{", "}", "[", "]", ",", ":", "/", "*", "\n", "\0", "é", "\u{2028}", "0"]
        {
            try_out(&format!("{}{new}{}", &SAMPLE[..at], &SAMPLE[at + old.len_utf8()..]));
        }
    }
}

#[test]
fn random_tokens() {
    const TOKENS: &[&str] = &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\\u",
        "d800",
        "//",
        "/*",
        "*/",
        "\n",
        "\r",
        "\t",
        " ",
        "'",
        "-",
        "+",
        ".",
        "1",
        "0x",
        "e",
        "null",
        "true",
        "NaN",
        "word",
        "é",
        "\u{feff}",
        "\u{0}",
        "\"mcpServers\":",
        "\"a\": {",
        "\"command\": \"c\",",
        "\"env\": {",
        "\"args\": [",
        "\"timeout\":",
        "\"log\":",
        "😀",
        "\u{a0}",
    ];
    let mut random = Random(0x5eed);
    for _ in 0..20_000 {
        let length = random.below(25);
        let source: String = (0..length).map(|_| random.pick(TOKENS)).collect();
        try_out(&source);
    }
}

#[test]
fn deep_nesting_is_refused() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[", ""), ("{\"a\":[", "")] {
        for depth in [101, 1_000, 300_000] {
            let source = format!("{{\"x\": {}1{}}}", open.repeat(depth), close.repeat(depth));
            let problems = load(Path::new("config.json"), &source).problems;
            assert_eq!(problems.len(), 1);
            assert!(problems[0].message.contains("100 levels"), "{}", problems[0].message);
        }
    }
    let fine = format!("{{\"inputs\": {}1{}}}", "[".repeat(99), "]".repeat(99));
    assert!(load(Path::new("config.json"), &fine).config.is_some());
}

#[test]
fn a_file_full_of_problems_is_cut_short() {
    let source = format!("{{ \"mcpServers\": {{}}, {} \"framing\": 1 }}", "\"x\": 1,".repeat(10_000));
    let problems = load(Path::new("config.json"), &source).problems;
    assert!(problems.len() <= 201);
    assert!(problems.iter().any(|problem| problem.message.contains("more problems")));

    // Warnings never hide an error, however many there are.
    let unknown: String = (0..1_000).map(|i| format!("\"x{i}\": 1,")).collect();
    let source = format!("{{ \"mcpServers\": {{}}, {unknown} \"framing\": 1 }}");
    let loaded = load(Path::new("config.json"), &source);
    let mut errors = loaded.problems.iter().filter(|problem| problem.severity == Severity::Error);
    assert!(errors.any(|problem| problem.path == "framing"));
}

/// Four times the text may take about four times as long; sixteen times would be quadratic.
#[cfg(unix)]
#[test]
fn loading_takes_linear_time() {
    let shapes: [fn(usize) -> String; 9] = [
        |n| format!("{{ {} }}", "\"x\": 1,".repeat(n)),
        |n| format!("{{ {} }}", (0..n).map(|i| format!("\"timeuot{i}\": 1,")).collect::<String>()),
        |n| {
            format!(
                "{{ \"mcpServers\": {{ \"{}\": {{ \"args\": [{}] }} }} }}",
                "n".repeat(n * 4),
                "1,".repeat(n)
            )
        },
        |n| {
            format!(
                "{{ \"mcpServers\": {{ {} }} }}",
                (0..n).map(|i| format!("\"s{i}\": {{}},\n")).collect::<String>()
            )
        },
        |n| {
            let servers: String =
                (0..n).map(|i| format!("\"a__{i}__\": {{ \"command\": \"c\" }},")).collect();
            let routes: String = (0..n).map(|i| format!("\"b{i}\",")).collect();
            format!(
                "{{ \"mcpServers\": {{ {servers} }}, \"notifications\": {{ \"notifications/x\": [{routes}] }} }}"
            )
        },
        |n| format!("{{ \"mcpServers\": {{ \"{}\": {{ \"command\": \"c\" }} }} }}", "_".repeat(n * 4)),
        |n| {
            let renames: String = (0..n).map(|i| format!("\"t{i}\": \"x\",")).collect();
            format!("{{ \"servers\": {{ \"s\": {{ \"tools\": {{ \"rename\": {{ {renames} }} }} }} }} }}")
        },
        |n| "/*".repeat(n * 4),
        |n| format!("{{ \"a\": \"{}", "\\u00e9".repeat(n)),
    ];
    // CPU time of this thread, so that other work on the machine does not count.
    let cpu_time = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap())
    };
    let time = |source: String| {
        let once = |_| {
            let start = cpu_time();
            try_out(&source);
            cpu_time() - start
        };
        (0..3).map(once).min().unwrap()
    };
    for (index, shape) in shapes.iter().enumerate() {
        let small = time(shape(3_000)).max(Duration::from_millis(2));
        let large = time(shape(12_000));
        assert!(large < small * 12, "shape {index}: {small:?}, then {large:?}");
    }
}
