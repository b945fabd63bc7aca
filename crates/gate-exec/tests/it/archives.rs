//! Archives: every format, and every way to attack the one who unpacks it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use gate_core::{Blame, IsolationTier, WorkspaceSource};
use gate_exec::limits::TAR_EXTENSION_BYTES_MAX;
use gate_exec::{EntryFault, PrepareError, SourceError, SourceRef, Sources, Workspace};
use tar::{EntryType, Header};

use crate::fixture::{Gate, archive, files, source_error, sources};
use crate::made_archive::{Tar, Zip, gz, zst};

/// A tree with a file, an executable, a directory, and a link.
fn good_tar() -> Vec<u8> {
    let tar = Tar::default()
        .entry(EntryType::Directory, "./", "", b"")
        .entry(EntryType::Directory, "./src/", "", b"")
        .file("./src/a.txt", "hello");
    tar.mode("./run", 0o755).link("./l", "src/a.txt").end()
}

fn good_zip() -> Vec<u8> {
    Zip::new()
        .file("src/a.txt", 0o644, b"hello")
        .file("run", 0o755, b"")
        .link("l", "src/a.txt")
        .end()
}

/// Wants it refused as the reporter's fault, with the name of the entry, and nothing written outside.
async fn refused(bytes: Vec<u8>, name: &str, fault: EntryFault) {
    let gate = Gate::new();
    let error = gate.unpack(&bytes).await.unwrap_err();
    assert_eq!(error.blame(), Blame::Reporter, "{error:?}");
    let PrepareError::Source { source: SourceError::Entry { name: named, fault: found }, .. } =
        &error
    else {
        panic!("{error:?}")
    };
    assert_eq!((named.as_str(), found), (name, &fault));
    assert!(!gate.home().join("work/x").exists() && !gate.home().join("x").exists());
}

#[tokio::test]
async fn the_same_tree_has_the_same_digest_in_every_format() {
    let gate = Gate::new();
    let mut digests = Vec::new();
    for bytes in [good_tar(), gz(&good_tar()), zst(&good_tar()), good_zip()] {
        let workspace = gate.unpack(&bytes).await.unwrap();
        let root = workspace.root();
        assert_eq!(fs::read(root.join("l")).unwrap(), b"hello");
        let mode =
            |path: &str| fs::metadata(root.join(path)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("run"), mode("src/a.txt"), mode("src")), (0o755, 0o644, 0o755));
        digests.push(workspace.tree());
        workspace.dispose().await.unwrap();
    }
    assert!(digests.iter().all(|it| *it == digests[0]), "{digests:?}");
    let inline = files(&[("src/a.txt", "hello"), ("run", "")]);
    let inline = gate.prepare(&inline).await.unwrap();
    assert_ne!(inline.tree(), digests[0]);
}

#[tokio::test]
async fn the_digest_is_the_documented_one() {
    use sha2::{Digest as _, Sha256};
    let gate = Gate::new();
    let workspace = gate.unpack(&good_tar()).await.unwrap();
    let mut written = b"donegate-tree-1\n".to_vec();
    for (entry, content) in [
        ("ll", Some("src/a.txt")),
        ("xrun", Some("")),
        ("dsrc", None),
        ("fsrc/a.txt", Some("hello")),
    ] {
        written.extend_from_slice(entry.as_bytes());
        written.push(0);
        written.extend(content.map(Sha256::digest).into_iter().flatten());
    }
    assert_eq!(workspace.tree().as_bytes(), Sha256::digest(&written).as_slice());
}

#[tokio::test]
async fn an_entry_that_leaves_the_root_is_refused_with_its_name() {
    let file = |name: &str| Tar::default().file(name, "x").end();
    refused(file("../x"), "../x", EntryFault::Climbs).await;
    refused(file("a/../../x"), "a/../../x", EntryFault::Climbs).await;
    refused(file("/tmp/x"), "/tmp/x", EntryFault::Absolute).await;
    refused(gz(&file("../x")), "../x", EntryFault::Climbs).await;
    let zip = |name: &str| Zip::new().file(name, 0o644, b"x").end();
    refused(zip("../x"), "../x", EntryFault::Climbs).await;
    refused(zip("/tmp/x"), "/tmp/x", EntryFault::Absolute).await;
    refused(zip("..\\x"), "..\\\\x", EntryFault::Name).await;
}

