//! Runs a server that answers every request at once, for scripts. It prints its address, and ends
//! with its standard input.

use std::io::{self, Write as _};

use stampede_known_server::{Answer, Behaviour, KnownServer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = KnownServer::start(Behaviour::answering(Answer::ok()))?;
    println!("{}", server.address());
    io::stdout().flush()?;
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    Ok(())
}
