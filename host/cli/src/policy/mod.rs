//! `wipam policy`.

mod build;
mod check;
mod compile;
mod component;
mod install;
mod list;
mod new;
mod run;
mod sample;
mod test;
mod trial;

use std::error::Error;

use clap::Subcommand;

/// Where policies are installed unless told otherwise.
const POLICIES: &str = "/etc/wipam/policies";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Begin a policy: a folder with everything that it needs.
    New(new::New),
    /// Make a component of the policy in a folder.
    Build(build::Build),
    /// Make a component of a core module that a compiler has made.
    Component(component::Make),
    /// Say whether a component is a policy, and what it asks for.
    Check(check::Check),
    /// Put recorded cases to a component.
    Test(test::Test),
    /// Try a configuration on a copy of its reservations, with the reason for
    /// each address that was skipped. Nothing is written.
    Run(run::Run),
    /// Put a policy where configurations can name it, and compile it.
    Install(install::Install),
    /// Show the policies that are installed.
    List(list::List),
    /// Compile a component from standard input to standard output. The plugins
    /// call this for policies that are not in their cache.
    #[command(hide = true)]
    Compile,
}

pub(crate) fn run(command: &Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::New(new) => new.run(),
        Command::Build(build) => build.run(),
        Command::Component(make) => make.run(),
        Command::Check(check) => check.run(),
        Command::Test(test) => test.run(),
        Command::Run(run) => run.run(),
        Command::Install(install) => install.run(),
        Command::List(list) => list.run(),
        Command::Compile => compile::run(),
    }
}
