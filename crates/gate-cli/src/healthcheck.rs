//! `donegate healthcheck`: is the gate of this machine alive? What a container's engine asks, without curl in the image.
//!
//! It reads the same configuration as `serve`, so that it asks where that listens. Whether the gate
//! is also ready is not asked: a container is not better for a restart while its database is away.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use serde_json::json;

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;
use crate::serve::{ServeArguments, read_config};

/// A gate on this machine that lives answers well within it.
const ANSWER_SECONDS_MAX: u64 = 3;

/// What `healthcheck` is told.
#[derive(Debug, Args)]
pub(crate) struct HealthcheckArguments {
    /// Where the gate listens, as `serve` was told; by default `DONEGATE_LISTEN_ADDRESS`
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
}

/// Asks for `/healthz`.
pub(crate) async fn run(
    arguments: &HealthcheckArguments,
    output: Output,
) -> Result<Exit, CliError> {
    let serve = ServeArguments { role: None, listen: arguments.listen, data_dir: None };
    let address = reachable(read_config(&serve)?.listen_address);
    let url = format!("http://{address}/healthz");
    // An error means that a provider was installed before, which serves as well.
    drop(rustls::crypto::ring::default_provider().install_default());
    let client = reqwest::Client::builder()
        .timeout(Duration::from_secs(ANSWER_SECONDS_MAX))
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .map_err(|source| CliError::Tls { source })?;
    let unreachable = |source: reqwest::Error| CliError::Unreachable {
        url: url.clone(),
        source: source.without_url(),
    };
    let status = client.get(&url).send().await.map_err(unreachable)?.status().as_u16();
    if status != 200 {
        return Err(CliError::NotAGate { url, status, start: String::new() });
    }
    output.answer(&json!({ "alive": true }), &format!("the gate on {address} is alive"), &"alive");
    Ok(Exit::Pass)
}

/// Who listens everywhere is asked on loopback.
const fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        given => given,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_everywhere_is_asked_on_loopback() {
        for (given, asked) in [
            ("0.0.0.0:8080", "127.0.0.1:8080"),
            ("[::]:8080", "[::1]:8080"),
            ("10.1.2.3:80", "10.1.2.3:80"),
        ] {
            assert_eq!(reachable(given.parse().unwrap()), asked.parse().unwrap());
        }
    }
}
