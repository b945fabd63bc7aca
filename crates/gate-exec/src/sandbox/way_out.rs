//! The way out of a sandbox: where its commands find the gate's proxy, and how long it is there.

use std::ffi::OsString;
use std::net::TcpListener;

/// Where commands find the gate's proxy.
#[derive(Debug)]
pub(super) struct WayOut {
    pub(super) port: u16,
    /// `None` where the init makes it, in the network of the commands.
    pub(super) listener: Option<TcpListener>,
}

/// Held until the sandbox is gone.
pub(super) struct Guard(pub(super) Option<Box<dyn Send>>);

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Guard").field(&self.0.is_some()).finish()
    }
}

/// Names by which programs find a proxy; there is no standard, and no program reads them all.
pub(super) fn proxy_variables(port: u16) -> Vec<(&'static str, OsString)> {
    let proxy = format!("http://127.0.0.1:{port}");
    let names = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    let mut all: Vec<_> = names.into_iter().map(|it| (it, proxy.clone().into())).collect();
    all.extend(["no_proxy", "NO_PROXY"].map(|it| (it, "localhost,127.0.0.1,::1".into())));
    all
}
