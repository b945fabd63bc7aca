//! The bounds of fetching and running that nobody else needs; those of the whole gate are in `gate_core::limits`.

/// An init that was told to end its command has this long before it is killed itself.
pub const KILL_GRACE_MS: u64 = 5_000;
/// After the init is gone, its pipes have this long to close.
pub const DRAIN_MS: u64 = 300;
/// A program that another process still holds open for writing is tried again for this long.
pub const TEXT_BUSY_RETRY_MS: u64 = 2_000;

/// One fetch of one repository.
pub const GIT_FETCH_SECONDS: u64 = 600;
/// What one fetch may write: a pack as large as the largest workspace.
pub const GIT_PACK_BYTES_MAX: u64 = gate_core::limits::WORKSPACE_BYTES_MAX;
/// What is read of git's own messages.
pub const GIT_MESSAGE_BYTES_MAX: u64 = 64 * 1024;
/// One directory of a repository, as git stores it.
pub const GIT_TREE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Packs of one mirror before they are put together.
pub const MIRROR_PACKS_MAX: usize = 50;

/// Materialised trees that are kept for the next run that wants them: all together, unless the settings say otherwise.
pub const TREE_CACHE_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;
/// See [`TREE_CACHE_BYTES_MAX`].
pub const TREE_CACHE_ENTRIES_MAX: usize = 256;
/// What setup commands left, kept for runs of the same tree: so many at most.
pub const LAYERS_MAX: usize = 64;
/// What each file, directory, and link of a kept tree counts for beside its bytes.
pub const TREE_CACHE_ENTRY_OVERHEAD_BYTES: u64 = 4096;

/// Once more than [`EXPANSION_FREE_BYTES`] were unpacked, each packed byte may become this many.
pub const EXPANSION_RATIO_MAX: u64 = 250;
/// See [`EXPANSION_RATIO_MAX`].
pub const EXPANSION_FREE_BYTES: u64 = 64 * 1024 * 1024;
/// Headers, padding, and entries outside the subdirectory may take this much of an unpacked tar beside its files.
pub const TAR_OVERHEAD_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// A tar entry's extension headers: long names and the like.
pub const TAR_EXTENSION_BYTES_MAX: u64 = 1024 * 1024;

/// One call of git on a patch.
pub const PATCH_SECONDS_MAX: u64 = 60;
/// The files that a patch is applied to, together, and each that it makes.
pub const PATCHED_FILES_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The list of a patch's files: each has a line of the diff, and a few bytes more.
pub const PATCH_LIST_BYTES_MAX: u64 = 4 * gate_core::limits::PATCH_BYTES_MAX as u64;
/// How often a shared directory is copied that changes meanwhile.
pub const DIRECTORY_ATTEMPTS_MAX: u32 = 3;
/// Links that are followed for one path, as the kernel does.
pub const LINK_HOPS_MAX: usize = 40;
/// What one slice of a log may hold.
pub const LOG_SLICE_BYTES_MAX: u64 = gate_core::limits::OUTPUT_BYTES_MAX;

// A workspace of the largest size passes the expansion guard of an archive of the largest size.
const _: () = assert!(
    gate_core::limits::ARCHIVE_BYTES_MAX * EXPANSION_RATIO_MAX
        >= gate_core::limits::WORKSPACE_BYTES_MAX
);

/// Where the commands of a namespace find the gate's proxy, on 127.0.0.1.
pub const PROXY_PORT: u16 = 3128;
/// Where the commands of a namespace find their workspace: the same for every run, so that what is
/// prepared in one holds in the next.
pub const NAMESPACE_WORKSPACE: &str = "/gate/workspace";
/// Where they find their home.
pub const NAMESPACE_HOME: &str = "/gate/home";
/// Where a container has the disk of its run: workspace, home, and temporary directory.
pub const CONTAINER_DISK: &str = "/gate";
/// Where it has what the gate lays in, read-only: the init, the line, the tree that the workspace begins as.
pub const CONTAINER_INIT: &str = "/donegate/init";
/// See [`CONTAINER_INIT`].
pub const CONTAINER_LINE: &str = "/donegate/line";
/// See [`CONTAINER_INIT`].
pub const CONTAINER_BASE: &str = "/donegate/base";
/// One question to a container engine.
pub const ENGINE_CALL_SECONDS: u64 = 60;
/// One image fetched by a container engine.
pub const IMAGE_PULL_SECONDS: u64 = 900;
/// What is told of what a container engine complains of.
pub const ENGINE_MESSAGE_BYTES_MAX: usize = 1024;
/// What can be written in a container beside the disk of its run, since commands expect it to be there.
pub const CONTAINER_SIDE_DISKS: [&str; 3] = ["/tmp", "/var/tmp", "/run"];
/// Each of them.
pub const CONTAINER_SIDE_DISK_BYTES: u64 = 256 * 1024 * 1024;
/// A container's `/dev/shm`.
pub const CONTAINER_SHARED_MEMORY_BYTES: u64 = 64 * 1024 * 1024;
/// Result files of one command that are read.
pub const RESULTS_MAX: usize = 64;
/// All of them together; the one that goes beyond is cut off there.
pub const RESULTS_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// What is looked at to find them.
pub const RESULTS_ENTRIES_MAX: usize = 200_000;
/// Processes of an init itself, which the kernel counts with those of its commands.
pub const OWN_PROCESSES: u64 = 3;
/// Protected files that are compared in one go with what was prepared.
pub const PROTECTED_AT_ONCE_MAX: usize = 1_000;
/// The bytes of all of them together, unless one alone has more.
pub const PROTECTED_AT_ONCE_BYTES: u64 = 256 * 1024 * 1024;
/// A sandbox must stand within this time.
pub const SET_UP_SECONDS: u64 = 20;
/// Where no cgroup counts memory, each process may reserve this much beyond what all together may use.
///
/// It bounds what is taken between two looks of an init. Less would refuse what is never used: stacks
/// of threads, heaps of interpreters.
pub const MEMORY_HEADROOM_BYTES: u64 = 1024 * 1024 * 1024;
