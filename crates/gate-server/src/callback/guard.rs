//! Where a callback may go: a URL comes from a contract, and must not lead to what only the gate can reach.
//!
//! An HTTP client asks its resolver for names only, so addresses in the URL are checked apart.
//! Both checks see every spelling, because the `url` crate has normalised it before. The addresses
//! that were checked are the ones that are connected to; no name is looked up twice.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::address::{Reach, embedded, reach};

/// The setting that lists the allowed networks.
const SETTING: &str = "DONEGATE_CALLBACK_ALLOWED_NETWORKS";

/// A network of more addresses than `10.0.0.0/8` or `fc00::/7` is worth a warning.
const WIDE_V4_PREFIX: u8 = 8;
const WIDE_V6_PREFIX: u8 = 7;

/// The private networks that callbacks may go to; none by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks(Vec<IpNet>);

/// The setting does not list networks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "networks are written such as `10.0.0.0/8, fd00::/8, 127.0.0.1`, with commas between them; `{word}` is none"
)]
pub struct NetworksError {
    word: String,
}

/// Why a callback does not go where its URL says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Neither http nor https.
    #[error("a callback goes to http or https, not to `{scheme}`")]
    Scheme {
        /// Of the URL.
        scheme: String,
    },
    /// A name or password stands before the host.
    #[error("a callback URL has no user name or password; receivers verify the signature instead")]
    Login,
    /// There is no host.
    #[error("a callback URL names a host")]
    NoHost,
    /// The name leads nowhere.
    #[error("the host has no address")]
    NoAddress,
    /// An address that callbacks never go to.
    #[error("{address} {why}, and never gets callbacks")]
    Never {
        /// Which.
        address: IpAddr,
        /// What it is.
        why: &'static str,
    },
    /// An address that the operator has not allowed.
    #[error("{address} {why}; the operator of the gate can allow its network in {SETTING}")]
    NotAllowed {
        /// Which.
        address: IpAddr,
        /// What it is.
        why: &'static str,
    },
}

impl Networks {
    /// Reads the setting: networks or single addresses, with commas or spaces between them.
    ///
    /// # Errors
    /// Names the word that is no network.
    pub fn parse(text: &str) -> Result<Self, NetworksError> {
        let words = text.split([',', ' ', '\t', '\n']).filter(|it| !it.is_empty());
        let network = |word: &str| {
            let parsed = word.parse::<IpNet>().or_else(|_| word.parse::<IpAddr>().map(IpNet::from));
            parsed.map(|it| it.trunc()).or(Err(NetworksError { word: word.to_owned() }))
        };
        words.map(network).collect::<Result<_, _>>().map(Self)
    }

    /// The networks that are so wide that the operator should be asked, at start, whether they are meant.
    pub fn wide(&self) -> impl Iterator<Item = &IpNet> {
        self.0.iter().filter(|it| match it {
            IpNet::V4(it) => it.prefix_len() < WIDE_V4_PREFIX,
            IpNet::V6(it) => it.prefix_len() < WIDE_V6_PREFIX,
        })
    }

    /// Whether the operator has named a network with this address.
    #[must_use]
    pub fn lists(&self, address: IpAddr) -> bool {
        self.0.iter().any(|it| it.contains(&address.to_canonical()))
    }

    /// Whether a callback may go to this URL, as far as can be said before its host is looked up.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn check_url(&self, url: &Url) -> Result<(), Refusal> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refusal::Scheme { scheme: url.scheme().to_owned() });
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refusal::Login);
        }
        match url.host() {
            None => Err(Refusal::NoHost),
            Some(Host::Domain(_)) => Ok(()),
            Some(Host::Ipv4(address)) => self.check_address(address.into()),
            Some(Host::Ipv6(address)) => self.check_address(address.into()),
        }
    }

    /// Whether a callback may go to this address.
    ///
    /// # Errors
    /// [`Refusal::Never`], [`Refusal::NotAllowed`].
    pub fn check_address(&self, address: IpAddr) -> Result<(), Refusal> {
        let address = address.to_canonical();
        match reach(address) {
            Reach::Never(why) => return Err(Refusal::Never { address, why }),
            Reach::Guarded(why) if !self.lists(address) => {
                return Err(Refusal::NotAllowed { address, why });
            }
            Reach::Guarded(_) | Reach::Public => {}
        }
        embedded(address).into_iter().try_for_each(|it| self.check_address(it))
    }

    /// Whether all of the addresses of a host may be gone to. One that may not spoils the rest: a
    /// host that is honest has none.
    fn check_addresses(&self, found: &[SocketAddr]) -> Result<(), Refusal> {
        if found.is_empty() {
            return Err(Refusal::NoAddress);
        }
        found.iter().try_for_each(|it| self.check_address(it.ip()))
    }
}

