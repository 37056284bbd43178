//! `switchboard`: one MCP server for your IDE, every other MCP server behind it.

#![forbid(unsafe_code)]

mod cli;
mod commands;
mod exit;
mod terminal;
mod topics;

use exit::Exit;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    // First of all: in a guard process this call does not return.
    switchboard_gateway::prepare_process();
    let cli = cli::Cli::read();
    match run(cli) {
        Ok(exit) => exit.into(),
        Err(error) => {
            let exit = exit::of(&error);
            let width = terminal::screen_width(terminal::Stream::Err);
            // A failed write to stderr cannot be reported anywhere.
            let text = format!("switchboard: {error:#}");
            let text = terminal::wrap(&switchboard_gateway::secrets::mask_values(&text), width);
            let _ = writeln!(std::io::stderr(), "{text}");
            exit.into()
        }
    }
}

fn run(cli: cli::Cli) -> anyhow::Result<Exit> {
    use cli::Command;
    match cli.command {
        None if cli.stdio.is_default() && std::io::stdin().is_terminal() => commands::help::run(&[]),
        None => commands::stdio::run(cli.stdio),
        Some(Command::Stdio(args)) => commands::stdio::run(*args),
        Some(Command::Daemon(args)) => commands::daemon::run(&args),
        Some(Command::Serve(args)) => commands::serve::run(&args),
        Some(Command::Token(args)) => commands::token::run(&args),
        Some(Command::Tools(args)) => commands::list::run(&args, commands::list::What::Tools),
        Some(Command::Prompts(args)) => commands::list::run(&args, commands::list::What::Prompts),
        Some(Command::Resources(args)) => commands::list::run(&args, commands::list::What::Resources),
        Some(Command::Call(args)) => commands::call::run(&args),
        Some(Command::Read(args)) => commands::read::run(&args),
        Some(Command::Get(args)) => commands::get::run(&args),
        Some(Command::Status(args)) => commands::status::run(&args),
        Some(Command::Logs(args)) => commands::logs::run(&args),
        Some(Command::Restart(args)) => commands::order::run(&args, commands::order::Word::Restart),
        Some(Command::Stop(args)) => commands::order::run(&args, commands::order::Word::Stop),
        Some(Command::Forget(args)) => commands::forget::run(&args),
        Some(Command::Start(args)) => commands::order::run(&args, commands::order::Word::Start),
        Some(Command::Reload) => commands::reload::run(),
        Some(Command::Check(args)) => commands::check::run(&args),
        Some(Command::Trust(args)) => commands::trust::run(&args),
        Some(Command::Approve(args)) => commands::approve::run(&args),
        Some(Command::Explain(args)) => commands::explain::run(&args),
        Some(Command::Help { words }) => commands::help::run(&words),
        Some(Command::Demo) => commands::demo::run(),
        Some(Command::Schema) => commands::schema::run(),
        Some(Command::Completions { shell }) => commands::completions::run(shell),
        Some(Command::ExampleServer) => commands::example_server::run(),
    }
}
