//! Makes archives, the bad ones too: whatever a test wants, no library refuses.

use std::io::Write as _;

use tar::{EntryType, Header};

/// A tar made by hand, so that it may say anything.
#[derive(Default)]
pub(crate) struct Tar(pub(crate) Vec<u8>);

impl Tar {
    pub(crate) fn entry(self, kind: EntryType, name: &str, link: &str, body: &[u8]) -> Self {
        self.raw(kind, name.as_bytes(), link.as_bytes(), (0o644, body, body.len() as u64))
    }

    pub(crate) fn raw(
        mut self,
        kind: EntryType,
        name: &[u8],
        link: &[u8],
        (mode, body, size_bytes): (u32, &[u8], u64),
    ) -> Self {
        let mut header = Header::new_ustar();
        let old = header.as_old_mut();
        old.name[..name.len()].copy_from_slice(name);
        old.linkname[..link.len()].copy_from_slice(link);
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(size_bytes);
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(body);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    pub(crate) fn file(self, name: &str, body: &str) -> Self {
        self.entry(EntryType::Regular, name, "", body.as_bytes())
    }

    pub(crate) fn mode(self, name: &str, mode: u32) -> Self {
        self.raw(EntryType::Regular, name.as_bytes(), b"", (mode, b"", 0))
    }

    pub(crate) fn link(self, name: &str, target: &str) -> Self {
        self.entry(EntryType::Symlink, name, target, b"")
    }

    pub(crate) fn pax(self, records: &[(&str, &str)]) -> Self {
        let mut body = String::new();
        for (key, value) in records {
            let rest = format!(" {key}={value}\n");
            let mut len = rest.len();
            while len != rest.len() + len.to_string().len() {
                len = rest.len() + len.to_string().len();
            }
            body.push_str(&len.to_string());
            body.push_str(&rest);
        }
        self.entry(EntryType::XHeader, "pax", "", body.as_bytes())
    }

    pub(crate) fn end(mut self) -> Vec<u8> {
        self.0.extend_from_slice(&[0; 1024]);
        self.0
    }
}

pub(crate) fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

pub(crate) struct Zip(zip::ZipWriter<std::io::Cursor<Vec<u8>>>);

impl Zip {
    pub(crate) fn new() -> Self {
        Self(zip::ZipWriter::new(std::io::Cursor::new(Vec::new())))
    }

    pub(crate) fn file(self, name: &str, mode: u32, body: &[u8]) -> Self {
        let options = zip::write::SimpleFileOptions::default().unix_permissions(mode);
        self.with(name, options, body)
    }

    pub(crate) fn with(
        mut self,
        name: &str,
        options: zip::write::SimpleFileOptions,
        body: &[u8],
    ) -> Self {
        self.0.start_file(name, options).unwrap();
        self.0.write_all(body).unwrap();
        self
    }

    pub(crate) fn link(mut self, name: &str, target: &str) -> Self {
        self.0.add_symlink(name, target, zip::write::SimpleFileOptions::default()).unwrap();
        self
    }

    pub(crate) fn end(self) -> Vec<u8> {
        self.0.finish().unwrap().into_inner()
    }
}
