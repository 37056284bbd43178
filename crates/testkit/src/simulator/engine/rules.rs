//! Methods of the protocol, as the simulation sees them: from the specification, not from the code.

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MethodRule {
    pub(crate) name: &'static str,
    /// Whether it may be handed over a second time after a crash.
    pub(crate) is_repeatable: bool,
    /// Whether it has the short deadline, which only its own progress extends.
    pub(crate) is_short: bool,
    /// Whether it makes its client a user of the process.
    pub(crate) is_use: bool,
}

impl MethodRule {
    /// Whether it waits while the backend is at its limit of concurrent requests.
    pub(crate) fn takes_a_turn(&self) -> bool {
        !matches!(self.name, "ping" | "initialize" | "tasks/result" | "subscriptions/listen")
    }

    /// Whether it goes to the process that runs its task.
    pub(crate) fn is_of_task(&self) -> bool {
        self.name.starts_with("tasks/")
    }

    pub(crate) fn is_cancellable(&self) -> bool {
        !matches!(self.name, "initialize" | "shutdown")
    }
}

const fn rule(name: &'static str, is_repeatable: bool, is_short: bool, is_use: bool) -> MethodRule {
    MethodRule { name, is_repeatable, is_short, is_use }
}

static RULES: &[MethodRule] = &[
    rule("initialize", false, true, false),
    rule("shutdown", false, false, false),
    rule("ping", true, true, false),
    rule("tools/list", true, true, false),
    rule("prompts/list", true, true, false),
    rule("resources/list", true, true, false),
    rule("resources/templates/list", true, true, false),
    rule("logging/setLevel", true, true, false),
    rule("resources/read", true, false, true),
    rule("prompts/get", true, false, true),
    rule("completion/complete", true, false, true),
    rule("tools/call", false, false, true),
    rule("resources/subscribe", false, false, true),
    rule("resources/unsubscribe", false, false, true),
    rule("tasks/get", false, false, true),
    rule("tasks/result", false, false, true),
    rule("tasks/cancel", false, false, true),
    rule("tasks/list", false, false, false),
    rule("server/discover", true, true, false),
    rule("subscriptions/listen", false, false, true),
    rule("acme/unknown", false, false, true),
];

pub(crate) fn rule_of(method: &str) -> &'static MethodRule {
    let found = RULES.iter().find(|rule| rule.name == method);
    found.unwrap_or_else(|| panic!("no rule for {method}"))
}
