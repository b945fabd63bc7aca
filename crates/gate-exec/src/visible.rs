//! What of the host a command may see in the tiers that hide the rest.

/// Where a host keeps its programs: directories, or links into `/usr`.
pub(crate) const PROGRAMS: [&str; 7] =
    ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr"];

/// What programs read of `/etc`, and nothing that is a secret or about this host.
pub(crate) const ETC: [&str; 27] = [
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "default/locale",
    "fonts",
    "gai.conf",
    "host.conf",
    "inputrc",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "mime.types",
    "npmrc",
    "os-release",
    "pki",
    "profile",
    "protocols",
    "services",
    "ssl",
];

/// What a namespace gets of its own making, and other tiers see of the host's.
pub(crate) const ETC_OF_HOST: [&str; 6] =
    ["group", "hosts", "nsswitch.conf", "passwd", "resolv.conf", "shells"];
