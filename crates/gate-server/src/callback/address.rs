//! Which addresses a callback may go to by itself, by permission, or never.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Never, whatever is allowed: nobody waits for a callback there, and credentials are handed out there.
const NEVER: &[(IpNet, &str)] = &[
    (v4([0, 0, 0, 0], 8), "means this machine"),
    (v4([169, 254, 0, 0], 16), "is link-local, where clouds serve metadata"),
    (v4([100, 100, 100, 200], 32), "serves a cloud's metadata"),
    (v4([168, 63, 129, 16], 32), "serves a cloud's metadata"),
    (v4([192, 0, 0, 192], 32), "serves a cloud's metadata"),
    (v4([224, 0, 0, 0], 4), "is multicast"),
    (v4([240, 0, 0, 0], 4), "is reserved"),
    (v6([0; 8], 128), "means this machine"),
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), "is link-local, where clouds serve metadata"),
    (v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0], 32), "serves a cloud's metadata"),
    (v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128), "serves a cloud's metadata"),
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), "is multicast"),
];

/// Only by permission.
const GUARDED: &[(IpNet, &str)] = &[
    (v4([10, 0, 0, 0], 8), "is private"),
    (v4([172, 16, 0, 0], 12), "is private"),
    (v4([192, 168, 0, 0], 16), "is private"),
    (v4([127, 0, 0, 0], 8), "is loopback"),
    (v4([100, 64, 0, 0], 10), "is shared by a provider's customers"),
    (v4([192, 0, 0, 0], 24), "has a special purpose"),
    (v4([192, 0, 2, 0], 24), "is for documentation"),
    (v4([192, 88, 99, 0], 24), "is a 6to4 relay"),
    (v4([198, 18, 0, 0], 15), "is for benchmarks"),
    (v4([198, 51, 100, 0], 24), "is for documentation"),
    (v4([203, 0, 113, 0], 24), "is for documentation"),
    (v6([0, 0, 0, 0, 0, 0, 0, 1], 128), "is loopback"),
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), "is private"),
    (TRANSLATED, "is translated to an IPv4 address"),
    (v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), "is translated to an IPv4 address"),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), "has a special purpose"),
    (v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), "is for documentation"),
    (SIX_TO_FOUR, "is a tunnel to an IPv4 address"),
    (v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), "is for documentation"),
];

const TRANSLATED: IpNet = v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);
const SIX_TO_FOUR: IpNet = v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16);
const TEREDO: IpNet = v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32);
const COMPATIBLE: IpNet = v6([0; 8], 96);
/// All that is handed out to the public so far; what is outside of it is guarded.
const GLOBAL_V6: IpNet = v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

/// How an address may be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// By everybody.
    Public,
    /// By permission, because it …
    Guarded(&'static str),
    /// Not at all, because it …
    Never(&'static str),
}

/// How this address may be reached, as it stands; see [`embedded`] for what may be behind it.
pub(super) fn reach(address: IpAddr) -> Reach {
    let within = |table: &[(IpNet, &'static str)]| {
        table.iter().find(|(network, _)| network.contains(&address)).map(|(_, why)| *why)
    };
    if let Some(why) = within(NEVER) {
        return Reach::Never(why);
    }
    match within(GUARDED) {
        Some(why) => Reach::Guarded(why),
        None if address.is_ipv6() && !GLOBAL_V6.contains(&address) => {
            Reach::Guarded("is not a public address")
        }
        None => Reach::Public,
    }
}

/// The IPv4 addresses to which packets for this one may end up.
pub(super) fn embedded(address: IpAddr) -> Vec<IpAddr> {
    let IpAddr::V6(v6) = address else { return Vec::new() };
    let [_, b, c, d, _, _, g, h] = v6.segments();
    if TEREDO.contains(&address) {
        // The relay's server, and the client behind it, whose bits are turned over.
        vec![join(c, d), join(!g, !h)]
    } else if SIX_TO_FOUR.contains(&address) {
        vec![join(b, c)]
    } else if TRANSLATED.contains(&address) || (COMPATIBLE.contains(&address) && !v6.is_loopback())
    {
        vec![join(g, h)]
    } else {
        Vec::new()
    }
}

fn join(high: u16, low: u16) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
}

const fn v4([a, b, c, d]: [u8; 4], length: u8) -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length))
}

const fn v6([a, b, c, d, e, f, g, h]: [u16; 8], length: u8) -> IpNet {
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), length))
}
