//! The device of a node whose ESP is in user space.

use crate::reqid::fingerprint;

/// The longest name of a network device.
const NAME: usize = 15;

/// The device of a node: as short as a device's name must be, and the same each time.
pub fn device_name(node: &str) -> String {
    let is_plain = node.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let name = format!("esp-{node}");
    if is_plain && name.len() <= NAME {
        return name;
    }
    format!("esp_{:08x}", fingerprint(node))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_the_name_of_its_node_where_that_is_short_and_a_number_where_it_is_not() {
        assert_eq!(device_name("cu"), "esp-cu");
        let long = device_name("near-rt-ric-of-the-north");
        assert!(long.starts_with("esp_") && long.len() <= NAME, "{long}");
        assert_ne!(long, device_name("near-rt-ric-of-the-south"));
    }
}
