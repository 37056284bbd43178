//! Settings of the servers known by name that are the same on every machine.

/// One server.
#[derive(Debug)]
pub struct PresetRow {
    /// Name in the config file and on the command line.
    pub name: &'static str,
    /// Name of its npm package.
    pub package: &'static str,
    /// Arguments after the script, with the placeholders `{mode}` and `{root}`.
    pub args_template: &'static str,
    /// Variable that may hold another template.
    pub template_variable: &'static str,
    pub default_mode: &'static str,
    /// Variables to set, unless the config sets them.
    pub env: &'static [(&'static str, &'static str)],
    /// Patterns of variables to inherit.
    pub pass_env: &'static [&'static str],
    /// Arguments of its tools in which some clients name the workspace.
    pub root_arguments: &'static [&'static str],
    /// Backends at a time, unless the config sets it.
    pub max_backends: usize,
    /// Whether its tools are the same for all clients.
    pub same_for_all_clients: bool,
    /// Shown after its last output if it ends before it is ready.
    pub advice: &'static str,
}

/// The context engine that Switchboard was first built for.
pub const AUGGIE: PresetRow = PresetRow {
    name: "auggie",
    package: "@augmentcode/auggie",
    args_template: "--mcp -m {mode} --workspace-root {root}",
    template_variable: "AUGGIE_ARGS_TEMPLATE",
    default_mode: "default",
    // A process that replaces itself would escape its guard.
    env: &[("AUGMENT_DISABLE_AUTO_UPDATE", "1")],
    // Its service's address, and its user's credentials.
    pass_env: &["AUGMENT_*"],
    root_arguments: &["directory_path"],
    // Each one indexes its workspace and uses several hundred MiB.
    max_backends: 3,
    same_for_all_clients: true,
    advice: "if it is not logged in, run `auggie login` in a terminal, or set AUGMENT_SESSION_AUTH where \
             switchboard is started; then try again",
};
