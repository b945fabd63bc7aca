//! What done means: these tests belong to the contract.

use shop::page;

#[test]
fn a_page_holds_at_most_its_size() {
    assert_eq!(page(&[1, 2, 3], None, 2).orders, [1, 2]);
}

#[test]
fn a_page_names_the_next_one() {
    assert_eq!(page(&[1, 2, 3], None, 2).next, Some(2));
}

#[test]
fn the_last_page_names_no_next_one() {
    assert_eq!(page(&[1, 2, 3], Some(2), 2).next, None);
}
