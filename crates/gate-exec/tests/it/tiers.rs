//! Which tiers this machine has.

use crate::fixture::surveyed;

#[tokio::test]
async fn every_tier_tells_whether_this_machine_has_it() {
    for it in surveyed().await {
        match it.result {
            Ok(tier) => println!("{}: {:?}", it.tier.as_str(), tier.isolation(Default::default())),
            Err(error) => println!("{}: {error}; {:?}", it.tier.as_str(), it.advice),
        }
    }
}
