//! The table of all settings, from which the README's is checked.

/// One setting, as the README's table has it.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The variable.
    pub name: &'static str,
    /// What holds without it.
    pub default: &'static str,
    /// What it means, with its unit.
    pub meaning: &'static str,
}

/// Every variable that the gate reads.
pub const SETTINGS: [Setting; 30] = [
    Setting {
        name: "DATABASE_URL",
        default: "a private cluster in the data directory",
        meaning: "PostgreSQL 14 or newer, as `postgres://user:password@host/database`",
    },
    Setting {
        name: "DONEGATE_DATABASE_CONNECTIONS_MAX",
        default: "20",
        meaning: "connections that one process opens",
    },
    Setting {
        name: "DONEGATE_LISTEN_ADDRESS",
        default: "127.0.0.1:8080",
        meaning: "where the API listens",
    },
    Setting { name: "DONEGATE_ROLE", default: "all", meaning: "`all`, `api`, or `worker`" },
    Setting {
        name: "DONEGATE_DATA_DIR",
        default: "the XDG data directory; for root /var/lib/donegate",
        meaning: "where this process keeps its files",
    },
    Setting {
        name: "DONEGATE_BLOBS_URL",
        default: "a folder in the data directory",
        meaning: "where archives and logs are kept: a folder, or `s3://bucket/prefix` with the usual `AWS_…` variables; every process needs the same",
    },
    Setting {
        name: "DONEGATE_SECRET_KEY",
        default: "made at the first start, in the data directory",
        meaning: "32 bytes in base64, from which callback secrets are derived; every process needs the same",
    },
    Setting {
        name: "DONEGATE_SECRET_KEY_FILE",
        default: "",
        meaning: "a file that holds it instead",
    },
    Setting {
        name: "DONEGATE_ADMIN_KEY",
        default: "one is made and printed at the first start",
        meaning: "an API key `dg_…` that has the role admin from the start; make one with `donegate keys generate`",
    },
    Setting {
        name: "DONEGATE_ADMIN_KEY_FILE",
        default: "",
        meaning: "a file that holds it instead",
    },
    Setting {
        name: "DONEGATE_WORKER_SLOTS",
        default: "the number of cores",
        meaning: "runs that one process does at once",
    },
    Setting {
        name: "DONEGATE_WORKER_DRAIN_SECONDS",
        default: "25",
        meaning: "how long running runs may go on after SIGTERM, before they are given back",
    },
    Setting {
        name: "DONEGATE_WORKER_PASS_VARIABLES",
        default: "toolchains' places, such as RUSTUP_HOME and JAVA_HOME",
        meaning: "names, separated by commas, of variables that acceptance commands get from the gate's own environment, beside the default ones",
    },
    Setting {
        name: "DONEGATE_GIT_FETCH_SECONDS",
        default: "300",
        meaning: "how long one fetch may take",
    },
    Setting {
        name: "DONEGATE_GIT_FILE_URLS",
        default: "true",
        meaning: "whether `file://` repositories are fetched",
    },
    Setting {
        name: "DONEGATE_GIT_CONFIG",
        default: "",
        meaning: "a git configuration file for credentials; the host's own is not read",
    },
    Setting {
        name: "DONEGATE_MATCHERS",
        default: "",
        meaning: "a JSON file in the form of GitHub's problem matchers: patterns for tools whose output the gate does not know",
    },
    Setting {
        name: "DONEGATE_SANDBOX_TIER",
        default: "auto",
        meaning: "how strongly commands are walled in: `auto` is the strongest of `namespace` and `landlock` that this machine proves to have at the start; `namespace`, `landlock`, or `process`, which hides nothing, is taken and no other",
    },
    Setting {
        name: "DONEGATE_SANDBOX_READ_ONLY_PATHS",
        default: "the places of toolchains that are found",
        meaning: "paths of the host, separated by colons, that commands may read beside the system's own programs; where it is set, no others are found",
    },
    Setting {
        name: "DONEGATE_SANDBOX_UID_BASE",
        default: "61000",
        meaning: "when the gate is root, each running sandbox has a kernel uid of its own, from this one upwards; nobody else may have them",
    },
    Setting {
        name: "DONEGATE_SANDBOX_ALLOWED_NETWORKS",
        default: "",
        meaning: "private networks that commands with `network: full` may reach, as CIDRs separated by commas; public addresses are always allowed, link-local and metadata addresses never",
    },
    Setting {
        name: "DONEGATE_SANDBOX_CONTAINER_ENGINE",
        default: "the first found of podman and docker",
        meaning: "the name or path of the program that runs contracts' images",
    },
    Setting {
        name: "DONEGATE_WORKSPACE_DIRECTORY_ROOTS",
        default: "",
        meaning: "directories of this host, separated by colons, below which a workspace source `directory` may name one; without it, none may",
    },
    Setting {
        name: "DONEGATE_WORKSPACE_CACHE_BYTES",
        default: "4294967296",
        meaning: "what all prepared trees that are kept for later runs may take on disk",
    },
    Setting {
        name: "DONEGATE_CALLBACK_ALLOWED_NETWORKS",
        default: "loopback while the API listens on loopback only",
        meaning: "private networks that callbacks may go to, as CIDRs separated by commas; public addresses are always allowed, link-local and metadata addresses never",
    },
    Setting {
        name: "DONEGATE_CALLBACK_TIMEOUT_SECONDS",
        default: "15",
        meaning: "how long a receiver may take to answer",
    },
    Setting {
        name: "DONEGATE_LOG",
        default: "info",
        meaning: "which log lines are written, as a filter of `tracing`",
    },
    Setting { name: "DONEGATE_LOG_FORMAT", default: "text", meaning: "`text` or `json`" },
    Setting {
        name: "DONEGATE_POSTGRES_BIN_DIR",
        default: "found on the machine",
        meaning: "the server's executables, for the private cluster",
    },
    Setting {
        name: "DONEGATE_POSTGRES_USER",
        default: "postgres, else nobody",
        meaning: "who runs the private cluster when the gate is root",
    },
];

/// Variables with our prefix that the client, not the server, reads.
pub(super) const OF_THE_CLIENT: [&str; 4] =
    ["DONEGATE_URL", "DONEGATE_KEY", "DONEGATE_KEY_FILE", "DONEGATE_TASK"];
