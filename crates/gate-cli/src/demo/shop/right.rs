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
    let mut orders: Vec<u32> = rest.take(size + 1).collect();
    let has_more = orders.len() > size;
    orders.truncate(size);
    let next = orders.last().copied().filter(|_| has_more);
    Page { orders, next }
}
