//! Cuts the place where a workspace stood from everything that is shown: to its reader, paths begin at its root.

use gate_core::{Diagnostic, Excerpt, FailingTest, Reading};

/// Cuts each of `roots` from the texts of a reading. Offsets stay those of the raw log.
pub(crate) fn localize(mut reading: Reading, roots: &[&str]) -> Reading {
    for FailingTest { name, message, expected, actual, excerpt, .. } in &mut reading.failing_tests {
        let sides = [expected.as_mut(), actual.as_mut()].into_iter().flatten();
        [name, message].into_iter().chain(sides).for_each(|it| cut(it, roots));
        cut_excerpt(excerpt.as_mut(), roots);
    }
    for Diagnostic { message, excerpt, .. } in &mut reading.diagnostics {
        cut(message, roots);
        cut_excerpt(excerpt.as_mut(), roots);
    }
    cut_excerpt(reading.tail.as_mut(), roots);
    reading
}

fn cut_excerpt(excerpt: Option<&mut Excerpt>, roots: &[&str]) {
    if let Some(excerpt) = excerpt {
        cut(&mut excerpt.text, roots);
    }
}

fn cut(text: &mut String, roots: &[&str]) {
    for root in roots.iter().map(|it| it.trim_end_matches('/')).filter(|it| !it.is_empty()) {
        if text.contains(root) {
            *text = text.replace(&format!("{root}/"), "").replace(root, ".");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_workspace_is_cut_from_what_is_shown() {
        let mut text = "File \"/w/7/tree/a.py\", line 3 in /w/7/tree".to_owned();
        cut(&mut text, &["/w/7/tree/"]);
        assert_eq!(text, "File \"a.py\", line 3 in .");
    }

    #[test]
    fn no_root_cuts_nothing() {
        let mut text = "/a/b".to_owned();
        cut(&mut text, &["", "/"]);
        assert_eq!(text, "/a/b");
    }
}
