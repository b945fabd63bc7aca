//! Where a sandbox wants to go, and whether it may: checked by address, after the one lookup of a name.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::LazyLock;

use hyper::StatusCode;
use hyper::http::uri::Authority;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use url::Host;

use super::Shared;
use crate::callback::Refusal;

/// The setting that lists the allowed networks.
const SETTING: &str = "DONEGATE_SANDBOX_ALLOWED_NETWORKS";

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    host: Host,
    port: u16,
}

/// Why a request is not carried out: what the sandbox is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) status: StatusCode,
    pub(super) text: String,
}

impl Refused {
    pub(super) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }
}

impl Target {
    /// Reads `host:port`, in every spelling of a host that clients know.
    pub(super) fn parse(authority: &Authority, port: Option<u16>) -> Result<Self, Refused> {
        let bad =
            |text: &str| Refused::new(StatusCode::BAD_REQUEST, format!("`{authority}` {text}"));
        if authority.as_str().contains('@') {
            return Err(bad("has a user name before its host"));
        }
        let host = Host::parse(authority.host()).or(Err(bad("names no host")))?;
        let port = authority.port_u16().or(port).ok_or_else(|| bad("names no port"))?;
        Ok(Self { host, port })
    }

    /// Connects to one of the addresses that were checked; to the public only at these ports, if they are given.
    pub(super) async fn connect(
        &self,
        shared: &Shared,
        ports: Option<&[u16]>,
    ) -> Result<TcpStream, Refused> {
        let addresses = self.addresses(shared).await?;
        for address in &addresses {
            self.check(shared, address.ip())?;
            self.check_port(shared, address.ip(), ports)?;
        }
        let connected = timeout(shared.limits.connect, TcpStream::connect(&addresses[..])).await;
        let Ok(connected) = connected else {
            return Err(self.late("did not answer"));
        };
        let stream = connected.map_err(|error| {
            let text = format!("cannot connect to {}:{}: {error}", self.host, self.port);
            Refused::new(StatusCode::BAD_GATEWAY, text)
        })?;
        // Without it small packets are late, and that is all.
        drop(stream.set_nodelay(true));
        Ok(stream)
    }

    async fn addresses(&self, shared: &Shared) -> Result<Vec<SocketAddr>, Refused> {
        let name = match &self.host {
            Host::Ipv4(address) => return Ok(vec![SocketAddr::from((*address, self.port))]),
            Host::Ipv6(address) => return Ok(vec![SocketAddr::from((*address, self.port))]),
            Host::Domain(name) => name.as_str(),
        };
        let look = async {
            // Never closed, so always given.
            let _slot = shared.lookups.acquire().await;
            lookup_host((name, self.port)).await.map(Iterator::collect::<Vec<_>>)
        };
        match timeout(shared.limits.connect, look).await {
            Err(_) => Err(self.late("could not be looked up in time")),
            Ok(Ok(found)) if !found.is_empty() => Ok(found),
            Ok(_) => {
                let text = format!("the name {name} has no address");
                Err(Refused::new(StatusCode::BAD_GATEWAY, text))
            }
        }
    }

    /// One address that may not be gone to spoils the rest: a host that is honest has none.
    fn check(&self, shared: &Shared, address: IpAddr) -> Result<(), Refused> {
        let address = address.to_canonical();
        let refusal = match shared.networks.check_address(address) {
            Ok(()) if shared.networks.lists(address) || !is_own(address) => return Ok(()),
            Ok(()) => self.text("belongs to the gate's own host", true),
            Err(Refusal::Never { why, .. }) => self.text(why, false),
            Err(Refusal::NotAllowed { why, .. }) => self.text(why, true),
            Err(
                refusal @ (Refusal::Scheme { .. }
                | Refusal::Login
                | Refusal::NoHost
                | Refusal::NoAddress),
            ) => refusal.to_string(),
        };
        Err(Refused::new(StatusCode::FORBIDDEN, refusal))
    }

    /// Networks that the operator lists are reached at every port.
    fn check_port(
        &self,
        shared: &Shared,
        address: IpAddr,
        ports: Option<&[u16]>,
    ) -> Result<(), Refused> {
        if ports.is_none_or(|it| it.contains(&self.port))
            || shared.networks.lists(address.to_canonical())
        {
            return Ok(());
        }
        let why =
            format!("is public, where tunnels lead to the ports 80 and 443, not {}", self.port);
        Err(Refused::new(StatusCode::FORBIDDEN, self.text(&why, true)))
    }

    /// What a name leads to is not told: names of a private network are none of a sandbox's business.
    fn text(&self, why: &str, can_be_allowed: bool) -> String {
        let host = match &self.host {
            Host::Domain(name) => format!("{name} leads to an address that"),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        };
        if can_be_allowed {
            format!("{host} {why}; the operator of the gate can allow its network in {SETTING}")
        } else {
            format!("{host} {why}, and is never reached from a sandbox")
        }
    }

    fn late(&self, what: &str) -> Refused {
        Refused::new(StatusCode::GATEWAY_TIMEOUT, format!("{}:{} {what}", self.host, self.port))
    }
}

/// Whether packets to this address end on this host: only its own addresses can be bound. The gate may listen on a
/// public one, too.
fn is_own(address: IpAddr) -> bool {
    /// With `ip_nonlocal_bind` every address can be bound, and this says nothing.
    static TELLS: LazyLock<bool> = LazyLock::new(|| {
        let of_documentation = Ipv4Addr::new(192, 0, 2, 1);
        UdpSocket::bind((of_documentation, 0)).is_err()
    });
    *TELLS && UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(authority: &str, port: Option<u16>) -> Result<Target, Refused> {
        Target::parse(&authority.parse().unwrap(), port)
    }

    #[test]
    fn a_target_is_read_in_every_spelling() {
        let loopback = Host::Ipv4(Ipv4Addr::LOCALHOST);
        for host in ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1"] {
            let target = parse(&format!("{host}:443"), None).unwrap();
            assert_eq!(target, Target { host: loopback.clone(), port: 443 });
        }
        let named = parse("EXAMPLE.com", Some(80)).unwrap();
        assert_eq!(named, Target { host: Host::Domain("example.com".to_owned()), port: 80 });
        assert!(matches!(parse("[::1]:1", None).unwrap().host, Host::Ipv6(_)));
        for bad in ["example.com", "me@example.com:1", "[::1]"] {
            assert_eq!(parse(bad, None).unwrap_err().status, StatusCode::BAD_REQUEST, "{bad}");
        }
    }

    #[test]
    fn only_addresses_of_this_host_are_its_own() {
        assert!(is_own(Ipv4Addr::LOCALHOST.into()));
        assert!(!is_own(Ipv4Addr::new(8, 8, 8, 8).into()));
    }
}
