//! Where a package's files are: `go test` prints them without their directory, and the packages with their module.

use std::cell::OnceCell;

use gate_core::Location;

/// The packages of a log, each with the line that ends it.
#[derive(Debug, Default)]
pub(super) struct Packages {
    ended: Vec<(usize, String)>,
    /// How much of each name is the module's, once all packages are known.
    module: OnceCell<usize>,
}

impl Packages {
    pub(super) fn add(&mut self, index: usize, name: &str) {
        self.ended.push((index, name.to_owned()));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ended.is_empty()
    }

    /// Puts the package's directory before a bare file name. `index` is a line of the package's output.
    pub(super) fn resolve(&self, index: usize, location: Option<&mut Location>) {
        let Some(location) = location.filter(|it| !it.file.contains('/')) else { return };
        let at = self.ended.partition_point(|it| it.0 < index);
        let Some((_, package)) = self.ended.get(at) else { return };
        let directory = package
            .get(*self.module.get_or_init(|| self.module_length())..)
            .unwrap_or("")
            .trim_start_matches('/');
        if !directory.is_empty() {
            location.file = format!("{directory}/{}", location.file);
        }
    }

    /// What all packages begin with is their module, or a directory of it; one package alone does not tell.
    fn module_length(&self) -> usize {
        let mut names = self.ended.iter().map(|it| it.1.as_str());
        let Some(first) = names.next() else { return 0 };
        let mut length = first.len();
        for name in names {
            let same = first.bytes().zip(name.bytes()).take_while(|it| it.0 == it.1).count();
            // Only whole parts are a directory.
            let is_whole = |it: &str| it.len() == same || it.as_bytes().get(same) == Some(&b'/');
            let whole = match is_whole(first) && is_whole(name) {
                true => same,
                false => first[..floor(first, same)].rfind('/').unwrap_or(0),
            };
            length = length.min(whole);
        }
        length
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(packages: &[&str], index: usize) -> String {
        let mut all = Packages::default();
        packages.iter().enumerate().for_each(|(at, it)| all.add(at * 10 + 9, it));
        let mut location = Location { file: "a_test.go".to_owned(), line: Some(3), column: None };
        all.resolve(index, Some(&mut location));
        location.file
    }

    #[test]
    fn a_file_is_in_the_directory_of_its_package() {
        assert_eq!(resolved(&["x.org/m/calc", "x.org/m/calc2/deep"], 3), "calc/a_test.go");
        assert_eq!(resolved(&["x.org/m/calc", "x.org/m/calc2/deep"], 13), "calc2/deep/a_test.go");
        assert_eq!(resolved(&["x.org/m", "x.org/m/calc"], 3), "a_test.go");
        assert_eq!(resolved(&["x.org/m/calc"], 3), "a_test.go");
    }
}