/// Whether this address belongs to the public: an answer from elsewhere is not shown to anybody.
pub(super) fn is_public(address: IpAddr) -> bool {
    Networks::default().check_address(address).is_ok()
}

/// Looks hosts up, and refuses those with an address that is not allowed.
#[derive(Debug, Clone)]
pub struct GuardedResolver(Arc<Networks>);

impl GuardedResolver {
    /// Lets these private networks pass.
    #[must_use]
    pub const fn new(networks: Arc<Networks>) -> Self {
        Self(networks)
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let networks = Arc::clone(&self.0);
        Box::pin(async move {
            // The client puts in the port.
            let found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            networks.check_addresses(&found)?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(networks: &str, url: &str) -> Result<(), Refusal> {
        Networks::parse(networks).unwrap().check_url(&Url::parse(url).unwrap())
    }

    /// Every spelling of an address that is private, or worse, in some way.
    const PRIVATE: &[&str] = &[
        "127.0.0.1",
        "127.255.255.254",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "0x7f000001",
        "①②⑦.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:7f00:1]",
        "[::127.0.0.1]",
        "10.0.0.1",
        "10.255.255.255",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.0.1",
        "[::ffff:10.0.0.1]",
        "100.64.0.1",
        "100.127.255.254",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "[fc00::1]",
        "[fd12:3456::1]",
        "[fec0::1]",
        "[100::1]",
        "[2001:db8::1]",
        "[3fff::1]",
        "[64:ff9b::10.0.0.1]",
        "[64:ff9b::8.8.8.8]",
        "[64:ff9b:1::1]",
        "[2002:7f00:1::]",
        "[2002:0808:0808::1]",
        "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
        "[5f00::1]",
        "[4000::1]",
    ];

    /// What is never gone to, whatever is allowed.
    const NEVER: &[&str] = &[
        "169.254.169.254",
        "169.254.0.1",
        "2852039166",
        "0xa9.0xfe.0xa9.0xfe",
        "0251.0376.0251.0376",
        "[::ffff:169.254.169.254]",
        "[::169.254.169.254]",
        "[64:ff9b::169.254.169.254]",
        "[2002:a9fe:a9fe::]",
        "[2001:0:a9fe:a9fe::1]",
        "[2001::5601:5601]",
        "[fe80::1]",
        "[febf::1]",
        "[fd00:ec2::254]",
        "[fd00:ec2::23]",
        "[fd20:ce::254]",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "0.0.0.0",
        "0",
        "0.1.2.3",
        "[::]",
        "[::ffff:0.0.0.0]",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "[ff02::1]",
    ];

    #[test]
    fn private_addresses_are_refused_in_every_spelling() {
        for host in PRIVATE.iter().chain(NEVER) {
            let refused = check("", &format!("http://{host}:8096/hook"));
            assert!(
                matches!(refused, Err(Refusal::NotAllowed { .. } | Refusal::Never { .. })),
                "{host}: {refused:?}"
            );
        }
    }

    #[test]
    fn private_addresses_are_allowed_when_all_networks_are() {
        for host in PRIVATE {
            assert_eq!(check("0.0.0.0/0, ::/0", &format!("http://{host}/")), Ok(()), "{host}");
        }
    }

    #[test]
    fn metadata_and_link_local_are_refused_even_when_all_networks_are_allowed() {
        for host in NEVER {
            let refused = check("0.0.0.0/0, ::/0", &format!("https://{host}/latest"));
            assert!(matches!(refused, Err(Refusal::Never { .. })), "{host}: {refused:?}");
        }
    }

    #[test]
    fn public_addresses_and_names_pass() {
        for host in [
            "8.8.8.8",
            "1.1.1.1",
            "172.32.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "11.0.0.1",
            "192.0.1.1",
            "198.20.0.1",
            "223.255.255.254",
            "[2606:4700::1111]",
            "[2a00:1450::1]",
            "[::ffff:8.8.8.8]",
            "hooks.example",
            "localhost",
        ] {
            assert_eq!(check("", &format!("https://{host}/hook?token=x")), Ok(()), "{host}");
        }
    }

    #[test]
    fn a_network_allows_its_own_addresses_only() {
        let allowed = "10.1.0.0/16, fd12::/16 127.0.0.1";
        for host in ["10.1.2.3", "[::ffff:10.1.2.3]", "[fd12::1]", "127.0.0.1"] {
            assert_eq!(check(allowed, &format!("http://{host}/")), Ok(()), "{host}");
        }
        for host in ["10.2.0.1", "[fd13::1]", "127.0.0.2", "[::1]", "192.168.0.1"] {
            assert!(check(allowed, &format!("http://{host}/")).is_err(), "{host}");
        }
    }

    #[test]
    fn a_translated_address_needs_permission_for_the_one_behind_it_too() {
        let both = "64:ff9b::/96, 10.0.0.0/8";
        assert_eq!(check(both, "http://[64:ff9b::10.0.0.1]/"), Ok(()));
        assert_eq!(check("64:ff9b::/96", "http://[64:ff9b::8.8.8.8]/"), Ok(()));
        assert!(check("64:ff9b::/96", "http://[64:ff9b::10.0.0.1]/").is_err());
        assert!(check("10.0.0.0/8", "http://[64:ff9b::10.0.0.1]/").is_err());
    }

    #[test]
    fn one_bad_address_of_a_host_spoils_the_rest() {
        let addresses = |texts: &[&str]| -> Vec<SocketAddr> {
            texts.iter().map(|it| SocketAddr::new(it.parse().unwrap(), 0)).collect()
        };
        let none = Networks::default();
        assert_eq!(none.check_addresses(&addresses(&["8.8.8.8", "1.1.1.1"])), Ok(()));
        assert!(none.check_addresses(&addresses(&["8.8.8.8", "10.0.0.1"])).is_err());
        assert_eq!(none.check_addresses(&[]), Err(Refusal::NoAddress));
    }

    #[tokio::test]
    async fn a_name_of_this_machine_is_refused_when_it_is_looked_up() {
        let resolver = GuardedResolver::new(Arc::default());
        let found = resolver.resolve("localhost".parse().unwrap()).await;
        let error = found.map(Iterator::count).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(Refusal::NotAllowed { .. })), "{error}");
    }

    #[test]
    fn other_schemes_and_logins_are_refused() {
        for url in
            ["ftp://hooks.example/", "file:///etc/passwd", "unix:/run/x", "gopher://1.1.1.1/"]
        {
            assert!(matches!(check("", url), Err(Refusal::Scheme { .. })), "{url}");
        }
        for url in ["https://me@hooks.example/", "https://:word@hooks.example/"] {
            assert_eq!(check("", url), Err(Refusal::Login), "{url}");
        }
    }

    #[test]
    fn a_refusal_says_which_setting_allows_it() {
        let refusal = check("", "http://10.0.0.1/").unwrap_err().to_string();
        let expected = "10.0.0.1 is private; the operator of the gate can allow its network in \
                        DONEGATE_CALLBACK_ALLOWED_NETWORKS";
        assert_eq!(refusal, expected);
        let refusal = check("", "http://169.254.169.254/").unwrap_err().to_string();
        let expected =
            "169.254.169.254 is link-local, where clouds serve metadata, and never gets callbacks";
        assert_eq!(refusal, expected);
    }

    #[test]
    fn the_setting_is_read_or_the_wrong_word_is_named() {
        assert_eq!(Networks::parse(" ").unwrap(), Networks::default());
        assert_eq!(Networks::parse("10.1.2.3/8").unwrap(), Networks::parse("10.0.0.0/8").unwrap());
        let error = Networks::parse("10.0.0.0/8, intranet").unwrap_err().to_string();
        assert!(error.contains("`intranet`"), "{error}");
    }

    #[test]
    fn only_wide_networks_are_worth_a_warning() {
        let wide = |text| Networks::parse(text).unwrap().wide().count();
        assert_eq!(wide("10.0.0.0/8, 192.168.1.0/24, fc00::/7, ::1"), 0);
        assert_eq!(wide("0.0.0.0/0, ::/0"), 2);
    }
}
