//! JSON pointers (RFC 6901), by which faults say where they are.

/// One part of a pointer, as section 3 wants it written.
#[must_use]
pub fn escape(part: &str) -> String {
    part.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_with_the_pointers_own_characters_is_escaped() {
        assert_eq!(escape("a/b~1"), "a~1b~01");
    }
}