#[tokio::test]
async fn a_long_name_is_checked_like_a_short_one() {
    let long = format!("{}/../../x", "d/".repeat(100));
    let with_gnu =
        Tar::default().entry(EntryType::GNULongName, "././@LongLink", "", long.as_bytes());
    refused(with_gnu.file("a", "x").end(), &long, EntryFault::Climbs).await;
    let with_pax = Tar::default().pax(&[("path", "/x")]).file("a", "x").end();
    refused(with_pax, "/x", EntryFault::Absolute).await;
    let huge = vec![b'a'; usize::try_from(TAR_EXTENSION_BYTES_MAX).unwrap() + 1];
    let tar = Tar::default().entry(EntryType::GNULongName, "././@LongLink", "", &huge).end();
    let error = source_error(Gate::new().unpack(&tar).await);
    assert!(matches!(error, SourceError::TooLarge { .. }), "{error:?}");
}

#[tokio::test]
async fn names_of_two_hundred_bytes_are_taken() {
    let long = format!("{}file", "directory/".repeat(20));
    let gnu = Tar::default().entry(
        EntryType::GNULongName,
        "././@LongLink",
        "",
        format!("{long}\0").as_bytes(),
    );
    for tar in [gnu.file("short", "x"), Tar::default().pax(&[("path", &long)]).file("short", "x")] {
        let gate = Gate::new();
        let workspace = gate.unpack(&tar.end()).await.unwrap();
        assert_eq!(fs::read(workspace.root().join(&long)).unwrap(), b"x");
    }
}

#[tokio::test]
async fn a_link_out_of_the_root_is_refused_and_never_written_through() {
    let leaves = |target: &str| EntryFault::LinkLeaves { target: target.to_owned() };
    refused(Tar::default().link("l", "/etc").end(), "l", leaves("/etc")).await;
    refused(Tar::default().link("l", "../..").end(), "l", leaves("../..")).await;
    refused(Zip::new().link("l", "../..").end(), "l", leaves("../..")).await;
    let through = Tar::default().link("l", "..").file("l/x", "evil").end();
    refused(through, "l/x", EntryFault::Through).await;
    let within = Tar::default().file("d/a", "x").link("l", "d").file("l/b", "x").end();
    refused(within, "l/b", EntryFault::Through).await;
    let file_as_directory = Tar::default().file("f", "x").file("f/b", "x").end();
    refused(file_as_directory, "f/b", EntryFault::Through).await;
    let over = Tar::default().link("b", ".").link("a", "b/../x").end();
    refused(over, "a", leaves("b/../x")).await;
}

#[tokio::test]
async fn a_hard_link_to_a_file_of_the_archive_becomes_a_file_of_its_own() {
    let gate = Gate::new();
    let tar = Tar::default().file("a", "same").entry(EntryType::Link, "d/b", "a", b"").end();
    let workspace = gate.unpack(&tar).await.unwrap();
    assert_eq!(fs::read(workspace.root().join("d/b")).unwrap(), b"same");
    assert_eq!(fs::metadata(workspace.root().join("a")).unwrap().nlink(), 1);
    let link = |target: &str| Tar::default().entry(EntryType::Link, "b", target, b"").end();
    for target in ["/etc/passwd", "../x", "nowhere"] {
        let fault = EntryFault::HardLink { target: target.to_owned() };
        let gate = Gate::new();
        let error = source_error(gate.unpack(&link(target)).await);
        let SourceError::Entry { fault: found, .. } = error else { panic!("{error:?}") };
        assert_eq!(found, fault);
    }
    let through =
        Tar::default().file("a", "x").link("l", "a").entry(EntryType::Link, "b", "l", b"").end();
    assert!(Gate::new().unpack(&through).await.is_err());
}

