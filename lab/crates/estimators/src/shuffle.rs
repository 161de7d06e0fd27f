//! Random order.

use bartizan_stats::Random;

/// Puts these into random order, each order equally likely (Fisher and Yates).
pub fn shuffle<T>(random: &mut Random, items: &mut [T]) {
    for end in (1..items.len()).rev() {
        items.swap(end, random.below(end + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_of_three_comes_up_about_as_often() {
        let mut random = Random::seeded(2);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..60_000 {
            let mut items = [0, 1, 2];
            shuffle(&mut random, &mut items);
            *seen.entry(items).or_insert(0_i32) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|count| (count - 10_000).abs() < 457), "{seen:?}");
    }

    #[test]
    fn nothing_is_in_order() {
        shuffle::<u8>(&mut Random::seeded(3), &mut []);
    }
}
