//! Settings of the servers known by name, as far as they are the same on every machine.

/// One server.
#[derive(Debug)]
pub struct PresetRow {
    /// The word for it in the config file and on the command line.
    pub name: &'static str,
    /// Its package, as npm knows it.
    pub package: &'static str,
    /// Arguments behind the script; `{mode}` and `{root}` are filled in.
    pub args_template: &'static str,
    /// The variable that may hold another template.
    pub template_variable: &'static str,
    pub default_mode: &'static str,
    /// Variables that are set for it, unless the config sets them.
    pub env: &'static [(&'static str, &'static str)],
    /// Patterns of variables that it inherits.
    pub pass_env: &'static [&'static str],
    /// Arguments of its tools in which some clients name the workspace.
    pub root_arguments: &'static [&'static str],
    /// Backends that run at a time, unless the config says otherwise.
    pub max_backends: usize,
    /// Whether its tools are the same for all clients.
    pub same_for_all_clients: bool,
    /// Shown, behind its own last words, when it ends before it is ready.
    pub advice: &'static str,
}

/// The context engine that Switchboard was first built for.
pub const AUGGIE: PresetRow = PresetRow {
    name: "auggie",
    package: "@augmentcode/auggie",
    args_template: "--mcp -m {mode} --workspace-root {root}",
    template_variable: "AUGGIE_ARGS_TEMPLATE",
    default_mode: "default",
    // An instance that replaces itself is no longer the one that was started.
    env: &[("AUGMENT_DISABLE_AUTO_UPDATE", "1")],
    // Where its service is, and who its user is.
    pass_env: &["AUGMENT_*"],
    root_arguments: &["directory_path"],
    // Each indexes its workspace, and holds several hundred MiB.
    max_backends: 3,
    same_for_all_clients: true,
    advice: "if it is not logged in, run `auggie login` in a terminal, or set AUGMENT_SESSION_AUTH where \
             switchboard is started; then try again",
};