#[tokio::test]
async fn devices_pipes_and_sparse_files_are_refused() {
    let cases = [
        (EntryType::Char, "character device"),
        (EntryType::Block, "block device"),
        (EntryType::Fifo, "named pipe"),
        (EntryType::GNUSparse, "sparse file"),
        (EntryType::new(b'Z'), "kind of entry that is not known"),
    ];
    for (kind, word) in cases {
        refused(Tar::default().entry(kind, "n", "", b"").end(), "n", EntryFault::Kind(word)).await;
    }
    let sparse = Tar::default().pax(&[("GNU.sparse.major", "1")]).file("s", "x").end();
    refused(sparse, "s", EntryFault::Kind("sparse file")).await;
    let mut pipe = Zip::new().file("p", 0o644, b"").end();
    // The upper half of the external attributes is the mode; there is one central header.
    let at = pipe.windows(4).rposition(|it| it == b"PK\x01\x02").unwrap() + 40;
    pipe[at..at + 2].copy_from_slice(&0o010_644_u16.to_le_bytes());
    refused(pipe, "p", EntryFault::Kind("device, pipe, or socket")).await;
}

#[tokio::test]
async fn set_user_id_bits_are_dropped() {
    let gate = Gate::new();
    let workspace =
        gate.unpack(&Tar::default().mode("s", 0o6755).mode("t", 0o1777).end()).await.unwrap();
    for name in ["s", "t"] {
        let mode = fs::metadata(workspace.root().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o755);
    }
}

#[tokio::test]
async fn an_entry_that_is_there_twice_is_refused() {
    let tar = Tar::default().file("a", "good").file("./a", "evil").end();
    refused(tar, "a", EntryFault::Duplicate).await;
    let mut zip = Zip::new().file("a", 0o644, b"good").file("b", 0o644, b"evil").end();
    for at in 0..zip.len() {
        if zip[at] == b'b' && (zip[..at].ends_with(&[0, 0]) || zip[..at].ends_with(&[0; 4])) {
            zip[at] = b'a';
        }
    }
    refused(zip, "(one of them)", EntryFault::Duplicate).await;
}

#[tokio::test]
async fn names_that_are_no_text_are_refused() {
    let tar = Tar::default().raw(EntryType::Regular, b"a\xff", b"", (0o644, b"", 0)).end();
    refused(tar, "a\\u{fffd}", EntryFault::NotUtf8).await;
}

#[tokio::test]
async fn an_archive_that_is_cut_off_anywhere_is_refused() {
    let gate = Gate::new();
    for whole in [good_tar(), gz(&good_tar()), zst(&good_tar()), good_zip()] {
        // Two blocks of zeros end a tar, and the first is enough.
        let spare = if whole == good_tar() { 512 } else { 0 };
        let end = whole.len() - spare;
        for cut in (1..end).step_by(97).chain(end - 9..end) {
            let error = gate.unpack(&whole[..cut]).await.unwrap_err();
            assert_eq!(error.blame(), Blame::Reporter, "{cut} of {end}: {error:?}");
        }
    }
}

#[tokio::test]
async fn a_damaged_archive_is_refused() {
    let mut tar = good_tar();
    tar[600] ^= 1;
    let error = source_error(Gate::new().unpack(&tar).await);
    assert!(matches!(error, SourceError::Damaged { .. }), "{error:?}");
    let mut zip = good_zip();
    let at = zip.windows(5).position(|it| it == b"hello").unwrap_or(40);
    zip[at] ^= 1;
    let error = source_error(Gate::new().unpack(&zip).await);
    assert!(matches!(error, SourceError::Damaged { .. }), "{error:?}");
}

#[tokio::test]
async fn what_is_no_archive_is_refused() {
    for bytes in [b"#!/bin/sh\n".as_slice(), b"", &[b'x'; 2000]] {
        let error = source_error(Gate::new().unpack(bytes).await);
        assert!(matches!(error, SourceError::UnknownFormat), "{error:?}");
    }
}

#[tokio::test]
async fn an_archive_that_is_not_the_one_that_was_named_is_the_gates_fault() {
    let gate = Gate::new();
    let path = gate.home().join("other");
    fs::write(&path, good_tar()).unwrap();
    let source = archive(b"something else", None);
    for archive in [Some(path.as_path()), Some(gate.home()).filter(|_| false), None] {
        let report = SourceRef { source: &source, archive };
        let error = gate.prepare_from(&Sources { report, ..sources(&source) }).await.unwrap_err();
        assert_eq!(error.blame(), Blame::Gate, "{error:?}");
    }
}

#[tokio::test]
async fn a_bomb_is_stopped_while_it_unpacks() {
    let gate = Gate::new();
    let (mebibyte, count) = (vec![0; 1024 * 1024], 96_u32);
    let header = Tar::default()
        .raw(EntryType::Regular, b"zeros", b"", (0o644, b"", u64::from(count) << 20))
        .0;
    // Packed in pieces, one after the other, which is how both formats may be.
    let pieces = |pack: &dyn Fn(&[u8]) -> Vec<u8>| {
        let piece = pack(&mebibyte);
        let zeros = (0..count).flat_map(|_| piece.iter().copied());
        pack(&header).into_iter().chain(zeros).chain(pack(&[0; 1024])).collect::<Vec<u8>>()
    };
    let zeros = mebibyte.repeat(96);
    for bomb in [pieces(&gz), pieces(&zst), Zip::new().file("zeros", 0o644, &zeros).end()] {
        let error = source_error(gate.unpack(&bomb).await);
        assert!(matches!(error, SourceError::Bomb { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_size_that_is_too_large_is_refused_before_it_is_written() {
    let huge = Tar::default().raw(EntryType::Regular, b"huge", b"", (0o644, b"", 4 << 30)).end();
    let error = source_error(Gate::new().unpack(&huge).await);
    assert!(matches!(error, SourceError::TooLarge { unit: "bytes", .. }), "{error:?}");
    let lies = Tar::default().pax(&[("size", "9")]).file("a", "x").end();
    let error = source_error(Gate::new().unpack(&lies).await);
    assert!(matches!(error, SourceError::Damaged { .. }), "{error:?}");
}

#[tokio::test]
async fn a_zip_that_tells_of_too_many_entries_is_refused() {
    let mut zip = Zip::new().file("a", 0o644, b"").end();
    let at = zip.windows(4).rposition(|it| it == b"PK\x05\x06").unwrap();
    zip[at + 8..at + 12].copy_from_slice(&[0xff; 4]);
    zip[at + 12..at + 16].copy_from_slice(&[0xff; 4]);
    let error = source_error(Gate::new().unpack(&zip).await);
    assert!(matches!(error, SourceError::TooLarge { unit: "entries", .. }), "{error:?}");
}

#[tokio::test]
async fn only_the_subdirectory_becomes_the_workspace() {
    let gate = Gate::new();
    let tar = Tar::default().file("other", "x").file("pkg/a", "1").file("pkg/b/c", "2").end();
    let workspace = gate.unpack_below(&tar, Some("pkg")).await.unwrap();
    assert_eq!(fs::read(workspace.root().join("b/c")).unwrap(), b"2");
    assert!(!workspace.root().join("other").exists());
    let error = source_error(gate.unpack_below(&tar, Some("pk")).await);
    assert!(matches!(error, SourceError::NoSubdirectory { .. }), "{error:?}");
    let out = Tar::default().file("other", "x").link("pkg/l", "../other").end();
    let error = source_error(gate.unpack_below(&out, Some("pkg")).await);
    assert!(
        matches!(error, SourceError::Entry { fault: EntryFault::LinkLeaves { .. }, .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_single_directory_at_the_top_stays() {
    let gate = Gate::new();
    let workspace = gate.unpack(&Tar::default().file("repo-1.0/a", "x").end()).await.unwrap();
    assert!(workspace.root().join("repo-1.0/a").exists());
}

#[tokio::test]
async fn a_repository_within_an_archive_is_passed_over() {
    let gate = Gate::new();
    let tar = Tar::default().file(".git/hooks/post-checkout", "evil").file("a/.GIT/config", "x");
    let workspace = gate.unpack(&tar.file("a/b", "x").end()).await.unwrap();
    assert!(!workspace.root().join(".git").exists());
    assert!(!workspace.root().join("a/.GIT").exists());
    assert!(workspace.root().join("a/b").exists());
    let inline = gate.prepare(&files(&[(".git/config", "x")])).await;
    assert!(matches!(source_error(inline), SourceError::Entry { fault: EntryFault::Git, .. }));
}

const LIST: &str =
    "[submodule \"lib\"]\n\tpath = pkg/vendor/lib\n\turl = https://git.example/lib\n";

#[tokio::test]
async fn a_submodule_whose_files_are_missing_is_refused() {
    let gate = Gate::new();
    let missing = |it: Result<Workspace, PrepareError>| match source_error(it) {
        SourceError::Submodule { path } => path,
        other => panic!("{other:?}"),
    };
    // As `git archive` writes it: an empty directory.
    let tar = Tar::default().file(".gitmodules", LIST).file("pkg/a", "1");
    let tar = tar.entry(EntryType::Directory, "pkg/vendor/lib/", "", b"").end();
    assert_eq!(missing(gate.unpack(&tar).await), "pkg/vendor/lib");
    assert_eq!(missing(gate.unpack_below(&tar, Some("pkg")).await), "vendor/lib");
    assert_eq!(missing(gate.unpack_below(&tar, Some("pkg/vendor")).await), "lib");
    assert_eq!(missing(gate.unpack_below(&tar, Some("pkg/vendor/lib")).await), ".");
    let zip = Zip::new().file(".gitmodules", 0o644, LIST.as_bytes()).file("pkg/a", 0o644, b"1");
    let zip = zip.end();
    assert_eq!(missing(gate.unpack(&zip).await), "pkg/vendor/lib");
    assert_eq!(missing(gate.unpack_below(&zip, Some("pkg")).await), "vendor/lib");
    let inline = gate.prepare(&files(&[(".gitmodules", LIST), ("a", "1")])).await;
    assert_eq!(missing(inline), "pkg/vendor/lib");
    // What is there is all right, and so is what is missing elsewhere.
    let whole = Tar::default().file(".gitmodules", LIST).file("pkg/vendor/lib/b", "2");
    let whole = whole.file("other/a", "1").end();
    gate.unpack(&whole).await.unwrap();
    gate.unpack_below(&whole, Some("pkg")).await.unwrap();
    let other = Tar::default().file(".gitmodules", LIST).file("other/a", "1").end();
    gate.unpack_below(&other, Some("other")).await.unwrap();
}

#[tokio::test]
async fn an_lfs_pointer_is_refused_in_every_kind_of_source() {
    let gate = Gate::new();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    let tar = Tar::default().file("m/big", pointer).end();
    let zip = Zip::new().file("m/big", 0o644, pointer.as_bytes()).end();
    let inline = gate.prepare(&files(&[("m/big", pointer)])).await;
    for result in [gate.unpack(&tar).await, gate.unpack(&zip).await, inline] {
        let error = source_error(result);
        assert!(matches!(&error, SourceError::LfsPointer { path } if path == "m/big"), "{error:?}");
        assert!(error.to_string().contains("git lfs pull"), "{error}");
    }
}

#[tokio::test]
async fn files_are_as_old_as_the_preparation() {
    let gate = Gate::new();
    let mut header = Header::new_ustar();
    header.set_path("future").unwrap();
    header.set_size(0);
    header.set_mode(0o644);
    header.set_mtime(32_503_680_000);
    header.set_cksum();
    let tar = Tar(header.as_bytes().to_vec()).end();
    let before = fs::metadata(gate.home()).unwrap().modified().unwrap();
    let workspace = gate.unpack(&tar).await.unwrap();
    let modified = fs::metadata(workspace.root().join("future")).unwrap().modified().unwrap();
    assert!(modified >= before && modified.duration_since(before).unwrap().as_secs() < 600);
}

#[tokio::test]
async fn an_inline_file_that_is_there_twice_is_refused() {
    let error = source_error(Gate::new().prepare(&files(&[("a", "1"), ("a", "2")])).await);
    assert!(matches!(error, SourceError::Entry { fault: EntryFault::Duplicate, .. }), "{error:?}");
    let none = WorkspaceSource::Files(Vec::new());
    let gate = Gate::new();
    assert_eq!(fs::read_dir(gate.prepare(&none).await.unwrap().root()).unwrap().count(), 0);
    assert_eq!(crate::fixture::tier().await.tier(), IsolationTier::Process);
}
